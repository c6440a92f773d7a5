"""Layers as Relax functions: bodies of chosen operators, and the names they go by."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from tvm import relax

from match_aie import tvm_api
from match_aie.frontend.rebuild import substitute
from match_aie.hardware import MatchTarget

#: Attribute of a composite that says, in JSON, what target runs it.
TARGET = "match_aie_target"


def composite_name(module: str, pattern: str) -> str:
    """Attribute `Composite` of a layer that execution module `module` runs by `pattern`."""
    return f"match_aie.{module}.{pattern}"


def target_text(target: MatchTarget) -> str:
    """The target as one line of JSON: what makes an equal one in another process."""
    return json.dumps({"name": target.name, "options": dict(target.options())}, sort_keys=True)


def composite(
    members: Sequence[str],
    variables: Mapping[str, Any],
    values: Mapping[str, Any],
    name: str,
    target: str,
) -> tuple[Any, list[Any]]:
    """A private function of some bindings of `main`, and what it reads.

    Args:
        members: names of the bound variables, in execution order; the last one is the result.
        variables: of `main`, by name.
        values: what `main` binds, by name.
        name: of the composite.
        target: as JSON.

    Returns:
        The function, and the variables of `main` that its parameters stand for.
    """
    inside = set(members)
    inputs: list[Any] = []
    for member in members:
        for read in _reads(values[member]):
            known = any(read.same_as(other) for other in inputs)
            if tvm_api.variable_name(read) not in inside and not known:
                inputs.append(read)
    params = [relax.Var(f"x{index}", read.ty) for index, read in enumerate(inputs)]
    env: dict[Any, Any] = dict(zip(inputs, params, strict=True))
    builder = relax.BlockBuilder()
    with builder.function("layer", params, private=True):
        with builder.dataflow():
            for member in members:
                made = builder.emit(substitute(values[member], env), name_hint="t")
                env[variables[member]] = made
            result = builder.emit_output(made)
        builder.emit_func_output(result)
    function = builder.get()["layer"]
    return function.with_attrs({"Composite": name, TARGET: target, "Primitive": True}), inputs


def _reads(value: Any) -> list[Any]:
    """Variables that a call reads."""
    found = []
    for item in getattr(value, "args", ()):
        if isinstance(item, relax.Var):
            found.append(item)
        elif isinstance(item, relax.Tuple):
            found += [part for part in item.fields if isinstance(part, relax.Var)]
    return found
