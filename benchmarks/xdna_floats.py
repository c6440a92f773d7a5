"""Layers of Whisper-base's whole encoder in bfloat16 on Ryzen AI arrays.

Sizes, plans, execution and simulation are those of `xdna_whisper.py`; weights are seeded. Tensors
lie in the chip's memory as bfloat16 between layers. Attention's keys and values go by as well.
Dense layers have the fastest program of each shape, or share one configuration of the array
(`xdna_overlay.py`). `xdna_strategies.py` adds everything up.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from xdna_encoder import FRAMES, INNER, LAYERS, WIDTH, floats
from xdna_overlay import SIZES, SPECTRA
from xdna_whisper import HEADS, PARTS, Kind, dense_kind

from match_aie.targets.aie_ml.graph.overlay import Overlay
from match_aie.targets.aie_ml.kernels.arithmetic import in_fixed_point
from match_aie.workload import Converted, Workload, function, real_pair
from match_aie.workload.real import attention, layer_norm

#: Bytes of an element in the chip's memory, and of one that the processor computes with.
NARROW, WIDE = 2, 4


def _plain(workload: Workload) -> Converted | str:
    return in_fixed_point(workload, {})


def _attention() -> Converted | str:
    """All heads of a layer; queries are a root of 64 smaller."""
    head = WIDTH // HEADS
    return _plain(
        attention(
            batch=1,
            heads=HEADS,
            queries=FRAMES,
            keys=FRAMES,
            size=head,
            value_size=head,
            factor=head**-0.5,
        )
    )


def _norm(runs: int) -> Converted | str:
    rng = np.random.default_rng(1)
    workload = layer_norm(rows=FRAMES // runs, columns=WIDTH, epsilon=1e-5)
    numbers = rng.uniform(0.5, 1.5, WIDTH), rng.standard_normal(WIDTH)
    both = (values.astype(np.float32) for values in numbers)
    return in_fixed_point(workload, dict(zip(("weight", "bias"), both, strict=True)))


def _sum(runs: int) -> Converted | str:
    return _plain(real_pair("add", elements=FRAMES * WIDTH // runs))


def _gelu(elements: int) -> Callable[[int], Converted | str]:
    return lambda runs: _plain(function("gelu", elements=elements // runs))


def kinds(shared: Overlay | None = None) -> tuple[Kind, ...]:
    """All layers of the encoder, dense ones as an overlay runs them, or each shape by its own best.

    The processor brings a convolution's windows together.
    """
    tensor = FRAMES * WIDTH
    return (
        _dense("convolution 1", shared, gathered=True),
        Kind("GELU 1", 1, _gelu(SPECTRA * WIDTH), runs=PARTS),
        _dense("convolution 2", shared, gathered=True),
        Kind("GELU 2", 1, _gelu(tensor), runs=PARTS),
        Kind("sum", 1 + 2 * LAYERS, _sum, runs=PARTS),
        Kind("norm", 1 + 2 * LAYERS, _norm, runs=PARTS),
        _dense("dense, into heads", shared),
        Kind("attention", LAYERS, lambda _: _attention()),
        _dense("dense, of heads", shared),
        replace(_dense("dense, wide", shared), wide=INNER),
        Kind("GELU", LAYERS, _gelu(FRAMES * INNER), runs=PARTS),
        _dense("dense, back", shared),
    )


def _dense(name: str, shared: Overlay | None, *, gathered: bool = False) -> Kind:
    """A dense layer; runs of one are for as many columns as the model is wide."""
    if shared is not None:
        return dense_kind(name, shared, gathered=gathered)
    size = SIZES[name.removeprefix("dense, ").replace(" ", "_")]
    return Kind(
        name,
        size.many,
        lambda _: floats(size.reduction, WIDTH, size.rows),
        NARROW * size.rows * size.reduction if gathered else 0,
        runs=(size.runs,),
    )


def network(name: str, rows: int, columns: int) -> onnx.ModelProto:
    """A layer of rows alone, float32 in and out."""
    constants: list[onnx.TensorProto] = []

    def const(value: np.ndarray) -> str:
        constants.append(numpy_helper.from_array(value.astype(np.float32), f"c{len(constants)}"))
        return constants[-1].name

    inputs, node = ["x", "x1"] if name == "sum" else ["x"], helper.make_node
    if name == "sum":
        nodes = [node("Add", inputs, ["y"])]
    elif name == "norm":
        numbers = const(np.ones(columns)), const(np.zeros(columns))
        nodes = [node("LayerNormalization", ["x", *numbers], ["y"], axis=-1)]
    else:
        nodes = [
            node("Div", ["x", const(np.array(2.0**0.5))], ["a"]),
            node("Erf", ["a"], ["b"]),
            node("Add", ["b", const(np.array(1.0))], ["c"]),
            node("Mul", ["x", "c"], ["d"]),
            node("Mul", ["d", const(np.array(0.5))], ["y"]),
        ]
    shape = [rows, columns]
    given = [helper.make_tensor_value_info(each, TensorProto.FLOAT, shape) for each in inputs]
    made = [helper.make_tensor_value_info("y", TensorProto.FLOAT, shape)]
    graph = helper.make_graph(nodes, name.replace(" ", "_"), given, made, constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


def converting_bytes(name: str, rows: int, columns: int) -> int:
    """What the processor reads and writes beside a layer of rows: bfloat16 to floats and back."""
    tensors = 3 if name == "sum" else 2
    return tensors * rows * columns * (NARROW + WIDE)
