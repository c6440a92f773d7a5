"""Whether an answer that somebody else gave, such as a file on disk, may be used for a search.

A mapping must pass the independent checker and unroll what its module offers, and tiles must cost
what the model says now: wrong answers could otherwise become wrong code or wrong choices. That it
is the best one is not checked: that would be the search itself.
"""

from __future__ import annotations

import math

from match_aie.errors import Infeasible
from match_aie.hardware import ExecModule, TileCostModel
from match_aie.mapping.checker import check
from match_aie.mapping.evaluate import Evaluation
from match_aie.mapping.options import SearchOptions
from match_aie.mapping.search import MappedCost, offered, refusal, unrollings
from match_aie.workload import Workload

Found = list[MappedCost] | Infeasible

#: Characters of a name or sentence in a reason.
LONGEST = 1000

#: Loops of a mapping for each dimension; no search makes a tenth of them.
MOST_LOOPS = 64


def objection(found: Found, workload: Workload, module: ExecModule, options: SearchOptions) -> str:
    """What speaks against `found` as the answer of a search; "" where nothing does.

    Args:
        found: the answer.
        workload: that was searched.
        module: on which.
        options: of the search.
    """
    if isinstance(found, Infeasible):
        return _reason(found) or _refuted(found, workload, module, options)
    wrong = _numbers(found)
    if wrong:
        return wrong
    if len(module.memories) < 2:
        # Without inner memories a mapping follows from what is unrolled.
        mappings = offered(workload, module)
        strange = any(row.mapping not in mappings for row in found)
        return "the module offers no such mapping" if strange else ""
    return next((text for row in found if (text := _tiled(row, workload, module))), "")


def _numbers(found: list[MappedCost]) -> str:
    """Whether all costs can be costs."""
    for row in found:
        numbers = [row.cost.cycles, *(cycles for _, cycles in row.cost.parts)]
        numbers += [n for n in (row.cost.picojoules, row.bound) if n is not None]
        if not all(math.isfinite(number) for number in numbers) or row.cost.cycles < 0:
            return "a cost is no cost"
        if not all(len(name) < LONGEST and name.isprintable() for name, _ in row.cost.parts):
            return "a part of a cost has no name"
    return ""


def _tiled(row: MappedCost, workload: Workload, module: ExecModule) -> str:
    mapping, model = row.mapping, module.cost_model(workload)
    if not isinstance(model, TileCostModel):
        return "nobody prices tiles"  # the search says it with a hint
    if len(mapping.temporal) > MOST_LOOPS * len(workload.dims):
        return f"{len(mapping.temporal)} loops"
    if mapping.spatial not in unrollings(tuple(module.spatial(workload))):
        return "the module does not unroll so"
    for violation in check(workload, module, mapping):
        return violation.text
    now = Evaluation(workload, module, model, mapping).cost()
    return "" if now == row.cost else "it costs something else"


def _reason(found: Infeasible) -> str:
    """Whether it is made of names and finite numbers, which end up in front of people."""
    words = [found.resource, found.unit, *found.levers, *(who for who, _ in found.breakdown)]
    numbers = [found.demand, found.bound, *(much for _, much in found.breakdown)]
    for word in words:
        if not isinstance(word, str) or len(word) > LONGEST or not word.isprintable():
            return "a reason that is no text"
    for number in numbers:
        if type(number) not in (int, float) or not math.isfinite(number):
            return "a reason whose numbers are none"
    return ""


def _refuted(
    found: Infeasible, workload: Workload, module: ExecModule, options: SearchOptions
) -> str:
    """Compare with what the smallest tiles take, where the module has tiles."""
    now = refusal(workload, module, options)
    return "" if now is None or now == found else "it says that something does not fit"
