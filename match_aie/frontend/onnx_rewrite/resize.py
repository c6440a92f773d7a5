"""Resize as products with interpolation matrices, where TVM's own resize is not ONNX's.

Resizing is linear in the data and separable over the axes: along each axis it is a product with
a matrix, which ONNX's reference evaluator gives when it resizes an identity. TVM derives the scale
from the sizes, so that it only agrees where size * scale is whole.
"""

from __future__ import annotations

import numpy as np
import onnx
from onnx import TensorProto, helper
from onnx.reference import ReferenceEvaluator

from match_aie.frontend.onnx_rewrite.graph import Builder, Graph, Node, Refusal

#: Coordinate transformations that TVM computes as ONNX does.
TVM_COORDINATES = frozenset({"half_pixel", "asymmetric", "align_corners", "pytorch_half_pixel"})

#: Resizes a region instead of the whole, with a value for what is outside of the image.
CROPS = "tf_crop_and_resize"

#: The nearest element before opset 11, where no attribute names it.
UNNAMED = "unnamed"

#: From where to where of an axis.
Region = tuple[float, float]
WHOLE: Region = (0.0, 1.0)

#: The longest axis that becomes a matrix.
LONGEST_AXIS = 2048


def resize(node: Node, b: Builder) -> tuple[str, ...] | None:
    """Leave what TVM computes exactly; the rest becomes matrix products."""
    scales = effective_scales(node, b.graph)
    if node.attr("nearest_mode") == UNNAMED:
        return _as_before(node, b, scales)
    have, want = b.graph.shape(node.input(0)), b.graph.shape(node.outputs[0])
    if _by_tvm(node, b.graph, want, scales):
        return _without_empty(node, b)
    if b.graph.dtype(node.input(0)) != TensorProto.FLOAT:
        raise Refusal("this form of it is compiled for float32 only")
    value, regions, outside = node.input(0), _regions(node, b.graph), []
    for axis, size in enumerate(want):
        if have[axis] == size and scales[axis] == 1 and regions[axis] == WHOLE:
            continue
        if max(have[axis], size) > LONGEST_AXIS:
            raise Refusal(f"this form of it is compiled for axes of at most {LONGEST_AXIS}")
        matrix = _matrix(node, (have[axis], size), scales[axis], regions[axis])
        value = _along(b, value, axis, len(want), matrix)
        spread = [size if at == axis else 1 for at in range(len(want))]
        outside.append(~matrix.any(0).reshape(spread))
    beyond = b.like(float(node.attr("extrapolation_value", 0.0)), node.input(0))
    for places in outside:
        if places.any():
            value = b.op("Where", b.const(places), beyond, value)
    return (value,)


def _as_before(node: Node, b: Builder, scales: list[float]) -> tuple[str, ...]:
    """Upsample and Resize-10: the element before where an axis grows, after where it shrinks.

    ONNX's text does not say so; its conformance data of these versions and ONNX Runtime do. The
    nearest element is taken axis by axis, so that both kinds of axes come one after the other.
    """
    value, kept = node.input(0), {**node.attributes, "nearest_mode": "floor"}
    shrinking = [min(scale, 1.0) for scale in scales]
    growing = [max(scale, 1.0) for scale in scales]
    if node.attr("mode", "nearest") != "nearest" or shrinking == scales or growing == scales:
        if shrinking == scales:
            kept["nearest_mode"] = "ceil"
        return (b.op("Resize", value, "", *node.inputs[2:], **kept),)
    less = b.op(
        "Resize", value, "", b.const(shrinking, np.float32), **{**kept, "nearest_mode": "ceil"}
    )
    return (b.op("Resize", less, "", b.const(growing, np.float32), **kept),)


def _without_empty(node: Node, b: Builder) -> tuple[str, ...] | None:
    """The same without operands that are there and empty, as exporters leave them."""
    names = [node.input(at) for at in range(4)]
    stored = [b.graph.constant(name) if name else None for name in names]
    if not any(value is not None and not value.size for value in stored[1:]):
        return None
    kept = [
        "" if value is not None and not value.size else name
        for name, value in zip(names, stored, strict=True)
    ]
    return (b.op("Resize", *kept, **node.attributes),)


def _regions(node: Node, graph: Graph) -> list[Region]:
    """Which part of every axis is resized, 0 its first element and 1 its last."""
    rank = len(graph.shape(node.input(0)))
    regions = [WHOLE] * rank
    if node.attr("coordinate_transformation_mode", "half_pixel") != CROPS:
        return regions
    given = graph.constant(node.input(1))
    if given is None:
        raise Refusal("its region must be known at compile time")
    axes = [axis % rank for axis in node.attr("axes", range(rank))]
    for axis, start, end in zip(axes, *given.reshape(2, -1), strict=True):
        regions[axis] = (float(start), float(end))
    return regions


def effective_scales(node: Node, graph: Graph) -> list[float]:
    """Scale of every axis; `Refusal` where they are not known."""
    have = graph.shape(node.input(0))
    axes = [axis % len(have) for axis in node.attr("axes", range(len(have)))]
    given, sizes = (graph.constant(node.input(at)) if node.input(at) else None for at in (2, 3))
    if given is not None and given.size:
        found = [float(scale) for scale in given]
    elif sizes is not None and sizes.size:
        found = [int(size) / have[axis] for axis, size in zip(axes, sizes, strict=True)]
        policy = node.attr("keep_aspect_ratio_policy", "stretch")
        if policy != "stretch":
            found = [min(found) if policy == "not_larger" else max(found)] * len(axes)
    else:
        raise Refusal("its scales or sizes must be known at compile time")
    full = [1.0] * len(have)
    for axis, scale in zip(axes, found, strict=True):
        full[axis] = scale
    return full


def _by_tvm(node: Node, graph: Graph, want: tuple[int, ...], scales: list[float]) -> bool:
    """Whether TVM's resize2d is the same function."""
    have, mode = graph.shape(node.input(0)), node.attr("mode", "nearest")
    coordinates = node.attr("coordinate_transformation_mode", "half_pixel")
    floats = graph.dtype(node.input(0)) in (TensorProto.FLOAT, TensorProto.DOUBLE)
    plain = (
        (mode == "nearest" or (mode == "linear" and floats))
        and not node.attr("antialias", 0)
        and node.attr("axes") is None
        and node.attr("keep_aspect_ratio_policy", "stretch") == "stretch"
        and coordinates in TVM_COORDINATES
        and not (coordinates in ("pytorch_half_pixel", "align_corners") and 1 in want[2:])
    )
    whole = all(size == have[at] * scales[at] for at, size in enumerate(want))
    return plain and whole and len(have) == 4 and have[:2] == want[:2]


def _matrix(node: Node, sizes: tuple[int, int], scale: float, region: Region) -> np.ndarray:
    """The matrix that resizes one axis; columns of zeros where a place is outside of it.

    Args:
        node: the Resize.
        sizes: of the axis, and of the result's.
        scale: from one to the other.
        region: which part of the axis is resized.
    """
    have, want = sizes
    coordinates = node.attr("coordinate_transformation_mode", "half_pixel")
    if coordinates == CROPS and node.attr("mode", "nearest") == "nearest":
        raise Refusal("tf_crop_and_resize to nearest elements is not compiled")
    if want != have * scale and coordinates == "align_corners":
        raise Refusal("align_corners with sizes that are not whole is not compiled")
    if want != have * scale and node.attr("mode", "nearest") == "nearest":
        # Whether a coordinate is just below or on an element depends on the last bit.
        raise Refusal("nearest with sizes that are not whole is not compiled")
    if coordinates == "pytorch_half_pixel" and want == 1:
        # The specification takes the first element; the evaluator means half a step before it.
        if node.attr("antialias", 0):
            raise Refusal("antialiasing to a single element is not compiled")
        return np.eye(have, 1, dtype=np.float32)
    kept = {
        name: value
        for name, value in node.attributes.items()
        if name not in ("axes", "keep_aspect_ratio_policy", "extrapolation_value")
    }
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [have, have])
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, None)
    by_size = not node.input(2) and node.attr("keep_aspect_ratio_policy", "stretch") == "stretch"
    feeds = {"x": np.eye(have, dtype=np.float32), "r": np.array(region, np.float32)}
    key, values = ("n", np.array([want])) if by_size else ("s", np.array([scale], np.float32))
    infos = [x, onnx.ValueInfoProto(name="r"), onnx.ValueInfoProto(name=key)]
    inputs = ["x", "r", "", "n"] if by_size else ["x", "r", "s"]
    resize_node = helper.make_node("Resize", inputs, ["y"], axes=[1], **kept)
    model = helper.make_model(
        helper.make_graph([resize_node], "resize", infos, [y]),
        opset_imports=[helper.make_opsetid("", max(node.opset, 19))],
    )
    (matrix,) = ReferenceEvaluator(model).run(None, {**feeds, key: values})
    if matrix.shape != (have, want):
        raise Refusal("its sizes do not follow from its scales")
    return np.asarray(matrix)


def _along(b: Builder, value: str, axis: int, rank: int, matrix: np.ndarray) -> str:
    """`value` times `matrix` along `axis`."""
    order = [at for at in range(rank) if at != axis] + [axis]
    back = [order.index(at) for at in range(rank)]
    moved = value if axis == rank - 1 else b.op("Transpose", value, perm=order)
    product = b.op("MatMul", moved, b.const(matrix, np.float32))
    return product if axis == rank - 1 else b.op("Transpose", product, perm=back)
