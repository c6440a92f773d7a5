"""Random dense layers whose operands go by, small enough to be emulated."""

from dataclasses import replace

import numpy as np

from match_aie.errors import Infeasible, TargetError
from match_aie.targets.aie_ml import device
from match_aie.targets.aie_ml.array.layer import ArrayMapping
from match_aie.targets.aie_ml.array.local import plan_local
from match_aie.targets.aie_ml.array.shapes import blocks, native_tilings
from match_aie.targets.aie_ml.graph.constants import Numbers
from match_aie.targets.aie_ml.graph.dense_plan import dense_layer
from match_aie.targets.aie_ml.graph.timed import Timed
from match_aie.targets.aie_ml.graph.timed_graph import TimedGraph
from match_aie.targets.aie_ml.kernels.arithmetic import in_fixed_point
from match_aie.targets.versal.executing import wide_weights
from match_aie.workload import Quantized, RealTail, dense, full_range, real_dense

VEK280, NPU1 = device("vek280"), device("npu1")
WIDE = (("int32", "int16"), ("int16", "int32"), ("int32", "int32"))
BF16 = ("bfloat16", "bfloat16")
PAIRS = (("int8", "int8"), ("uint8", "int8"), ("int16", "int8"), ("int16", "int16"))


def region(columns, rows):
    """A rectangle of the array, as plans take it."""
    return replace(VEK280, columns=columns, core_rows=rows, shim_noc_columns=None)


def float_layer(rng, rows, reduction, columns, *, relu=True, bias=True):
    """A float32 layer in bfloat16 and its constants."""
    tail = RealTail("relu" if relu else "identity")
    workload = real_dense(rows=rows, inputs=reduction, outputs=columns, bias=bias, tail=tail)
    constants = {"weight": rng.standard_normal((columns, reduction)).astype(np.float32)}
    if bias:
        constants["bias"] = rng.standard_normal(columns).astype(np.float32)
    fixed = in_fixed_point(workload, constants)
    return fixed.workload, fixed.constants


def sums_layer(rng, rows, reduction, columns, pair):
    """A layer of wide integers whose sums are its results, and its constants."""
    a, w = pair
    workload = dense(
        Quantized(a, 1.0), Quantized("int32", 1.0), rows=rows, inputs=reduction, outputs=columns,
        weight_dtype=w, scales=0,
    )  # fmt: skip
    constants = {
        "weight": wide_weights(a, w, (columns, reduction), rng),
        "bias": rng.integers(-(2**24), 2**24, columns).astype(np.int32),
    }
    fixed = in_fixed_point(workload, constants)
    assert not isinstance(fixed, str), fixed
    return fixed.workload, fixed.constants


def layer(rng, rows, reduction, columns, pair=("int8", "int8"), form="shift", zero=0, gain=1.0):
    """A workload in fixed point and its constants; `gain` makes results larger."""
    a, w = pair
    if pair in WIDE:
        return sums_layer(rng, rows, reduction, columns, pair)
    if pair == BF16:
        return float_layer(rng, rows, reduction, columns, relu=form == "shift")
    out = "int16" if a == "int16" else a
    tail = full_range(out, zero)
    many = columns if form == "channel" else 1
    workload = dense(
        Quantized(a, 2.0**-4, zero),
        Quantized(out, 2.0**-3, zero),
        rows=rows,
        inputs=reduction,
        outputs=columns,
        weight_dtype=w,
        tail=tail,
        scales=many,
    )
    info = np.iinfo(w)
    # Sums of 16-bit operands must fit 32 bits.
    least, most = (info.min, info.max) if w == "int8" else (-300, 300)
    spread = 2.0 ** round(np.log2(np.sqrt(reduction) * most * (1000 if a == "int16" else 3)))
    scale = np.full(many, gain * (2.0**4 if a == "int16" else 1.0) / spread, np.float32)
    if form == "channel":
        scale = (scale * rng.uniform(0.5, 1.5, many)).astype(np.float32)
    constants = {
        "weight": rng.integers(least, most + 1, (columns, reduction)).astype(w),
        "bias": rng.integers(-2000, 2000, columns).astype(np.int32),
        "scale": scale,
    }
    fixed = in_fixed_point(workload, constants)
    return None if isinstance(fixed, str) else (fixed.workload, fixed.constants)


def timed_graph(name, made, rows, parts, calls, turns, *, home="chip", order="m", **more):
    """The graph of a mapping that the caller gives, or None where there is none.

    Args:
        name: of the graph.
        made: workload and constants.
        rows: of a pass.
        parts: of the reduction, of the columns, of the rows.
        calls: tiles of rows and of columns of a call.
        turns: of the reduction.
        home: of the weights.
        order: of the chains.
        more: what `Timed` says beside; two ways for the weights of a column where nothing else.
    """
    workload, constants = made
    whole = dense_layer(workload)
    (tiling,) = native_tilings(whole, VEK280)
    size = calls[0] * tiling.m, calls[1] * tiling.n
    high = min(VEK280.core_rows, 4 * min(parts[0], 2))
    slots = -(-parts[1] * parts[2] // high)
    array = region(slots * parts[0], high)
    if more.get("direct"):  # only where a text says what is counted
        array = replace(array, dispatch_us=NPU1.dispatch_us)
    try:
        mapping = ArrayMapping(
            replace(whole, rows=rows), tiling, (1, 1), "overlapped", *parts, *size,
            order=order, home=home, reduction_steps=turns,
        )  # fmt: skip
        mapping = replace(mapping, block=blocks(mapping)[0])
    except TargetError:
        return None
    if home == "tile" and mapping.column_steps > 1:
        return None
    if isinstance(plan_local(mapping, array), Infeasible):
        return None
    timed = Timed(mapping, array, whole.rows, **{"feeds": 2, **more})
    if not timed.fits:
        return None
    return TimedGraph(name, timed, Numbers(timed, workload, constants))


def random_graph(name, rng, pairs=PAIRS):
    """A random layer and mapping: workload, constants and `TimedGraph`; None where none."""
    pick = lambda *values: values[int(rng.integers(len(values)))]  # noqa: E731
    rows = pick(1, 3, 5, 8, 13, 17, 31, 33)
    sizes = pick(16, 17, 40, 63, 97, 128), pick(8, 9, 31, 47, 64, 101)
    pair = pick(*pairs)
    zero = pick(0, 3) if pair[0] in ("int8", "uint8") else 0
    made = layer(rng, rows, *sizes, pair, pick("shift", "channel"), zero)
    if made is None:
        return None
    graph = timed_graph(
        name,
        made,
        pick(rows, -(-rows // 2), -(-rows // 3)),
        (pick(1, 2, 3), pick(1, 2, 3), pick(1, 2)),
        (pick(1, 2, 4), pick(1, 2, 4)),
        pick(1, 2, 3, 4),
        home=pick("chip", "chip", "tile"),
        order=pick("m", "n"),
        feeds=pick(1, 2, 3),
    )
    return None if graph is None else (*made, graph)
