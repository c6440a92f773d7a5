"""AI Engine array: cycles of a layer that is spread over tiles. Pure functions, modelled.

All rates are in bytes per cycle of the array's clock, all times in its cycles. Whoever calls knows
the hardware: nothing here has a constant. The form is that of every published array model (for
example arXiv:2512.13282, eq. for T_comp and T_mem): steady throughput is that of the slowest of
compute, streams and the way in and out; a single run adds the way through.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Work:
    """What one run of the layer asks of the parts of the array.

    Attributes:
        calls: kernel calls of a tile.
        body: cycles of a call of the slowest tile, from its first load to its last store.
        around: cycles around such a call: start, locks, bank conflicts.
        inputs: transfers of activations into a tile.
        input_bytes: of one, on one channel.
        weights: transfers of weights into a tile.
        weight_bytes: of one.
        outputs: transfers of results out of a chain.
        output_bytes: of one.
        down_share: of results on a lane down, on average; 1 at least.
        rate: of a stream.
        descriptor: cycles between two transfers on a channel.
        external_in: bytes that enter the array.
        external_out: bytes that leave it.
        external_in_rate: all ways in together.
        external_out_rate: all ways out together.
        skew: cycles by which the last tile of a chain ends later than a slowest tile by itself.
        hops: cycles of a stream's way.
        first_weights: bytes that each tile must be sent before the run.
        first_inputs: bytes of activations that all first calls need.
    """

    calls: int
    body: float
    around: float
    inputs: int
    input_bytes: float
    outputs: int
    output_bytes: float
    rate: float
    descriptor: float
    external_in_rate: float
    external_out_rate: float
    hops: float
    weights: int = 0
    weight_bytes: float = 0
    down_share: float = 1
    external_in: float = 0
    external_out: float = 0
    skew: float = 0
    first_weights: float = 0
    first_inputs: float = 0


@dataclass(frozen=True)
class ArrayCost:
    """Modelled cycles.

    Attributes:
        interval: from one run's end to the next one's, repeated.
        latency: of a single run.
        parts: (what, cycles of a run), the largest of which is the interval.
        before: of `latency`, until what the first calls need has come in from outside.
    """

    interval: float
    latency: float
    parts: tuple[tuple[str, float], ...]
    before: float

    @property
    def inside(self) -> float:
        """Cycles of the slowest of products and streams, ways in and out aside."""
        return max(cycles for what, cycles in self.parts if not what.startswith("way "))

    @property
    def bound(self) -> str:
        """What limits the throughput."""
        return max(self.parts, key=lambda part: part[1])[0]


def array_cost(work: Work) -> ArrayCost:
    """Interval and latency of `work`."""
    call = work.body + work.around
    first = work.descriptor + work.input_bytes / work.rate
    moved_in = work.inputs * first
    weights = work.weights * (work.descriptor + work.weight_bytes / work.rate)
    result = work.descriptor + work.output_bytes / work.rate
    parts = (
        ("compute", work.calls * call),
        ("activation streams", moved_in),
        ("weight streams", weights),
        ("result streams", work.outputs * result * work.down_share),
        ("way in", work.external_in / work.external_in_rate),
        ("way out", work.external_out / work.external_out_rate),
    )
    interval = max(cycles for _, cycles in parts)
    before = work.first_weights / work.rate + work.first_inputs / work.external_in_rate
    latency = before + 2 * work.hops + first + work.skew + interval + result * work.down_share
    return ArrayCost(interval, latency, parts, before)
