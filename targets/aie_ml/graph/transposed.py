"""Transposed convolutions: a convolution whose channels are the phases of the result.

Output `stride * q + p` of an axis sees few of the filter's taps, the same for every q. So all
outputs of one phase are a convolution of the input, those of all phases one with as many more
channels, and the memory tile that gathers these sends them as rows and columns. A tap that a phase
does not have is a weight of 0.

This is all that the array knows of the kind: what it refuses, its layer, its access.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import prod

import numpy as np

from match_aie.errors import TargetError
from match_aie.targets.aie_ml.graph.access import y_dimensions
from match_aie.targets.aie_ml.graph.image import WORD, CutLayer, ImageLayer
from match_aie.targets.aie_ml.graph.layers import batch, types
from match_aie.targets.aie_ml.graph.plan import Part
from match_aie.targets.aie_ml.kernels.arithmetic import Epilogue, epilogue
from match_aie.targets.aie_ml.kernels.block import Access
from match_aie.targets.aie_ml.kernels.spec import BYTES
from match_aie.targets.aie_ml.kernels.window import Geometry
from match_aie.workload import Window, Workload, phase_taps


@dataclass(frozen=True)
class Interleaved:
    """Results of [rows][columns][phase of rows][phase of columns][channels] as an image.

    Attributes:
        phases: of rows and of columns.
    """

    phases: tuple[int, int]

    def read(self, plan: CutLayer, rows: int, kept: int) -> Access:
        """Row by row of the tensor: of a row of the buffer one phase of rows after the other."""
        g, high = plan.layer.geometry, self.phases[0]
        deep = g.outputs // high
        loops = ((0, deep, high), (2, 1, kept))
        kept_loops = tuple(loop for loop in loops if loop[2] > 1)
        return Access(y_dimensions(plan, rows), (deep, g.out_width, 1), (0, 0, 0), kept_loops)

    def part(self, plan: CutLayer, first: int, kept: int) -> Part:
        """Whole rows of the tensor."""
        g, (high, wide) = plan.layer.geometry, self.phases
        tensor = g.out_height * high, g.out_width * wide, g.outputs // (high * wide)
        return Part("y", tensor, first * high, kept * high, *tensor[1:])


@dataclass(frozen=True)
class _Axis:
    """Rows, or columns: the convolution of x that gives all phases.

    Attributes:
        taps: of its filter.
        before: padding.
        after: likewise.
    """

    taps: int
    before: int
    after: int


def _axes(workload: Workload) -> tuple[_Axis, _Axis]:
    """Rows and columns."""
    window, weight = _window(workload), workload.operand("weight")
    found = []
    for at, outputs in enumerate((workload.sizes["OY"], workload.sizes["OX"])):
        size = workload.operand("x").shape[1 + at]
        taps, reach = phase_taps(weight.shape[1 + at], window.stride[at], window.padding[at])
        found.append(_Axis(taps, reach, outputs + taps - 1 - size - reach))
    return found[0], found[1]


def _window(workload: Workload) -> Window:
    if workload.window is None:
        raise TargetError(f"a {workload.kind} without a window")
    return workload.window


def refuses_transposed(workload: Workload) -> str | None:
    """Why the array has no kernel for a transposed convolution; None where it has one."""
    y, window = workload.output, _window(workload)
    if reason := batch(workload) or types(workload):
        return reason
    if min(pad for axis in _axes(workload) for pad in (axis.before, axis.after)) < 0:
        return f"its padding {window.padding} cuts off all that some rows or columns of x make"
    run = y.shape[3] * window.stride[1] * BYTES[y.dtype]
    if run % WORD:
        return f"{run} bytes of neighbouring outputs are no whole number of 32-bit words"
    return None


def transposed_layer(
    workload: Workload, constants: Mapping[str, np.ndarray], name: str
) -> ImageLayer:
    """The layer of a workload in the fixed point that `arithmetic.in_fixed_point` gave.

    Raises:
        TargetError: `refuses_transposed` says why it has none, or it is not in that fixed point.
    """
    reason = refuses_transposed(workload)
    if reason is not None:
        raise TargetError(f"layer {name}: {reason}")
    x, phases, (rows, columns) = workload.operand("x"), _window(workload).stride, _axes(workload)
    _, height, width, channels = x.shape
    geometry = Geometry(
        channels,
        height,
        width,
        workload.output.shape[3] * prod(phases),
        (rows.taps, columns.taps),
        padding=(rows.before, columns.before, rows.after, columns.after),
    )
    return ImageLayer(
        name,
        "conv",
        geometry,
        x.dtype,
        x.zero_point,
        workload.output.dtype,
        _repeated(epilogue(workload, constants), prod(phases)),
        _by_phase(workload, constants["weight"]),
        results=Interleaved(phases),
    )


def _repeated(end: Epilogue, phases: int) -> Epilogue:
    """The requantisation of all phases, which have the same channels."""

    def each(value: np.ndarray | int | None) -> np.ndarray | int | None:
        return np.tile(value, phases) if isinstance(value, np.ndarray) else value

    bias = np.tile(end.bias, phases) if end.bias.size > 1 else end.bias
    return replace(end, bias=bias, multiplier=each(end.multiplier), addend=each(end.addend))


def _by_phase(workload: Workload, weight: np.ndarray) -> np.ndarray:
    """Weights [phase of rows, of columns, K; taps; C] of [K, FY, FX, C], as their access says."""
    sizes, operand = workload.sizes, workload.operand("weight")
    (high, wide), (rows, columns) = _window(workload).stride, _axes(workload)
    found = np.zeros((high, wide, sizes["K"], rows.taps, columns.taps, sizes["C"]), weight.dtype)
    steps, offsets = [dict(axis.terms) for axis in operand.axes], [a.offset for a in operand.axes]
    for py, px, ty, tx in np.ndindex(high, wide, rows.taps, columns.taps):
        fy = py * steps[1]["PY"] + ty * steps[1]["FY"] + offsets[1]
        fx = px * steps[2]["PX"] + tx * steps[2]["FX"] + offsets[2]
        if 0 <= fy < weight.shape[1] and 0 <= fx < weight.shape[2]:
            found[py, px, :, ty, tx] = weight[:, fy, fx]
    return found.reshape(-1, *found.shape[3:])
