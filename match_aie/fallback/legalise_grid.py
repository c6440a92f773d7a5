"""Bicubic sampling at the points of a grid, in stages.

TVM's lowering is one expression, in which every weight and index of the 4 by 4 taps is spelled out
for every use: minutes of compilation. Here indices and weights are tables, per point of the grid.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tvm import te, tirx

from match_aie import tvm_api
from match_aie.fallback.refusal import Refusal

#: Taps per axis.
TAPS = 4
#: Of the cubic kernel: ONNX and PyTorch have this one.
ALPHA = -0.75


def grid_sample(default: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """The rule for `image.grid_sample`: `default` for all but bicubic sampling of images."""

    def rule(builder: Any, call: Any) -> Any:
        data, grid = call.args
        if str(call.attrs.method) != "bicubic" or len(data.ty.shape) != 4:
            return default(builder, call)
        if str(call.attrs.layout) != "NCHW":
            raise Refusal(f"bicubic sampling of images in {call.attrs.layout}")
        align = bool(call.attrs.align_corners)
        dtype, padding = tvm_api.dtype_of(data), str(call.attrs.padding_mode)
        shape = tvm_api.shape_of(data)
        height, width = (_Axis(n, align, padding, dtype) for n in shape[2:])

        def compute(image: Any, points: Any) -> Any:
            return _sampled(image, points, height, width)

        return builder.call_te(compute, data, grid, primfunc_name_hint="grid_sample")

    return rule


def _sampled(image: Any, points: Any, height: _Axis, width: _Axis) -> Any:
    """Weighted sums along rows of taps, then over the rows."""
    batch, channels = image.shape[:2]
    size = points.shape[2:]
    x, y = width.place(points, 0), height.place(points, 1)
    x_weight, y_weight = width.weights(x, "x_weight"), height.weights(y, "y_weight")
    x_index, y_index = width.indices(x, "x_index"), height.indices(y, "y_index")
    column = te.reduce_axis((0, TAPS), name="column")
    row = te.reduce_axis((0, TAPS), name="row")

    def along(n: Any, c: Any, tap: Any, h: Any, w: Any) -> Any:
        pixel = image[n, c, y_index[n, tap, h, w], x_index[n, column, h, w]]
        return te.sum(pixel * x_weight[n, column, h, w], axis=column)

    rows = te.compute((batch, channels, TAPS, *size), along, name="rows")
    return te.compute(
        (batch, channels, *size),
        lambda n, c, h, w: te.sum(rows[n, c, row, h, w] * y_weight[n, row, h, w], axis=row),
        name="sampled",
    )


@dataclass(frozen=True)
class _Axis:
    """An axis of the image.

    Attributes:
        size: elements along it.
        align: whether -1 and 1 are the centres of the outermost pixels, not their outer edges.
        padding: what lies outside: "zeros", "border", "reflection".
        dtype: of the points and the weights.
    """

    size: int
    align: bool
    padding: str
    dtype: str

    def _const(self, value: float) -> Any:
        return tirx.const(value, self.dtype)

    def place(self, points: Any, coordinate: int) -> Any:
        """Where the points lie along this axis, in pixels."""
        batch, _, *size = points.shape

        def element(n: Any, h: Any, w: Any) -> Any:
            from_edge = points[n, coordinate, h, w] + self._const(1)
            if self.align:
                return from_edge * self._const(self.size - 1) / self._const(2)
            return self._const(-0.5) + from_edge * self._const(self.size) / self._const(2)

        return te.compute((batch, *size), element, name=f"place{coordinate}")

    def weights(self, place: Any, name: str) -> Any:
        """Weights of the taps; 0 outside the image where that counts as zeros."""
        batch, *size = place.shape

        def element(n: Any, tap: Any, h: Any, w: Any) -> Any:
            at = place[n, h, w]
            offset = (tap - 1).astype(self.dtype)
            distance = te.abs(at - te.floor(at) - offset)
            weight = tirx.Select(tirx.any(tap == 0, tap == 3), _outer(distance), _inner(distance))
            if self.padding != "zeros":
                return weight
            there = te.floor(at) + offset
            inside = tirx.all(there >= self._const(0), there <= self._const(self.size - 1))
            return tirx.Select(inside, weight, self._const(0))

        return te.compute((batch, TAPS, *size), element, name=name)

    def indices(self, place: Any, name: str) -> Any:
        """Pixels under the taps, all within the image."""
        batch, *size = place.shape

        def element(n: Any, tap: Any, h: Any, w: Any) -> Any:
            there = te.floor(place[n, h, w]) + (tap - 1).astype(self.dtype)
            if self.padding == "reflection":
                there = self._reflected(there)
            last = self._const(self.size - 1)
            return te.max(te.min(there, last), self._const(0)).astype("int32")

        return te.compute((batch, TAPS, *size), element, name=name)

    def _reflected(self, there: Any) -> Any:
        """`there` mirrored at both ends, as often as needed."""
        span, start = (self.size - 1, 0.0) if self.align else (self.size, -0.5)
        if span == 0:
            return self._const(0)
        distance = te.abs(there - self._const(start))
        times = te.floor(distance / self._const(span))
        extra = distance - times * self._const(span)
        even = tirx.EQ(times, te.floor(times / self._const(2)) * self._const(2))
        return tirx.Select(even, extra, self._const(span) - extra) + self._const(start)


def _inner(d: Any) -> Any:
    """The cubic kernel up to a distance of 1."""
    return ((ALPHA + 2) * d - (ALPHA + 3)) * d * d + 1


def _outer(d: Any) -> Any:
    """The cubic kernel from 1 to 2."""
    return ((ALPHA * d - 5 * ALPHA) * d + 8 * ALPHA) * d - 4 * ALPHA
