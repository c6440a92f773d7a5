"""What simulating an array says."""

from __future__ import annotations

from dataclasses import dataclass

from match_aie.simulation import Timeline


@dataclass(frozen=True)
class ArrayResult:
    """Simulated cycles of a layer on an array.

    Attributes:
        interval: cycles between the ends of successive runs, when the layer is repeated for ever.
        latency: cycles of a single run, until its last output has left the array.
        macs: useful multiply-accumulates of a run.
        clock_ghz: of the array.
        peak: multiply-accumulates per cycle of the whole array.
        steady: whether a repeating state was found; else `interval` is a mean.
        simulated: results that were simulated, of each stream of results.
        busy: share of time, from the first call on, in which each tile's kernel runs and is not
            stalled, by tile.
        stalled: share of time in which it waits for a cascade in the middle of a call.
        timeline: where a trace was asked for.
    """

    interval: float
    latency: float
    macs: int
    clock_ghz: float
    peak: int
    steady: bool
    simulated: int
    busy: dict[tuple[int, int], float]
    stalled: dict[tuple[int, int], float]
    timeline: Timeline | None = None

    @property
    def tops(self) -> float:
        """Tera-operations per second of the repeated layer, two a multiply-accumulate."""
        return 2 * self.macs * self.clock_ghz / self.interval / 1000

    @property
    def efficiency(self) -> float:
        """Share of the whole array's peak, 0 to 1."""
        return self.macs / self.interval / self.peak

    @property
    def microseconds(self) -> float:
        """Of a single run."""
        return self.latency / self.clock_ghz / 1000
