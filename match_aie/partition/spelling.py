"""Operators that patterns name, held against those that a network may have."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

from match_aie import tvm_api
from match_aie.errors import TargetError, shorten
from match_aie.hardware import Chain, MatchTarget, Op, Structure, Web, meant_words

#: Composite operators, which front ends name: no list of TVM's has them.
_COMPOSITES = ("match.", "onnx.")


def refuse_unknown_operators(target: MatchTarget) -> None:
    """Refuse a target with a pattern that could match nothing, in no network.

    Such a pattern would leave its layers to others, and nothing would say so.

    Raises:
        TargetError: an operator is none.
    """
    known = _known()
    for module in target.modules():
        for pattern in module.patterns():
            for name in _operators(pattern.structure):
                if name not in known and not str(name).startswith(_COMPOSITES):
                    raise TargetError(
                        f"pattern {pattern.name!r} of module {module.name!r} names an operator "
                        f"{shorten(repr(name), 60)}, which no network has",
                        hint=f"{meant_words(str(name), known, 0.7)}names are TVM's of Relax, "
                        "without 'relax.': match-aie check-target tells all that is wrong",
                    )


@cache
def _known() -> frozenset[str]:
    return frozenset(tvm_api.operator_names())


def _operators(structure: Structure) -> Iterator[str]:
    if isinstance(structure, Chain | Web):
        yield from structure.operators
        yield from _operators(structure.inner)
    elif isinstance(structure, Op):
        yield structure.operator
        for inner in structure.inputs:
            yield from _operators(inner)
