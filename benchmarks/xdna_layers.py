"""Layers of Whisper-base's whole encoder, for arrays of Ryzen AI processors.

Sizes are published ones, weights and scales seeded (`xdna_whisper.py` plans, executes and simulates
them). Dense layers are those of an overlay (`xdna_overlay.py`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from xdna_encoder import FRAMES, INNER, LAYERS, WIDTH
from xdna_overlay import SIZES, SPECTRA, made

from match_aie.targets.aie_ml.graph.overlay import Overlay
from match_aie.targets.aie_ml.kernels.arithmetic import in_fixed_point
from match_aie.targets.aie_ml.kernels.spec import BYTES
from match_aie.workload import (
    AttentionSizes,
    Converted,
    Quantized,
    elementwise,
    full_range,
    quantised_attention,
    quantised_norm,
    table,
)
from match_aie.workload.reference import softmax_table

HEADS = 8

#: Parts of the rows of a layer that are runs of one program.
PARTS = (6, 10, 12, 20)


@dataclass(frozen=True)
class Kind:
    """Layers of one shape.

    Attributes:
        name: for people.
        many: in the encoder.
        made: the layer, or one of so many equal parts of its rows, in the kernels' arithmetic.
        moved: bytes that the processor moves for each before it and behind it, beside `gathered`.
        runs: numbers of parts that are tried.
        heads: whether queries, values and results lie as rows of all heads.
        wide: columns of the result, of which a run makes some; 0 for all of them.
        shared: the overlay of a dense layer, whose sequence is called `sequence`.
        sequence: its name.
    """

    name: str
    many: int
    made: Callable[[int], Converted | str]
    moved: int = 0
    runs: tuple[int, ...] = (1,)
    heads: bool = False
    wide: int = 0
    shared: Overlay | None = None
    sequence: str = ""


def attention(scale: float, queries: int = FRAMES) -> Converted | str:
    """All heads of a layer; scores and results are requantised by shifts where `scale` is 1."""
    x, x1 = Quantized("int8", 2.0**-6 * scale, 0), Quantized("int8", 2.0**-6 * scale, 0)
    x2, y = Quantized("int8", 2.0**-6, 0), Quantized("int8", 2.0**-9, 0)
    scores, weights = Quantized("int8", 2.0**-4, 0), Quantized("int8", 2.0**-13, -128)
    head = WIDTH // HEADS
    sizes = AttentionSizes(HEADS, queries, FRAMES, head, head)
    layer = quantised_attention((x, x1, x2), (scores, weights), y, sizes, full_range("int8", 0))
    steps = [np.float32(q.scale) for q in (x, x1, scores, weights, x2, y)]
    # Queries are a root of 64 smaller in the model: 1/8, which is in the scale.
    constants = {
        "scores_scale": np.array([steps[0] * steps[1] / steps[2] / np.float32(8)], np.float32),
        "table": softmax_table(2.0**-4),
        "scale": np.array([steps[3] * steps[4] / steps[5]], np.float32),
    }
    return in_fixed_point(layer, constants)


def _norm(runs: int) -> Converted | str:
    rng = np.random.default_rng(1)
    workload = quantised_norm(
        Quantized("int8", 0.05, 3),
        Quantized("int8", 0.02, -5),
        rows=FRAMES // runs,
        columns=WIDTH,
        epsilon=1e-5,
        tail=full_range("int8", -5),
        kind="layer_norm",
    )
    numbers = rng.uniform(0.5, 1.5, WIDTH), rng.standard_normal(WIDTH)
    both = (values.astype(np.float32) for values in numbers)
    return in_fixed_point(workload, dict(zip(("weight", "bias"), both, strict=True)))


def _sum(runs: int) -> Converted | str:
    shape = 1, 1, FRAMES // runs, WIDTH
    x, x1, y = Quantized("int8", 0.05, 3), Quantized("int8", 0.02, -5), Quantized("int8", 0.06, 2)
    tail = full_range("int8", 2)
    workload = elementwise("add", x, x1, y, shape=shape, shape1=shape, out=shape, tail=tail)
    return in_fixed_point(workload, {})


def _gelu(elements: int) -> Converted | str:
    """A table of any values: which they are changes nothing."""
    entries = np.random.default_rng(2).integers(-128, 128, 256).astype(np.int8)
    made = table(Quantized("int8", 0.05, 3), Quantized("int8", 0.05, -5), elements=elements)
    return in_fixed_point(made, {"table": entries})


def kinds(scale: float, shared: Overlay) -> tuple[Kind, ...]:
    """All layers of the encoder, `scale` as of `attention`, dense ones as an overlay runs them."""
    tensor = FRAMES * WIDTH
    return (
        dense_kind("convolution 1", shared, gathered=True),
        Kind("GELU 1", 1, lambda runs: _gelu(SPECTRA * WIDTH // runs), runs=PARTS),
        dense_kind("convolution 2", shared, gathered=True),
        Kind("GELU 2", 1, lambda runs: _gelu(tensor // runs), runs=PARTS),
        Kind("sum", 1 + 2 * LAYERS, _sum, runs=PARTS),
        Kind("norm", 1 + 2 * LAYERS, _norm, runs=PARTS),
        dense_kind("dense, into heads", shared),
        Kind("attention", LAYERS, lambda _: attention(scale), tensor, heads=True),
        dense_kind("dense, of heads", shared),
        replace(dense_kind("dense, wide", shared), wide=INNER),
        Kind("GELU", LAYERS, lambda runs: _gelu(FRAMES * INNER // runs), runs=PARTS),
        dense_kind("dense, back", shared),
    )


def dense_kind(name: str, shared: Overlay, *, gathered: bool = False) -> Kind:
    """A dense layer; the processor brings together rows of a convolution's windows."""
    sequence = name.removeprefix("dense, ").replace(" ", "_")
    size = SIZES[sequence]
    rows, reduction = size.padded(shared)
    return Kind(
        name,
        size.many,
        lambda _: made(size, shared),
        rows * reduction * BYTES[shared.mapping.layer.a] if gathered else 0,
        runs=(size.runs,),
        shared=shared,
        sequence=sequence,
    )
