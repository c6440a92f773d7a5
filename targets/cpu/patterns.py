"""What the CPU module runs, as patterns of the canonical quantised graph, longest first."""

from __future__ import annotations

from match_aie.hardware import (
    AVG_POOL_HALF_AWAY,
    LAYER_NORM,
    RMS_NORM,
    Any,
    Op,
    Pattern,
    binary,
    clipped,
    integer_patterns,
    summed,
    tabulated,
    unary,
    weighted,
)
from match_aie.workload import NORMS, Kind, Workload, refuses_norm

_BYTES = ("int8", "uint8")
_STORED = ("int8", "uint8", "int16", "uint16")
_INT32_MAX = (1 << 31) - 1


def refuses(workload: Workload) -> str | None:
    """Why the CPU module cannot run `workload`, in a sentence; None where it can."""
    for check in (_element_types, _bias, _quantisation, _extent, _rounding, _sums):
        reason = check(workload)
        if reason:
            return reason
    return None


def _element_types(workload: Workload) -> str | None:
    stored: tuple[str, ...] = _STORED if workload.kind == "quantize" else _BYTES
    if workload.fixed_point:
        stored = (*_STORED, "int32")
    if workload.tail is None and workload.kind != "table":
        stored = ("float32",) if workload.kind == "dequantize" else ("int32",)
    read: dict[str, tuple[str, ...]] = {
        "weight": ("int8", "int16"),
        "bias": ("int32",),
        "scale": ("float32",),
        "multiplier": ("int32",),
        "offset": ("int32",),
        "table": _BYTES if workload.kind == "table" else ("float32",),
        "y": stored,
    }
    if workload.kind in NORMS:
        read |= {"weight": ("float32",), "bias": ("float32",)}
    taken = {"quantize": ("float32",), "dequantize": (*_STORED, "int32")}
    for operand in workload.operands:
        allowed = read.get(operand.name, taken.get(workload.kind, _BYTES))
        if operand.dtype not in allowed:
            return f"{operand.name} is {operand.dtype}; this layer takes {' or '.join(allowed)}"
    return None


def _bias(workload: Workload) -> str | None:
    """The kernels start every sum from a bias."""
    if workload.kind in ("conv2d", "dense"):
        if "bias" not in [operand.name for operand in workload.constants]:
            return "there is no bias to start the sum from"
    return None


def _quantisation(workload: Workload) -> str | None:
    """Kinds that compute with real values need one scale per tensor."""
    on_integers = workload.tail is not None and workload.tail.rounding == "half_away"
    if workload.kind in ("conv2d", "dense", "matmul", "max_pool2d") or on_integers:
        return None
    if workload.fixed_point:
        return None
    for operand in (*workload.data, workload.output):
        if operand.dtype != "float32" and operand.scale is None:
            return f"{operand.name} is quantised per channel; this layer takes one scale per tensor"
    return None


def _extent(workload: Workload) -> str | None:
    """Indices and sums are int32."""
    for operand in workload.operands:
        if operand.size > _INT32_MAX:
            return f"{operand.name} has {operand.size} elements, more than an int32 index reaches"
    sizes = workload.sizes
    terms = sizes["C"] * sizes["FY"] * sizes["FX"]
    if workload.kind in NORMS:
        return refuses_norm(workload)
    # An 8-bit value less its zero point is within +-255, and so is an int16 weight: it is a
    # difference of two 8-bit values.
    if workload.kind in ("conv2d", "dense", "matmul", "avg_pool2d"):
        largest = 255 if workload.kind == "avg_pool2d" else 255 * _largest_factor(workload)
        if terms * largest > _INT32_MAX:
            return f"a sum of {terms} terms may leave the int32 range"
    return None


def _largest_factor(workload: Workload) -> int:
    second = workload.operands[1]
    return 128 if second.dtype == "int8" and not second.zero_point else 255


def _rounding(workload: Workload) -> str | None:
    tail, window = workload.tail, workload.window
    if workload.fixed_point:
        return None
    if workload.kind == "avg_pool2d" and window is not None and empty_window(workload):
        return "an average is over no position: a window lies entirely in the padding"
    if tail is None or tail.rounding == "half_even":
        return None
    if workload.kind != "avg_pool2d":
        return f"rounding {tail.rounding} is for average pooling only"
    x, y = workload.operand("x"), workload.output
    if (x.scale, x.zero_point) != (y.scale, y.zero_point):
        return "rounding half_away needs one quantisation on both sides"
    return None


def _sums(workload: Workload) -> str | None:
    """What sums are made of are bytes."""
    if not workload.added:
        return None
    if workload.depthwise and workload.sizes["K"] == 1:
        return "a depthwise convolution takes no sum along"
    tails = (workload.tail, *(added.tail for added in workload.added[:-1]))
    for tail in tails:
        if tail is None or not (
            (-128 <= tail.lo and tail.hi <= 127) or 0 <= tail.lo <= tail.hi <= 255
        ):
            return "what is added to is wider than 8 bits"
    return None


def empty_window(workload: Workload) -> bool:
    """Whether some window of a pool lies entirely in the padding."""
    window, sizes = workload.window, workload.sizes
    assert window is not None
    _, rows, columns, _ = workload.operand("x").shape
    before = (window.padding[0], window.padding[1])
    ways = zip(("OY", "OX"), ("FY", "FX"), (rows, columns), before, strict=True)
    return any(
        _misses(sizes[out], sizes[filter_], extent, pad, window.stride[way], window.dilation[way])
        for way, (out, filter_, extent, pad) in enumerate(ways)
    )


def _misses(out: int, filter_: int, extent: int, pad: int, stride: int, dilation: int) -> bool:
    """Whether some window along one axis has no position inside 0 .. extent - 1."""
    return any(
        not any(0 <= o * stride - pad + f * dilation < extent for f in range(filter_))
        for o in range(out)
    )


def _integers(name: str, kind: Kind) -> tuple[Pattern, ...]:
    return integer_patterns(name, kind, refuses)


#: Layers that the model requantises through float32; `Const` forms come before `Any` forms.
REAL_PATTERNS: tuple[Pattern, ...] = (
    *weighted("conv2d", "conv2d", "nn.conv2d", refuses),
    *weighted("dense", "dense", "matmul", refuses),
    *binary("matmul", "matmul", "matmul", refuses),
    *binary("add", "add", "add", refuses),
    *binary("mul", "mul", "multiply", refuses),
    *unary("avg_pool2d", "avg_pool2d", "nn.avg_pool2d", refuses),
    *unary("global_avg_pool2d", "avg_pool2d", "mean", refuses),
    *clipped("avg_pool2d_half_away", "avg_pool2d", Op(AVG_POOL_HALF_AWAY, Any("x")), refuses),
    *clipped("max_pool2d", "max_pool2d", Op("nn.max_pool2d", Any("x")), refuses),
    *unary("softmax", "softmax", "nn.softmax", refuses),
    *clipped("quantize", "quantize", Op("quantize", Any("x")), refuses),
    Pattern("dequantize", "dequantize", Op("dequantize", Any("x")), refuses),
)

#: Products and quantised sums of their results.
SUMMED: tuple[Pattern, ...] = (
    *summed("conv2d", "conv2d", "nn.conv2d", refuses),
    *summed("dense", "dense", "matmul", refuses),
)

#: Norms of rows of bytes.
BYTE_NORMS: tuple[Pattern, ...] = (
    *clipped("layer_norm", "layer_norm", LAYER_NORM, refuses),
    *clipped("rms_norm", "rms_norm", RMS_NORM, refuses),
)

#: Layers of integer graphs, in fixed point.
INTEGER_PATTERNS: tuple[Pattern, ...] = (
    *_integers("conv2d", "conv2d"),
    *_integers("dense", "dense"),
    *_integers("add", "add"),
    *_integers("mul", "mul"),
)

#: All of them.
PATTERNS: tuple[Pattern, ...] = (*REAL_PATTERNS, *INTEGER_PATTERNS)

#: Any other function of an 8-bit tensor's elements, looked up.
TABLES: tuple[Pattern, ...] = tabulated("table", refuses)
