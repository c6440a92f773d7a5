"""What layers take in the order of a program, some of them side by side; and pairs that lose."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import zip_longest

from match_aie.hardware import Concurrent, ExecModule, facet
from match_aie.lowering.company import MARGIN
from match_aie.lowering.division import whole_of
from match_aie.lowering.lanes import members
from match_aie.lowering.program import Schedule, Step


def symbols(schedule: Schedule) -> list[frozenset[str]]:
    """Of the layers of every pair, or of more that run together."""
    pairs = [schedule.steps[pair.step : pair.end] for pair in schedule.beside]
    return [frozenset(step.layer.symbol for step in pair if step.layer) for pair in pairs]


def losers(
    schedule: Schedule,
    before: Mapping[str, float],
    now: Mapping[str, float],
) -> frozenset[frozenset[str]]:
    """Symbols of the pairs that save no more than `MARGIN` of what they took, in the worst case.

    What the layers before and after a pair take more than they did is the pair's: the one starts
    loads of its constants, and other code ran before the other. Of one that is in a pair itself
    nobody knows it apart.

    Args:
        schedule: planned.
        before: modelled cycles of each layer by itself, by symbol.
        now: modelled cycles of each layer as it is in `schedule`.
    """
    found, paired = [], frozenset[str]().union(*symbols(schedule))
    for pair in schedule.beside:
        layers = [step.layer for step in schedule.steps[pair.step : pair.end]]
        # Sums of floats depend on their order: here and below that of the steps, not that of a set.
        wholes = dict.fromkeys(whole_of(layer.symbol) for layer in layers if layer)
        took = sum(before[symbol] for symbol in wholes)
        takes = sum(now[layer.symbol] for layer in layers if layer) + max((0.0, *pair.cases))
        around = _next(schedule.steps[: pair.step][::-1]), _next(schedule.steps[pair.end :])
        for symbol in dict.fromkeys(around):
            if symbol in before and symbol not in paired:
                takes += max(0.0, now[symbol] - before[symbol])
        if takes >= (1 - MARGIN) * took:
            found.append(frozenset(layer.symbol for layer in layers if layer))
    return frozenset(found)


def _next(steps: Sequence[Step]) -> str:
    """Symbol of the first layer among steps; "" without."""
    return next((step.layer.symbol for step in steps if step.layer), "")


def sure_cycles(
    schedule: Schedule, before: Mapping[str, float], modules: Mapping[str, ExecModule]
) -> float:
    """Modelled, of all layers in the worst case, and `MARGIN` of what those in pairs took.

    By so much a pair may be off: what saves less than it owes is nothing to keep. Layers of other
    clocks count as they are.

    Args:
        schedule: planned.
        before: modelled cycles of each layer by itself, by symbol.
        modules: which may run beside others, by name.
    """
    more = (sum(each) for each in zip_longest(*(p.cases for p in schedule.beside), fillvalue=0.0))
    wholes = sorted({whole_of(symbol) for pair in symbols(schedule) for symbol in pair})
    owed = MARGIN * sum(before[symbol] for symbol in wholes)
    return sum(priced(schedule, modules).values()) + max((0.0, *more)) + owed


def priced(schedule: Schedule, modules: Mapping[str, ExecModule]) -> dict[str, float]:
    """Cycles of every layer by symbol.

    Which unit ran before a layer is known here, other than where it was priced (`Company.after_own`
    and `after_other`); layers side by side have that in their price.
    """
    beside = members(schedule.beside)
    found, last = {}, ""
    for at, step in enumerate(schedule.steps):
        layer = step.layer
        if layer is None:
            continue
        found[layer.symbol] = layer.cost.cycles
        module = modules.get(layer.module)
        company = facet(module, Concurrent).beside if module is not None else None
        if company and at not in beside:
            own = last == layer.module
            found[layer.symbol] += company.after_own if own else company.after_other
        last = layer.module
    return found
