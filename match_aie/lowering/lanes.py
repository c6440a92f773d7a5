"""Steps of a schedule that run at the same time: in two lanes, one for each unit."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Beside:
    """Steps that run at the same time on two units, one controller for both.

    Mostly two. Of more, each is entered when the one before it in its lane is left, while the other
    lane goes on. Steps stand in the order in which they are entered.

    Attributes:
        step: index of the first one; the others are the next.
        order: whom the controller turns to, time after time: how many steps after the first one. To
            each it turns once more than its kernel is called: the last time to leave it.
        cases: modelled cycles by which all take longer than they are priced, in each case in which
            they have to gain (`Company.cases`); negative where shorter.
        lanes: of every step, the first one's lane (0) or the other one (1); the second step is in
            the other one.
    """

    step: int
    order: tuple[int, ...] = ()
    cases: tuple[float, ...] = ()
    lanes: tuple[int, ...] = (0, 1)

    @property
    def end(self) -> int:
        """Index of the step behind the last one."""
        return self.step + len(self.lanes)

    @property
    def steps(self) -> range:
        """Indices of all steps."""
        return range(self.step, self.end)

    @property
    def turns(self) -> tuple[tuple[int, int], ...]:
        """`order` as indices of steps, each with its lane."""
        return tuple((self.step + at, self.lanes[at]) for at in self.order)

    @property
    def is_pair(self) -> bool:
        """Whether it is two steps."""
        return len(self.lanes) == 2

    def span(self, step: int) -> tuple[int, int]:
        """First and last of the steps that may be entered while step `step` runs, itself included.

        The first two are entered together.
        """
        lane = self.lanes[step - self.step]
        later = (at for at in range(step + 1, self.end) if self.lanes[at - self.step] == lane)
        return self.step if step == self.step + 1 else step, next(later, self.end) - 1


def members(found: tuple[Beside, ...]) -> dict[int, Beside]:
    """Every step that runs at the same time as others, and as which."""
    return {step: one for one in found for step in one.steps}
