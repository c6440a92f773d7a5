"""A Relax module that the user built, as a `Model`."""

from __future__ import annotations

from types import MappingProxyType
from typing import Any

from tvm import relax

from match_aie import tvm_api
from match_aie.errors import ModelError, shorten
from match_aie.frontend.model import Model, Port
from match_aie.frontend.relax_ports import (
    input_quantisation,
    output_quantisation,
    plain_parameters,
)

Expr = Any


def load_relax(module: Expr, *, name: str | None = None) -> Model:
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
    inputs = tuple(
        _port(var, tvm_api.variable_name(var), input_quantisation(main, var)) for var in main.params
    )
    outputs = tuple(
        _port(value, label, output_quantisation(main, value)) for value, label in _results(main)
    )
    names = [tvm_api.variable_name(var) for var, _ in tvm_api.bindings(main)]
    source = tvm_api.module_bytes(module)
    module, labels = plain_parameters(module, {name: name for name in names})
    return Model(
        module=module,
        name=name or "network",
        inputs=inputs,
        outputs=outputs,
        source=source,
        format="relax",
        labels=MappingProxyType(labels),
    )


def _check_form(module: Expr) -> None:
    """Refuse what TVM's own checker refuses."""
    try:
        formed = relax.analysis.well_formed(module)
    except Exception as error:
        text = (str(error).strip().splitlines() or [""])[-1]
        raise ModelError(f"the Relax module is not well formed: {shorten(text)}") from error
    if formed is False:
        raise ModelError("the Relax module is not well formed")


def _main(module: Expr) -> Expr:
    """The global variable `main`, None where there is none."""
    return next((v for v in module.get_global_vars() if v.name_hint == "main"), None)


def _results(main: Expr) -> list[tuple[Expr, str]]:
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


def _typed(expr: Expr, type_: Expr) -> Expr:
    """`expr` with its type written down, where TVM has not inferred it."""
    if not isinstance(expr.ty, relax.TensorType | relax.TupleType):
        relax.expr._update_type(expr, type_)
    return expr


def _port(expr: Expr, name: str, quantised: tuple[float, int] | None) -> Port:
    """The port that `expr` is."""
    scale, zero_point = quantised or (None, 0)
    if not isinstance(expr.ty, relax.TensorType):
        raise ModelError("inputs and outputs must be tensors", where=name)
    try:
        return Port(name, tvm_api.dtype_of(expr), tvm_api.shape_of(expr), scale, zero_point)
    except (TypeError, AttributeError) as error:
        raise ModelError(
            f"a shape is not static: {shorten(str(expr.ty))}",
            where=name,
            hint="bind symbolic shapes first, with relax.transform.BindSymbolicVars",
        ) from error
