"""How far Whisper-base's encoder in bfloat16 is from float32, as onnxruntime computes it.

    python benchmarks/xdna_distance.py [--json FILE]

Published sizes, seeded weights (no trained ones), one seeded spectrogram. Every layer is its numpy
reference, which executed programs equal bit for bit (`xdna_floats.py`), one after the other: what
the array would make of all of them. onnxruntime computes the same layers in float32.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import onnx
from machine import machine_row
from onnx import TensorProto, helper, numpy_helper
from rows import figure, report
from xdna_encoder import FRAMES, INNER, LAYERS, WIDTH
from xdna_layers import HEADS
from xdna_overlay import BANDS, SPECTRA, TAPS

from match_aie.targets.aie_ml.kernels.arithmetic import in_fixed_point
from match_aie.workload import reference
from match_aie.workload.bfloat16 import starting, summed, to_bfloat16
from match_aie.workload.block_float import summed_blocks
from match_aie.workload.functions_bfloat16 import function_table, patterns, values_of
from match_aie.workload.real import attention
from match_aie.workload.rows_bfloat16 import layer_norm_rows

EPSILON = 1e-5


@dataclass
class Layers:
    """The encoder written down once: as nodes of a model, and as what they mean in bfloat16.

    Attributes:
        frames: behind the second convolution.
        nodes: of the model.
        constants: of the model.
        rng: of weights.
        blocks: whether products of dense layers and attention are of block floating point.
    """

    frames: int
    nodes: list[onnx.NodeProto] = field(default_factory=list)
    constants: list[onnx.TensorProto] = field(default_factory=list)
    rng: np.random.Generator = field(default_factory=lambda: np.random.default_rng(0))
    blocks: bool = False

    def const(self, value: np.ndarray) -> str:
        """A constant's name."""
        self.constants.append(numpy_helper.from_array(value, f"c{len(self.constants)}"))
        return self.constants[-1].name

    def node(self, operator: str, inputs: list[str], **attributes: object) -> str:
        """The name of what it gives."""
        name = f"t{len(self.nodes)}"
        self.nodes.append(helper.make_node(operator, inputs, [name], **attributes))
        return name

    def multiplied(self, bias: np.ndarray, x: np.ndarray, weight: np.ndarray) -> np.ndarray:
        """What a dense layer of x [rows, deep] and weight [deep, columns] stores."""
        add = summed_blocks if self.blocks else summed
        return to_bfloat16(add(starting(bias), x, to_bfloat16(weight)))

    def drawn(self, spread: float, *shape: int) -> np.ndarray:
        """Weights."""
        return self.rng.normal(0, spread, shape).astype(np.float32)


@dataclass(frozen=True)
class Both:
    """A tensor: its name in the model, and what it is in bfloat16."""

    name: str
    value: np.ndarray


def dense(made: Layers, x: Both, columns: int) -> Both:
    """A dense layer with a bias."""
    deep = x.value.shape[1]
    weight, bias = made.drawn(deep**-0.5, deep, columns), made.drawn(0.3, columns)
    name = made.node("Gemm", [x.name, made.const(weight), made.const(bias)])
    return Both(name, made.multiplied(bias, x.value, weight))


def gelu(made: Layers, x: Both) -> Both:
    """By its table."""
    root, one, half = (made.const(np.array(v, np.float32)) for v in (2.0**0.5, 1.0, 0.5))
    erf = made.node("Erf", [made.node("Div", [x.name, root])])
    name = made.node("Mul", [x.name, made.node("Add", [erf, one])])
    value = values_of(function_table("gelu")(patterns(x.value)))
    return Both(made.node("Mul", [name, half]), value)


def norm(made: Layers, x: Both) -> Both:
    """Of rows."""
    columns = x.value.shape[1]
    weight, bias = 1 + made.drawn(0.2, columns), made.drawn(0.2, columns)
    constants = made.const(weight), made.const(bias)
    name = made.node("LayerNormalization", [x.name, *constants], axis=-1, epsilon=EPSILON)
    return Both(name, to_bfloat16(layer_norm_rows(x.value, weight, bias, EPSILON)))


def added(made: Layers, x: Both, y: Both) -> Both:
    """The sum of two tensors."""
    return Both(made.node("Add", [x.name, y.name]), to_bfloat16(x.value + y.value))


def attended(made: Layers, x: Both) -> Both:
    """Attention with its projections."""
    width = x.value.shape[1]
    parts = [dense(made, x, width) for _ in range(3)]
    shape = made.const(np.array([1, made.frames, HEADS, width // HEADS]))
    orders = (0, 2, 1, 3), (0, 2, 3, 1), (0, 2, 1, 3)
    q, k, v = (
        made.node("Transpose", [made.node("Reshape", [part.name, shape])], perm=list(order))
        for part, order in zip(parts, orders, strict=True)
    )
    root = made.const(np.array((width // HEADS) ** 0.5, np.float32))
    scores = made.node("Div", [made.node("MatMul", [q, k]), root])
    y = made.node("MatMul", [made.node("Softmax", [scores], axis=-1), v])
    y = made.node("Transpose", [y], perm=[0, 2, 1, 3])
    y = made.node("Reshape", [y, made.const(np.array([made.frames, width]))])
    head = width // HEADS
    layer = attention(
        batch=1,
        heads=HEADS,
        queries=made.frames,
        keys=made.frames,
        size=head,
        value_size=head,
        factor=head**-0.5,
    )
    fixed = in_fixed_point(layer, {}, unshifted=True, blocks=made.blocks)
    assert not isinstance(fixed, str), fixed
    shaped = [part.value.reshape(1, made.frames, HEADS, head) for part in parts]
    value = reference(fixed.workload, shaped, fixed.constants).reshape(made.frames, width)
    return dense(made, Both(y, value), width)


def convolved(made: Layers, x: Both, columns: int, stride: int) -> Both:
    """Three taps with GELU: [1, deep, frames] in the model, rows of frames in bfloat16."""
    frames, deep = x.value.shape
    weight = made.drawn((TAPS * deep) ** -0.5, columns, deep, TAPS)
    bias = made.drawn(0.3, columns)
    constants = made.const(weight), made.const(bias)
    name = made.node("Conv", [x.name, *constants], pads=[1, 1], strides=[stride])
    wide = np.pad(x.value, ((1, 1), (0, 0)))
    taps = [wide[tap : tap + frames : stride] for tap in range(TAPS)]
    matrix = weight.transpose(2, 1, 0).reshape(-1, columns)
    return gelu(made, Both(name, made.multiplied(bias, np.concatenate(taps, axis=1), matrix)))


def encoder(made: Layers, spectrogram: np.ndarray, layers: int, sizes: tuple[int, int]) -> Both:
    """All of it, of a spectrogram [bands, frames]."""
    width, inner = sizes
    x = convolved(made, Both("x", to_bfloat16(spectrogram.T)), width, 1)
    x = convolved(made, x, width, 2)
    rows = made.const(np.array([width, made.frames]))
    name = made.node("Transpose", [made.node("Reshape", [x.name, rows])], perm=[1, 0])
    places = made.drawn(0.5, made.frames, width)
    x = added(made, Both(name, x.value), Both(made.const(places), to_bfloat16(places)))
    for _ in range(layers):
        x = added(made, x, attended(made, norm(made, x)))
        between = gelu(made, dense(made, norm(made, x), inner))
        x = added(made, x, dense(made, between, width))
    return norm(made, x)


def real(made: Layers, spectrogram: np.ndarray, y: Both) -> np.ndarray:
    """What onnxruntime makes of it in float32."""
    import onnxruntime  # heavy, and wanted here only

    given = helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, *spectrogram.shape])
    gives = helper.make_tensor_value_info(y.name, TensorProto.FLOAT, y.value.shape)
    graph = helper.make_graph(made.nodes, "whisper", [given], [gives], made.constants)
    opset = helper.make_opsetid("", 17)
    model = helper.make_model(graph, opset_imports=[opset], ir_version=9)
    session = onnxruntime.InferenceSession(
        model.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    return np.asarray(session.run(None, {"x": spectrogram[None]})[0])


def distance(
    case: str,
    layers: int = LAYERS,
    frames: int = FRAMES,
    sizes: tuple[int, int] = (WIDTH, INNER),
    *,
    blocks: bool = False,
) -> list[dict[str, object]]:
    """Rows of the encoder's distance from float32.

    Args:
        case: of the rows.
        layers: how many.
        frames: behind the second convolution.
        sizes: of an activation, and between two dense layers.
        blocks: whether products of dense layers and attention are of block floating point.
    """
    made = Layers(frames, blocks=blocks)
    spectrogram = made.drawn(1.0, BANDS, frames * (SPECTRA // FRAMES))
    y = encoder(made, spectrogram, layers, sizes)
    wanted = real(made, spectrogram, y)
    apart = np.abs(y.value - wanted)
    how = ", their products of blocks of floating point," if blocks else ""
    note = f"all layers in bfloat16{how} one after the other, beside onnxruntime in float32"
    found = {
        "mean_difference": apart.mean(),
        "largest_difference": apart.max(),
        "deviation": wanted.std(),
        "correlation": np.corrcoef(y.value.ravel(), wanted.ravel())[0, 1],
    }
    return [figure(case, name, float(value), "", "measured", note) for name, value in found.items()]


def main() -> None:
    """Print the rows, and write them."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    found = distance("whisper_base_npu1_bf16")
    found += distance("whisper_base_npu2_bfp16", blocks=True)
    report([machine_row(), *found], options.json)


if __name__ == "__main__":
    main()
