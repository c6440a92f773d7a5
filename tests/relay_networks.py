"""Integer networks in Relay text as MATCH writes them, with their meaning in numpy."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import onnx
from onnx import numpy_helper

#: The convolutions of the MLPerf Tiny ResNet8: number in the file, stride, whether ReLU follows.
STACKS = ((1, 2, None, 1), (3, 4, 5, 2), (6, 7, 8, 2))
#: A multiplier's bits: sums times multipliers then stay within int32.
BITS = 8


@dataclass
class RelayNetwork:
    """Relay text under construction, each line with what it computes.

    Attributes:
        parameters: the arrays that `main` takes beside its inputs, by name.
        inputs: name -> (shape, element type).
        lines: bindings so far.
        steps: variable -> how to compute it from the values before it.
    """

    parameters: dict[str, np.ndarray] = field(default_factory=dict)
    inputs: dict[str, tuple[tuple[int, ...], str]] = field(default_factory=dict)
    lines: list[str] = field(default_factory=list)
    steps: dict[str, object] = field(default_factory=dict)
    output: str = ""

    def bind(self, expression: str, meaning) -> str:
        """A binding; `meaning` computes it from all values by name."""
        name = f"%{len(self.lines)}"
        self.lines.append(f"  {name} = {expression};")
        self.steps[name] = meaning
        return name

    def parameter(self, name: str, value: np.ndarray) -> str:
        self.parameters[name] = value
        return f"%{name}"

    def text(self) -> str:
        """The module; parameters are left open."""
        kinds = {**self.inputs, **{n: (v.shape, str(v.dtype)) for n, v in self.parameters.items()}}
        given = ", ".join(
            f"%{name}: Tensor[({', '.join(map(str, shape))}), {dtype}]"
            for name, (shape, dtype) in kinds.items()
        )
        body = "\n".join(self.lines)
        return f'#[version = "0.0.5"]\ndef @main({given}) {{\n{body}\n  {self.output}\n}}\n'

    def run(self, inputs: Mapping[str, np.ndarray]) -> np.ndarray:
        """What the network means, in numpy."""
        values = {f"%{name}": value for name, value in inputs.items()}
        values |= {f"%{name}": value for name, value in self.parameters.items()}
        for name, meaning in self.steps.items():
            values[name] = meaning(values)
        return values[self.output]

    def requantised(self, total: str, multiplier, offset, shift: int, low: int, named: str) -> str:
        """multiply, add, right_shift, clip, cast; multiplier and offset per channel or numbers."""
        if np.ndim(multiplier):
            shape = (1, -1, 1, 1)
            factor = self.parameter(
                f"{named}_multiplier", multiplier.reshape(shape).astype(np.int32)
            )
            added = self.parameter(f"{named}_offset", offset.reshape(shape).astype(np.int32))
        else:
            factor, added = str(multiplier), str(offset)

        def value(values, name):
            return values[name] if name.startswith("%") else np.int32(name)

        if factor != "1":
            total = self.bind(
                f"multiply({total}, {factor})",
                lambda v, t=total: (v[t] * value(v, factor)).astype(np.int32),
            )
            total = self.bind(
                f"add({total}, {added})",
                lambda v, t=total: (v[t] + value(v, added)).astype(np.int32),
            )
        total = self.bind(f"right_shift({total}, {shift})", lambda v, t=total: v[t] >> shift)
        total = self.bind(
            f"clip({total}, a_min={low}f, a_max=127f)", lambda v, t=total: np.clip(v[t], low, 127)
        )
        return self.bind(f'cast({total}, dtype="int8")', lambda v, t=total: v[t].astype(np.int8))

    def convolution(
        self, x: str, weight: np.ndarray, bias: np.ndarray, stride: int, pad: str, named: str
    ) -> str:
        """nn.conv2d and nn.bias_add; `pad` as Relay writes it."""
        w = self.parameter(f"{named}_weight", weight)
        b = self.parameter(f"{named}_bias", bias)
        top, left, bottom, right = (int(p) for p in pad.split(", "))
        total = self.bind(
            f"nn.conv2d({x}, {w}, strides=[{stride}, {stride}], padding=[{pad}], "
            f"channels={len(weight)}, kernel_size=[{weight.shape[2]}, {weight.shape[3]}], "
            'out_dtype="int32")',
            lambda v: _conv(v[x], weight, stride, (top, left, bottom, right)),
        )
        return self.bind(f"nn.bias_add({total}, {b})", lambda v: v[total] + bias.reshape(-1, 1, 1))


def _conv(x, weight, stride, padding):
    top, left, bottom, right = padding
    wide = np.pad(x.astype(np.int32), ((0, 0), (0, 0), (top, bottom), (left, right)))
    outputs, _, fy, fx = weight.shape
    rows = (wide.shape[2] - fy) // stride + 1
    columns = (wide.shape[3] - fx) // stride + 1
    y = np.zeros((x.shape[0], outputs, rows, columns), np.int32)
    for i in range(fy):
        for j in range(fx):
            seen = wide[:, :, i : i + stride * rows : stride, j : j + stride * columns : stride]
            y += np.einsum(
                "nchw,oc->nohw", seen[:, :, :rows, :columns], weight[:, :, i, j].astype(np.int32)
            )
    return y


def fixed(scales: np.ndarray, bits: int = BITS) -> tuple[np.ndarray, int]:
    """(multipliers of `bits`, one shift) with multiplier / 2**shift close to each scale."""
    shift = int(np.floor(bits - np.log2(np.max(scales))))
    return np.maximum(np.round(scales * 2.0**shift), 1).astype(np.int64), shift


def resnet8(path) -> RelayNetwork:
    """ResNet8 in int8 with the weights of the ONNX file at `path`.

    Activations lose their zero points: those after a ReLU are 0..127, all others symmetric.
    The first convolution requantises by a shift alone (its scales become one power of two), as
    HTVM's networks do; the others multiply, add and shift.
    """
    model = onnx.load(str(path))
    stored = {i.name: numpy_helper.to_array(i) for i in model.graph.initializer}
    made = RelayNetwork(inputs={"input": ((1, 3, 32, 32), "int8")})
    weights = _weights(model, stored)
    scale = 2.0 / 255  # of the input: 0..127 for pixels of 0..1
    stem = weights[0]
    total = made.convolution("%input", stem.weight, stem.bias_for(scale), 1, "1, 1, 1, 1", "stem")
    x = made.requantised(total, 1, 0, 9, 0, "stem")
    scale = float(np.median(stem.scale)) * scale * 2.0**9
    for first, second, skip, stride in STACKS:
        x, scale = _block(made, x, scale, weights, (first, second, skip), stride)
    dense = weights["dense"]
    wide = made.bind(f'cast({x}, dtype="int32")', lambda v: v[x].astype(np.int32))
    summed = made.bind(f"sum({wide}, axis=[2, 3])", lambda v: v[wide].sum((2, 3)).astype(np.int32))
    mean = made.bind(f"right_shift({summed}, 6)", lambda v: v[summed] >> 6)
    small = made.bind(f'cast({mean}, dtype="int8")', lambda v: v[mean].astype(np.int8))
    w = made.parameter("dense_weight", dense.weight)
    b = made.parameter("dense_bias", dense.bias_for(scale))
    logits = made.bind(
        f'nn.dense({small}, {w}, units=10, out_dtype="int32")',
        lambda v: v[small].astype(np.int32) @ dense.weight.T.astype(np.int32),
    )
    made.output = made.bind(f"nn.bias_add({logits}, {b})", lambda v: v[logits] + v[b])
    return made


def _block(made, x, scale, weights, numbers, stride):
    """Two convolutions and the sum with what came in, which a third one may bring to size."""
    first, second, skip = numbers
    pad = "1, 1, 1, 1" if stride == 1 else "0, 0, 1, 1"
    a, middle = _layer(made, x, scale, weights[first], stride, pad, 0, f"conv{first}")
    b, after = _layer(made, a, middle, weights[second], 1, "1, 1, 1, 1", -128, f"conv{second}")
    if skip is not None:
        x, scale = _layer(made, x, scale, weights[skip], stride, "0, 0, 0, 0", -128, f"conv{skip}")
    wide = [
        made.bind(f'cast({n}, dtype="int32")', lambda v, n=n: v[n].astype(np.int32)) for n in (b, x)
    ]
    (left, right), shift = fixed(np.array([after, scale]) / (after + scale), 7)
    scaled = [
        made.bind(f"multiply({n}, {f})", lambda v, n=n, f=f: (v[n] * f).astype(np.int32))
        for n, f in zip(wide, (int(left), int(right)), strict=True)
    ]
    total = made.bind(f"add({scaled[0]}, {scaled[1]})", lambda v: v[scaled[0]] + v[scaled[1]])
    return made.requantised(total, 1, 0, shift, 0, f"add{second}"), after + scale


def _layer(made, x, scale, layer, stride, pad, low, named):
    """A convolution whose scales are per channel: multiply, add (which rounds), shift."""
    bias = layer.bias_for(scale)
    total = made.convolution(x, layer.weight, bias, stride, pad, named)
    steps = layer.scale * scale
    # The largest sum of a typical input fills the range: weights times 32, added up in squares.
    spread = np.sqrt((layer.weight.astype(float) ** 2).sum((1, 2, 3))) * 32 + np.abs(bias) / 2
    output = float((spread * steps).max()) / 100
    multiplier, shift = fixed(steps / output)
    offset = np.full(len(bias), 1 << (shift - 1))
    return made.requantised(total, multiplier, offset, shift, low, named), output


@dataclass(frozen=True)
class _Weights:
    weight: np.ndarray
    scale: np.ndarray
    bias: np.ndarray
    bias_scale: np.ndarray

    def bias_for(self, scale: float) -> np.ndarray:
        """The bias in units of an input of `scale` times the weights'."""
        return np.round(self.bias * self.bias_scale / (scale * self.scale)).astype(np.int32)


def _weights(model, stored) -> dict[object, _Weights]:
    """Weights by their number in the names of TensorFlow ("model/conv2d_3/Conv2D"), and "dense"."""
    producers = {n.output[0]: n for n in model.graph.node}
    found: dict[object, _Weights] = {}
    for node in model.graph.node:
        if node.op_type == "Conv":
            w, b = (producers[name] for name in node.input[1:3])
            name = w.input[0].split("/")[1]
            key = int(name.rpartition("_")[2]) if "_" in name else 0
            found[key] = _pair(stored, w, b)
    names = [n for n in stored if n.startswith("model/dense")]
    w = next(
        n for n in model.graph.node if n.input and n.input[0] in names and "MatMul" in n.input[0]
    )
    b = next(
        n for n in model.graph.node if n.input and n.input[0] in names and "Bias" in n.input[0]
    )
    made = _pair(stored, w, b)
    weight = made.weight if made.weight.shape[0] == 10 else made.weight.T
    found["dense"] = _Weights(np.ascontiguousarray(weight), made.scale, made.bias, made.bias_scale)
    return found


def _pair(stored, w, b) -> _Weights:
    values = [stored[name] for name in (w.input[0], w.input[1], b.input[0], b.input[1])]
    return _Weights(
        values[0], values[1].astype(float), values[2].astype(float), values[3].astype(float)
    )
