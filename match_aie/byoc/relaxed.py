"""What users hand to `partition`, as a Relax module with its parameters bound."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import tvm
from tvm import ir, relax, tirx

from match_aie import frontend, tvm_api
from match_aie.byoc.points import entry_points
from match_aie.errors import ModelError, shorten


def relaxed(module: Any, params: Mapping[str, Any] | None) -> Any:
    """A Relax module with the values of its parameters bound.

    Args:
        module: a `tvm.IRModule`, or Relay text (or whatever else `match_aie.compile` reads).
        params: values of parameters, by name, or the lists that `relax.frontend.detach_params`
            gives, by name of function.

    Raises:
        ModelError: there is no such parameter, it has another shape or element type, or the text
            cannot be read.
    """
    if not isinstance(module, ir.IRModule):
        return frontend.load(module, params=params).module
    values = dict(params or {})
    present = {var.name_hint for var in module.get_global_vars()}
    functions = [name for name in entry_points(module) if name in present] if values else []
    unused = set(values)
    for name in functions:
        unused -= {name} if isinstance(values.get(name), Sequence) else set()
        given = _of(module[name], name, values)
        unused -= set(given)
        if given:
            module = relax.transform.BindParams(name, given)(module)
    if unused:
        known = [tvm_api.variable_name(p) for f in functions for p in module[f].params]
        raise ModelError(
            f"the module has no parameter called {shorten(min(unused), 60)!r}",
            hint=f"its parameters are {shorten(', '.join(known))}",
        )
    return module


def _of(function: Any, name: str, params: Mapping[str, Any]) -> dict[str, Any]:
    """Values of the parameters of one function, called `name`, by their names."""
    types = {tvm_api.variable_name(param): param for param in function.params}
    given = {key: value for key, value in params.items() if key in types}
    detached = params.get(name)
    if name not in types and isinstance(detached, Sequence):
        weights = list(types)[int((function.attrs or {}).get("num_input", 0)) :]
        if len(weights) != len(detached):
            raise ModelError(
                f"{name} has {len(weights)} parameters behind its inputs, and {len(detached)} "
                "values were given",
                hint="give them by name",
            )
        given.update(zip(weights, detached, strict=True))
    made = {key: tvm.runtime.tensor(value) for key, value in given.items()}
    for key, value in made.items():
        if not _fits(value, types[key]):
            raise ModelError(
                f"a value of {list(value.shape)} {value.dtype} was given for a parameter of type "
                f"{shorten(str(types[key].ty))}",
                where=shorten(key, 60),
            )
    return made


def _fits(value: Any, param: Any) -> bool:
    """Whether an array is what a parameter takes; symbolic sizes take any."""
    if not tvm_api.is_tensor(param) or str(value.dtype) != tvm_api.dtype_of(param):
        return False
    sizes = param.ty.shape
    return sizes is None or (
        len(sizes) == len(value.shape)
        and all(
            not isinstance(size, tirx.IntImm) or int(size) == int(given)
            for size, given in zip(sizes, value.shape, strict=True)
        )
    )
