"""When results were where they belong, and what a run has counted of its tiles."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from match_aie.targets.aie_ml.array.program import Tile


@dataclass
class Books:
    """Cycles of tiles in a run: at work, stalled in the middle of a call; when the first began.

    And, by tile and buffer, when a stream last wrote there; by name, when a kernel last computed a
    result that stays in its tile.
    """

    first: float | None = None
    kept: dict[str, float] = field(default_factory=dict)
    written: dict[tuple[Tile, str], float] = field(default_factory=dict)
    busy: dict[Tile, float] = field(default_factory=lambda: defaultdict(float))
    stalled: dict[Tile, float] = field(default_factory=lambda: defaultdict(float))


class Progress:
    """Counts transfers of results; as many marks a run as the busiest of their streams sends.

    A mark is done when every stream has sent its share up to it.
    """

    def __init__(
        self,
        sends: Sequence[int],
        runs: int,
        enough: Callable[[list[float]], bool],
        meter: Callable[[], int] = lambda: 0,
    ) -> None:
        """Nothing has been sent.

        Args:
            sends: transfers of each stream for one run.
            runs: of the layer.
            enough: called after each mark with the times of all so far; whether to stop.
            meter: bytes that went from or to the chip's memory until now.
        """
        self.per_run = max(sends)
        self.done: list[float] = []
        #: What the meter showed at each mark.
        self.moved: list[int] = []
        #: By stream, when each of its runs had left.
        self.left: list[list[float]] = [[] for _ in sends]
        self._meter = meter
        self.stop = False
        self._enough = enough
        self._sends = tuple(sends)
        self._missing = [0] * (self.per_run * runs)
        for each in sends:
            for run in range(runs):
                for at in range(each):
                    self._missing[run * self.per_run + self._mark(each, at)] += 1

    def _mark(self, sends: int, at: int) -> int:
        return (at + 1) * self.per_run // sends - 1

    def sent(self, stream: int, count: int, now: float) -> None:
        """Transfer number `count`, from 0, of `stream` has arrived."""
        run, at = divmod(count, self._sends[stream])
        if at == self._sends[stream] - 1:
            self.left[stream].append(now)
        self._missing[run * self.per_run + self._mark(self._sends[stream], at)] -= 1
        while len(self.done) < len(self._missing) and not self._missing[len(self.done)]:
            self.done.append(now)
            self.moved.append(self._meter())
            self.stop = self.stop or self._enough(self.done)
