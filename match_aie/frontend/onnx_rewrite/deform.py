"""DeformConv: samples between the pixels, then a product with the weights."""

from __future__ import annotations

import numpy as np
from onnx import TensorProto

from match_aie.frontend.onnx_rewrite.graph import Builder, Node, Refusal


def deform_conv(node: Node, b: Builder) -> tuple[str, ...]:
    """Every group of offsets samples its channels by GridSample; the rest is a matrix product."""
    x, w, offset, bias, mask = (node.input(at) for at in range(5))
    batch, channels, *spatial = b.graph.shape(x)
    maps, _, *kernel = b.graph.shape(w)
    if len(spatial) != 2 or b.graph.dtype(x) != TensorProto.FLOAT:
        raise Refusal("it is compiled for images in float32 only")
    sizes = list(b.graph.shape(offset)[2:])
    elements = kernel[0] * kernel[1]
    parts, groups = int(node.attr("offset_group", 1)), int(node.attr("group", 1))

    def shaped(value: str, *shape: int) -> str:
        return b.op("Reshape", value, b.const(shape, np.int64))

    grids = shaped(offset, batch, parts, elements, 2, *sizes)
    grids = b.op("Transpose", grids, perm=[1, 0, 2, 4, 5, 3])
    grids = b.op("Add", grids, b.const(_places(node, kernel, sizes), np.float32))
    # GridSample counts x before y, from -1 to 1 over the whole image.
    half = 0.5 * np.array(spatial, np.float32)
    scaled = b.op("Div", b.op("Add", grids, b.const(0.5 - half)), b.const(half))
    scaled = b.op("Gather", scaled, b.const([1, 0], np.int64), axis=5)
    weights = shaped(mask, batch, parts, 1, elements, *sizes) if mask else ""
    mode, columns = "linear" if b.graph.opset >= 20 else "bilinear", []
    for part in range(parts):

        def of_part(value: str, axis: int, count: int, part: int = part) -> str:
            bounds = [b.const([at], np.int64) for at in (part * count, (part + 1) * count, axis)]
            return b.op("Slice", value, *bounds)

        grid = shaped(of_part(scaled, 0, 1), batch, elements * sizes[0], sizes[1], 2)
        own = of_part(x, 1, channels // parts)
        found = b.op("GridSample", own, grid, mode=mode, padding_mode="zeros", align_corners=0)
        found = shaped(found, batch, channels // parts, elements, *sizes)
        if weights:
            factor = shaped(of_part(weights, 1, 1), batch, 1, elements, *sizes)
            found = b.op("Mul", found, factor)
        columns.append(found)
    rows = b.op("Concat", *columns, axis=1) if parts > 1 else columns[0]
    depth = channels // groups * elements
    rows = shaped(rows, batch, groups, depth, sizes[0] * sizes[1])
    product = b.op("MatMul", shaped(w, 1, groups, maps // groups, depth), rows)
    result = shaped(product, batch, maps, *sizes)
    return (b.op("Add", result, shaped(bias, 1, maps, 1, 1)) if bias else result,)


def _places(node: Node, kernel: list[int], sizes: list[int]) -> np.ndarray:
    """[1, 1, elements of the kernel, height, width, 2]: y and x of every tap without offsets."""
    strides, steps = (np.array(node.attr(name, [1, 1])) for name in ("strides", "dilations"))
    pads = np.array(node.attr("pads", [0, 0, 0, 0]))[:2]
    taps = np.array(list(np.ndindex(*kernel))) * steps
    pixels = np.stack(np.meshgrid(*map(np.arange, sizes), indexing="ij"), -1) * strides - pads
    return (taps[:, None, None] + pixels)[None, None].astype(np.float32)
