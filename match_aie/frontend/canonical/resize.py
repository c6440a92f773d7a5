"""Bilinear resizes as sums of two weighted rows and columns each; nearest ones as repeated rows.

Which elements are read, and how they are weighted, is known at compile time: what is left for the
core are loops over whole rows and channels, where TVM's own operator works out each element's place
at run time.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from tvm import relax

from match_aie import tvm_api
from match_aie.frontend.canonical.constants import constant
from match_aie.frontend.rebuild import Emitter, Expr

#: Coordinate transformations whose places depend on nothing but sizes.
PLACES = frozenset({"half_pixel", "asymmetric", "align_corners", "pytorch_half_pixel"})


def channel_last(call: Any, data: Expr) -> Expr:
    """The resize `call` of NCHW images, of `data` [N, H, W, C]."""
    given = call.attrs
    return relax.op.image.resize2d(
        data,
        call.args[1],
        roi=tuple(given.roi),
        layout="NHWC",
        method=given.method,
        coordinate_transformation_mode=given.coordinate_transformation_mode,
        rounding_method=given.rounding_method,
        cubic_alpha=given.cubic_alpha,
        cubic_exclude=given.cubic_exclude,
        extrapolation_value=given.extrapolation_value,
        out_dtype=given.out_dtype or None,
    )


def bilinear(emitter: Emitter, var: Any, value: Expr) -> Expr:
    """`value`; a bilinear resize of float32 images as two sums, of rows and of columns."""
    if tvm_api.operator_name(value) != "image.resize2d" or not tvm_api.is_tensor(var):
        return value
    data, given = value.args[0], value.attrs
    known = str(given.method) == "linear" and str(given.coordinate_transformation_mode) in PLACES
    types = {tvm_api.dtype_of(data), tvm_api.dtype_of(var)}
    if not known or types != {"float32"} or str(given.layout) not in ("NCHW", "NHWC"):
        return value
    shape, wanted = tvm_api.shape_of(data), tvm_api.shape_of(var)
    how = str(given.coordinate_transformation_mode)
    for axis in (str(given.layout).index(name) for name in "HW"):
        if shape[axis] != wanted[axis] or how == "pytorch_half_pixel":
            data = emitter.emit(_along(emitter, data, axis, wanted[axis], how))
    return data


def nearest(emitter: Emitter, var: Any, value: Expr) -> Expr:
    """`value`; a nearest resize of integers to whole multiples repeats rows and columns.

    TVM's operator computes with floats what it copies.
    """
    if tvm_api.operator_name(value) != "image.resize2d" or not tvm_api.is_tensor(var):
        return value
    data, given = value.args[0], value.attrs
    dtype = tvm_api.dtype_of(data)
    if str(given.method) != "nearest_neighbor" or dtype != tvm_api.dtype_of(var):
        return value
    if not dtype.startswith(("int", "uint")) or not _in_blocks(given):
        return value
    shape, wanted = tvm_api.shape_of(data), tvm_api.shape_of(var)
    axes = [str(given.layout).index(name) for name in "HW"]
    if any(wanted[axis] % shape[axis] for axis in axes):
        return value
    for axis in axes:
        if wanted[axis] > shape[axis]:
            data = emitter.emit(relax.op.repeat(data, wanted[axis] // shape[axis], axis))
    return data


def _in_blocks(given: Any) -> bool:
    """Whether a resize to `k` times as many reads element `i // k`.

    Of pixels' middles it does, whatever is done with halves: (i + 1/2) / k - 1/2 is never one.
    """
    how, rounding = str(given.coordinate_transformation_mode), str(given.rounding_method)
    return (how, rounding) == ("asymmetric", "floor") or (
        how == "half_pixel" and rounding in ("round", "round_prefer_floor", "round_prefer_ceil")
    )


def _along(emitter: Emitter, data: Expr, axis: int, wanted: int, how: str) -> Expr:
    """`data` with `wanted` elements along an axis."""
    shape = tvm_api.shape_of(data)
    near, far, weight = places(shape[axis], wanted, how)
    spread = [wanted if at == axis else 1 for at in range(len(shape))]
    parts = []
    for index, share in ((near, 1 - weight), (far, weight)):
        taken = relax.op.take(data, constant(index.astype(np.int64)), axis=axis, mode="fast")
        each = constant(share.astype(np.float32).reshape(spread))
        parts.append(emitter.emit(relax.op.multiply(emitter.emit(taken), each)))
    return relax.op.add(*parts)


def places(have: int, want: int, how: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Where each of `want` elements lies among `have`: (before, behind, share of behind) [want].

    `how` is ONNX's `coordinate_transformation_mode`; places are computed in float32, as TVM, LiteRT
    and ONNX Runtime do.
    """
    at = np.arange(want, dtype=np.float32)
    step = np.float32(have) / np.float32(want)
    half = np.float32(0.5)
    if how == "align_corners":
        at = at * (np.float32(have - 1) / np.float32(max(want - 1, 1)))
    elif how == "asymmetric":
        at = at * step
    else:
        at = (at + half) * step - half
        if how == "pytorch_half_pixel" and want == 1:
            at = np.zeros(1, np.float32)
    low = np.floor(at)
    behind = np.clip(low + 1, 0, have - 1).astype(np.int64)
    return np.clip(low, 0, have - 1).astype(np.int64), behind, at - low
