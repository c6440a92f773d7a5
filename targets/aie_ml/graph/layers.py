"""From workloads to image layers, and why some have no place on the array."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from match_aie.errors import TargetError
from match_aie.targets.aie_ml.graph.image import ImageKind, ImageLayer
from match_aie.targets.aie_ml.kernels.arithmetic import epilogue
from match_aie.targets.aie_ml.kernels.window import Geometry
from match_aie.workload import Workload

Arrays = Mapping[str, np.ndarray]

#: Element types of images.
DTYPES = ("int8", "uint8", "int16")


def refuses_image(workload: Workload) -> str | None:
    """Why the array has no kernel for a convolution or pool; None where it has one."""
    checks = (batch, types, _groups, _maximum)
    return next((reason for check in checks if (reason := check(workload))), None)


def batch(workload: Workload) -> str | None:
    """Why it is no single image; None where it is one."""
    images = workload.operand("x").shape[0]
    return f"its batch is {images}; image layers take one image" if images != 1 else None


def types(workload: Workload) -> str | None:
    """Why no kernel of an image layer computes on its element types; None where one does."""
    x, y = workload.operand("x"), workload.output
    if x.dtype not in DTYPES:
        return f"x is {x.dtype}; image layers read {', '.join(DTYPES)}"
    if y.dtype not in (*DTYPES, "int32"):
        return f"y is {y.dtype}; image layers store {', '.join(DTYPES)} or int32"
    weight = next((o for o in workload.constants if o.name == "weight"), None)
    if weight is None:
        return None if y.dtype == x.dtype else f"it pools {x.dtype} into {y.dtype}"
    if weight.zero_point:
        return f"its weights have the zero point {weight.zero_point}"
    if weight.dtype != "int8":
        return f"its weights are {weight.dtype}; image layers take int8"
    return None


def _groups(workload: Workload) -> str | None:
    d = workload.sizes
    if workload.kind != "conv2d" or d["G"] == 1:
        return None
    if (d["C"], d["K"]) != (1, 1):
        return (
            f"{d['G']} groups of {d['C']} to {d['K']} channels; image layers take one group, or "
            "one channel to a group"
        )
    if workload.operand("x").dtype == "int16":
        return "it multiplies int16 channels one by one with int8 weights, which no kernel does"
    return None


def _maximum(workload: Workload) -> str | None:
    tail = workload.tail
    if workload.kind != "max_pool2d" or tail is None:
        return None
    info = np.iinfo(workload.output.dtype)
    whole = tail.lo <= info.min and tail.hi >= info.max
    return None if whole else f"its maxima are clipped to {tail.lo} .. {tail.hi}"


def image_layer(workload: Workload, constants: Arrays, name: str) -> ImageLayer:
    """The layer of a workload in the fixed point that `arithmetic.in_fixed_point` gave.

    Raises:
        TargetError: `refuses_image` says why it has none, or it is not in that fixed point.
    """
    reason = refuses_image(workload)
    if reason is not None:
        raise TargetError(f"layer {name}: {reason}")
    x, kind = workload.operand("x"), _kind(workload)
    layer = ImageLayer(
        name,
        kind,
        _geometry(workload),
        x.dtype,
        x.zero_point if kind in ("conv", "depthwise") else 0,
        workload.output.dtype,
        None if kind == "max" else epilogue(workload, constants),
        constants["weight"] if kind in ("conv", "depthwise") else None,
    )
    least = int(np.iinfo(x.dtype).min)
    return with_margin(layer, least) if kind == "max" and least else layer


def _kind(workload: Workload) -> ImageKind:
    if workload.kind == "conv2d":
        return "depthwise" if workload.depthwise else "conv"
    return "average" if workload.kind == "avg_pool2d" else "max"


def _geometry(workload: Workload) -> Geometry:
    d, window = workload.sizes, workload.window
    assert window is not None
    _, height, width, channels = workload.operand("x").shape
    return Geometry(
        channels,
        height,
        width,
        workload.output.shape[-1],
        (d["FY"], d["FX"]),
        window.stride,
        window.dilation,
        window.padding,
    )


def with_margin(layer: ImageLayer, fill: int) -> ImageLayer:
    """`layer` with its padding added by the processor, as `fill`."""
    g = layer.geometry
    top, left, bottom, right = g.padding
    whole = replace(
        g, height=g.height + top + bottom, width=g.width + left + right, padding=(0, 0, 0, 0)
    )
    return replace(layer, geometry=whole, margin=g.padding, fill=fill)
