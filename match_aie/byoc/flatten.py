"""A function that TVM hands to a code generator, as a module of its own without inner functions."""

from __future__ import annotations

import json
from typing import Any

from tvm import ir, relax

from match_aie import tvm_api
from match_aie.byoc.composite import TARGET
from match_aie.errors import ModelError, TargetError
from match_aie.frontend.rebuild import substitute
from match_aie.hardware import MatchTarget, load_target


def flat(function: Any) -> Any:
    """An IRModule whose `main` computes what `function` does, operators only.

    Raises:
        ModelError: it calls what is no inner function, such as a lowered operator.
    """
    # Names of their own: TVM may give two parameters one name.
    params = [relax.Var(f"x{index}", p.ty) for index, p in enumerate(function.params)]
    builder = relax.BlockBuilder()
    env = dict(zip(function.params, params, strict=True))
    with builder.function("main", params):
        with builder.dataflow():
            result = builder.emit_output(_inline(builder, function, env))
        builder.emit_func_output(result)
    return builder.get()


def _inline(builder: Any, function: Any, env: dict[Any, Any]) -> Any:
    """Emit the body of `function`; `env` says what its parameters stand for."""
    inner: dict[Any, Any] = {}
    for var, value in tvm_api.bindings(function):
        if isinstance(value, relax.Function):
            inner[var] = value
            continue
        callee = getattr(value, "op", None)
        if isinstance(callee, relax.Var):
            if callee not in inner:
                raise ModelError(f"a call of {tvm_api.variable_name(callee)} cannot be compiled")
            called = inner[callee]
            read = [substitute(arg, env) for arg in value.args]
            env[var] = _inline(builder, called, dict(zip(called.params, read, strict=True)))
            continue
        if any(isinstance(part, ir.GlobalVar) for part in (callee, *getattr(value, "args", ()))):
            raise ModelError(
                "a function for match_aie holds operators that were lowered already",
                hint="run RunCodegen before LegalizeOps and pipelines that hold it, such as zero",
            )
        new = substitute(value, env)
        known = isinstance(new, relax.Tuple | relax.Var) or tvm_api.is_constant(new)
        env[var] = new if known else builder.emit(new)
    return substitute(function.body.body, env)


def target_of(function: Any) -> MatchTarget:
    """The target that the composites inside `function` name.

    Raises:
        TargetError: they name none, several, or one that is not installed.
    """
    functions = [v for _, v in tvm_api.bindings(function) if isinstance(v, relax.Function)]
    found = {str(f.attrs[TARGET]) for f in (function, *functions) if f.attrs and TARGET in f.attrs}
    if len(found) != 1:
        raise TargetError(
            f"a function for match_aie names {len(found)} targets",
            hint="partition with match_aie.byoc.Partition(target), or with the patterns of "
            "match_aie.byoc.patterns(target)",
        )
    told = json.loads(found.pop())
    return load_target(told["name"], told["options"])
