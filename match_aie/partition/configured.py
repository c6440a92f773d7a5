"""Options that a target has where it is set up for several layers together."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from match_aie.hardware import ArrayChip, Bid, MatchTarget, facet, reference_cycles

if TYPE_CHECKING:
    from match_aie.partition.select import Option

#: Further options, each with the position of the one that it is an alternative to; what the setup
#: takes of the target's capacities.
Setup = tuple[list[tuple[int, "Option"]], dict[str, int]]


def setups(options: Sequence[Option], target: MatchTarget) -> Iterator[Setup]:
    """For each configuration of the target the options that it adds.

    Args:
        options: priced candidates; pinned layers have those that are left to them.
        target: the chip.
    """
    able = [at for at, option in enumerate(options) if option.candidate.layer is not None]
    bids = tuple(_bid(options[at], target) for at in able)
    for one in facet(target, ArrayChip).configurations(bids):
        more = [
            (able[number], replace(options[able[number]], mapping=mapping, cost=cost, others=()))
            for number, (mapping, cost) in one.ways.items()
        ]
        yield more, dict(one.taken)


def _bid(option: Option, target: MatchTarget) -> Bid:
    candidate, cycles = option.candidate, None
    assert candidate.layer is not None
    if option.cost is not None:
        cycles = reference_cycles(target, candidate.module, option.cost.cycles)
    name, root = candidate.module.name, candidate.match.root
    return Bid(name, candidate.layer.workload, cycles, root, candidate.label)
