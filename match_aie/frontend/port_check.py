"""What a model file says of its inputs and outputs, held against what its operators do."""

from __future__ import annotations

from math import prod
from typing import Any

from tvm import relax

from match_aie.errors import ModelError, shorten
from match_aie.frontend.model import Model, Port


def check_ports(model: Model) -> None:
    """Refuse ports with another element type, or another number of elements, than their values.

    Raises:
        ModelError: naming the port, with both shapes.
    """
    main = model.module["main"]
    result = main.body.body.ty
    results = result.fields if isinstance(result, relax.TupleType) else [result]
    for kind, ports, types in (
        ("takes", model.inputs, [param.ty for param in main.params]),
        ("gives", model.outputs, results),
    ):
        for port, ty in zip(ports, types, strict=True):
            if isinstance(ty, relax.TensorType) and isinstance(ty.shape, relax.ShapeExpr):
                _check(kind, port, ty)


def _check(kind: str, port: Port, ty: Any) -> None:
    dtype, shape = str(ty.dtype), [int(size) for size in ty.shape]
    if dtype == port.dtype and prod(shape) == prod(port.shape):
        return
    raise ModelError(
        f"the file says {port.dtype}{list(port.shape)}, and the network {kind} {dtype}{shape}",
        where=shorten(port.name, 80),
        hint="the file is damaged, or its shapes were not inferred again after an edit",
    )
