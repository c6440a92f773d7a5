"""A Relax module that the user built, as a `Model`."""

from __future__ import annotations

from types import MappingProxyType
from typing import Any

import tvm
from tvm import relax

from match_aie import tvm_api
from match_aie.errors import ModelError, shorten
from match_aie.frontend.model import Model, Port


def load_relax(module: Any, *, name: str | None = None) -> Model:
    """Check that `module` is a straight-line network with static shapes.

    Raises:
        ModelError: it has no Relax `main`, is not well formed, or has dynamic shapes.
    """
    main = module.functions.get(_main(module)) if _main(module) else None
    if not isinstance(main, relax.Function):
        raise ModelError("the module has no Relax function called main")
    _check_form(module)
    module = relax.transform.ConvertToDataflow()(relax.transform.Normalize()(module))
    main = module["main"]
    if not isinstance(main.body, relax.SeqExpr):
        raise ModelError("main is not a sequence of bindings")
    inputs = tuple(_port(var, tvm_api.variable_name(var)) for var in main.params)
    labels = {tvm_api.variable_name(v): tvm_api.variable_name(v) for v, _ in tvm_api.bindings(main)}
    return Model(
        module=module,
        name=name or "network",
        inputs=inputs,
        outputs=tuple(_port(value, label) for value, label in _results(main)),
        source=tvm.ir.save_json(module).encode(),
        format="relax",
        labels=MappingProxyType(labels),
    )


def _check_form(module: Any) -> None:
    """Refuse what TVM's own checker refuses."""
    try:
        formed = relax.analysis.well_formed(module)
    except Exception as error:
        text = (str(error).strip().splitlines() or [""])[-1]
        raise ModelError(f"the Relax module is not well formed: {shorten(text)}") from error
    if formed is False:
        raise ModelError("the Relax module is not well formed")


def _main(module: Any) -> Any:
    """The global variable `main`, None where there is none."""
    return next((v for v in module.get_global_vars() if v.name_hint == "main"), None)


def _results(main: Any) -> list[tuple[Any, str]]:
    """(expression, name) of every output."""
    body = main.body.body
    if isinstance(main.ret_ty, relax.TupleType):
        if isinstance(body, relax.Tuple):
            fields = list(body.fields)
        else:
            fields = [relax.TupleGetItem(body, i) for i in range(len(main.ret_ty.fields))]
            fields = [_typed(f, t) for f, t in zip(fields, main.ret_ty.fields, strict=True)]
        return [(field, f"output{i}") for i, field in enumerate(fields)]
    return [(body, "output")]


def _typed(expr: Any, type_: Any) -> Any:
    """`expr` with its type written down."""
    relax.expr._update_type(expr, type_)
    return expr


def _port(expr: Any, name: str) -> Port:
    """The port that `expr` is."""
    if not isinstance(expr.ty, relax.TensorType):
        raise ModelError("inputs and outputs must be tensors", where=name)
    try:
        return Port(name, tvm_api.dtype_of(expr), tvm_api.shape_of(expr))
    except (TypeError, AttributeError) as error:
        raise ModelError(
            f"a shape is not static: {shorten(str(expr.ty))}",
            where=name,
            hint="bind symbolic shapes first, with relax.transform.BindSymbolicVars",
        ) from error
