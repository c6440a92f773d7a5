"""One-dimensional convolutions and pools as ones of images of one row.

A value (N, C, L) that such an operator gives has an image (N, C, 1, L), on which element-wise
operators and the next convolution go on; reshapes between the two are dropped where nothing reads
them.
"""

from __future__ import annotations

from typing import Any

from tvm import relax

from match_aie import tvm_api
from match_aie.frontend.canonical.constants import constant
from match_aie.frontend.rebuild import Emitter, Expr

#: Axes of a value that has an image.
RANK = 3

POOLS = {
    "nn.max_pool1d": relax.op.nn.max_pool2d,
    "nn.avg_pool1d": relax.op.nn.avg_pool2d,
}


def image_call(emitter: Emitter, call: Any, data: Expr) -> Expr | None:
    """The call that computes the image of `call` from that of its operand; None if there is none.

    Args:
        emitter: takes the weights.
        call: a convolution or pool of a line.
        data: (N, C, 1, L).
    """
    operator, attrs = tvm_api.operator_name(call), call.attrs
    if operator in POOLS:
        if (attrs.layout, attrs.out_layout) != ("NCW", "NCW"):
            return None
        return POOLS[operator](
            data,
            pool_size=[1, *map(int, attrs.pool_size)],
            strides=[1, *map(int, attrs.strides)],
            padding=_pads(attrs.padding),
            dilation=[1, *map(int, attrs.dilation)],
            ceil_mode=bool(attrs.ceil_mode),
            count_include_pad=bool(attrs.count_include_pad),
        )
    layouts = (attrs.data_layout, attrs.kernel_layout, attrs.out_layout)
    if layouts != ("NCW", "OIW", "NCW") or not tvm_api.is_constant(call.args[1]):
        return None
    weight = tvm_api.constant_value(call.args[1])
    return relax.op.nn.conv2d(
        data,
        constant(weight[:, :, None, :]),
        strides=[1, *map(int, attrs.strides)],
        padding=_pads(attrs.padding),
        dilation=[1, *map(int, attrs.dilation)],
        groups=int(attrs.groups),
        out_dtype=attrs.out_dtype,
    )


def _pads(padding: Any) -> list[int]:
    before, after = (int(p) for p in padding)
    return [0, before, 0, after]


def image_of(emitter: Emitter, value: Expr) -> Expr:
    """(N, C, 1, L) of a line, or what a constant is beside one."""
    if tvm_api.is_constant(value):
        array = tvm_api.constant_value(value)
        if array.ndim == 0:
            return value
        whole = array.reshape((1,) * (RANK - array.ndim) + array.shape)
        return constant(whole[:, :, None, :])
    batch, channels, length = tvm_api.shape_of(value)
    return emitter.emit(relax.op.reshape(value, (batch, channels, 1, length)))


def line_of(image: Expr) -> Expr:
    """(N, C, L) of an image of one row."""
    batch, channels, _, length = tvm_api.shape_of(image)
    return relax.op.reshape(image, (batch, channels, length))
