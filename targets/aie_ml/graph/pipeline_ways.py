"""Ways through the stages of a pipeline's plan, as far as they are chosen."""

from __future__ import annotations

from dataclasses import dataclass

from match_aie.targets.aie_ml.graph.attention_group import Entry

#: What later stages than the next one read: which stage, in how many copies, number of the grid.
Opened = tuple[tuple[int, int, int], ...]

#: Ways by what their last stages store, each with its place among all.
Ways = dict[int, list[tuple[int, "FirstStages"]]]


@dataclass(frozen=True)
class FirstStages:
    """The fewest columns of some first stages, the last of which is `last`."""

    columns: int
    last: Entry | None
    before: FirstStages | None
    opened: Opened = ()

    @property
    def chosen(self) -> tuple[Entry, ...]:
        """All of them."""
        if self.last is None or self.before is None:
            return ()
        return (*self.before.chosen, self.last)
