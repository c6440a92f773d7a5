"""Small dense layers that share a configuration of an array."""

from dataclasses import replace

import numpy as np

from match_aie.errors import Infeasible
from match_aie.targets.aie_ml.array.check import check
from match_aie.targets.aie_ml.array.layer import ArrayMapping, DenseLayer
from match_aie.targets.aie_ml.array.layout import lay_out
from match_aie.targets.aie_ml.graph.overlay import Overlaid, Overlay, OverlayPlan
from match_aie.targets.aie_ml.kernels.arithmetic import in_fixed_point
from match_aie.targets.aie_ml.known import device
from match_aie.targets.xdna.direct import direct
from match_aie.workload import Quantized, RealTail, dense, full_range, real_dense

NPU1 = device("npu1")


def small() -> Overlay:
    """Calls of 8 x 16 x 16, 4 blocks a pass, 2 calls along the columns, on 16 tiles."""
    tiling = NPU1.architecture.core.tilings_of("int8", "int8")[0]
    layer = DenseLayer(128, 64, 64, relu=False, requantise="channel", resident=False, shared=True)
    mapping = ArrayMapping(
        layer,
        tiling,
        (2, 2),
        "flat",
        2,
        2,
        4,
        8,
        16,
        home="chip",
        reduction_steps=2,
    )
    return Overlay(mapping, 16, 8, 2, 2)


def small_apart() -> Overlay:
    """Calls of 8 x 16 x 16 on 8 tiles without a cascade, whose first turn is as those behind it."""
    base = small()
    mapping = replace(base.mapping, cas_length=1, column_parts=2, row_parts=4)
    return Overlay(mapping, 16, 16, 2, 4, feeds=2, spread=True, primed=True)


def small_single() -> Overlay:
    """The same, whose last turn requantises single tiles; the first has a kernel of its own."""
    base = small_apart()
    return replace(base, mapping=replace(base.mapping, last_block=(1, 1)), primed=False)


def small_halved() -> Overlay:
    """The same tiles; numbers by column come in halves, multipliers of 16 bits among them."""
    base = small_apart()
    layer = replace(base.mapping.layer, requantise="narrow_channel")
    mapping = replace(base.mapping, layer=layer, last_block=(1, 1))
    return replace(base, mapping=mapping, halved=True)


def small_floats() -> Overlay:
    """The same calls and blocks in bfloat16."""
    tiling = NPU1.architecture.core.tilings_of("bfloat16", "bfloat16")[0]
    layer = DenseLayer(
        *(128, 64, 64, "bfloat16", "bfloat16", "bfloat16"), relu=False, resident=False, shared=True
    )
    return replace(small(), mapping=replace(small().mapping, layer=layer, tiling=tiling))


def floats_of(rows, reduction, columns):
    """A dense layer of floats, multiplied in bfloat16."""
    rng = np.random.default_rng(rows + reduction)
    workload = real_dense(
        rows=rows, inputs=reduction, outputs=columns, bias=True, tail=RealTail("identity")
    )
    constants = {
        "weight": (rng.standard_normal((columns, reduction)) / 8).astype(np.float32),
        "bias": rng.standard_normal(columns).astype(np.float32),
    }
    made = in_fixed_point(workload, constants)
    assert not isinstance(made, str), made
    return made


def layer_of(rows, reduction, columns, *, narrow=False, **options):
    """A dense layer in fixed point."""
    made = in_fixed_point(*real_of(rows, reduction, columns, **options), narrow=narrow)
    assert not isinstance(made, str), made
    return made


def real_of(rows, reduction, columns, *, lowest=-128, zero=-5):
    """A dense layer with scales by column and a lowest result, and its constants."""
    rng = np.random.default_rng(rows + reduction)
    workload = dense(
        Quantized("int8", 2.0**-4, 3),
        Quantized("int8", 2.0**-3, zero),
        rows=rows,
        inputs=reduction,
        outputs=columns,
        weight_dtype="int8",
        tail=replace(full_range("int8", zero), lo=lowest),
        scales=columns,
    )
    constants = {
        "weight": rng.integers(-127, 128, (columns, reduction)).astype(np.int8),
        "bias": rng.integers(-2000, 2000, columns).astype(np.int32),
        "scale": (2.0**-11 * rng.uniform(0.5, 1.5, columns)).astype(np.float32),
    }
    return workload, constants


def program_of(shared, rows, reduction, array=NPU1, **options):
    """A layer's program, found to keep all rules; the layer."""
    narrow = shared.mapping.layer.requantise == "narrow_channel"
    made = layer_of(rows, reduction, shared.columns, narrow=narrow, **options)
    return program_by(shared, made, array)


def program_by(shared, made, array=NPU1):
    """Likewise of a layer in fixed point."""
    timed = shared.timed(made.workload, "npu1")
    assert isinstance(timed, Overlaid), timed
    plan = OverlayPlan(timed)
    graph = plan.graph("layer", made.workload, made.constants)
    graph = direct(graph, None, array, narrow=bool(made.workload.rounded))
    program = lay_out(graph, array)
    assert not isinstance(program, Infeasible), program
    check(program, array)
    return program, made, plan
