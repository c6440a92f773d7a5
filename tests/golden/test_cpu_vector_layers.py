"""The exact text of the vector templates, one case for each way of summing products."""

from dataclasses import replace
from pathlib import Path

import pytest
from vector_harness import filtered, layer, small_cache

from match_aie import templates
from match_aie.codegen.layer import render_layer
from match_aie.lowering import LayerProgram
from match_aie.targets.cpu.machine import machine
from match_aie.workload import (
    Quantized,
    Tail,
    Window,
    conv2d,
    dense,
    elementwise,
    full_range,
    matmul,
    pool2d,
    quantised_norm,
    rowwise,
    table,
    with_sum,
)

X, Y = Quantized("uint8", 0.02, 128), Quantized("int8", 0.05, -3)
SUM = Quantized("int32")
TAIL, RELU = full_range("int8", -3), Tail(-3, -3, 127)
SAME = Window(padding=(1, 1, 1, 1))
IMAGE = (1, 5, 4, 6)
CONV = conv2d(X, Y, shape=IMAGE, weight_shape=(4, 3, 3, 6), window=SAME, tail=RELU, scales=4)
DENSE = dense(X, Y, rows=3, inputs=5, outputs=40, tail=TAIL, scales=40)
TWICE = with_sum(
    with_sum(DENSE, X, Y, tail=TAIL, per_channel=True), Y, X, tail=full_range("uint8", 128)
)
STRIDED = Window((2, 2), (1, 1), (0, 0, 1, 1))

#: name -> (machine, workload)
CASES = {
    "conv2d_madd": ("x86-64-v3", CONV),
    "conv2d_dpbusd": ("x86-64-v4+avx512vnni", CONV),
    "conv2d_sdot": ("aarch64", CONV),
    "conv2d_plain": ("rv64gcv", CONV),
    "conv2d_grouped": (
        "x86-64-v3",
        conv2d(Y, SUM, shape=IMAGE, weight_shape=(4, 2, 2, 3), groups=2,
               window=Window((2, 1), (2, 3), (1, 2, 1, 2))),
    ),
    "conv2d_tiled": (
        small_cache(machine("x86-64-v3"), 4000),
        conv2d(X, Y, shape=(1, 25, 8, 16), weight_shape=(24, 1, 1, 16), tail=TAIL, scales=1),
    ),
    "conv2d_added": ("x86-64-v4+avx512vnni", with_sum(CONV, X, Y, tail=RELU)),
    "dense_added_twice": ("x86-64-v3", TWICE),
    "depthwise": (
        "x86-64-v3",
        conv2d(X, Y, shape=IMAGE, weight_shape=(6, 3, 3, 1), groups=6, window=SAME, tail=TAIL,
               scales=1),
    ),
    "depthwise_bytes": (
        "x86-64-v4+avx512vnni",
        conv2d(X, Y, shape=IMAGE, weight_shape=(6, 3, 3, 1), groups=6, window=SAME, tail=RELU,
               scales=6),
    ),
    "depthwise_strided": (
        "aarch64",
        conv2d(X, Y, shape=IMAGE, weight_shape=(6, 3, 3, 1), groups=6, window=STRIDED, tail=TAIL,
               scales=1),
    ),
    "dense": ("x86-64-v3", dense(X, Y, rows=2, inputs=7, outputs=19, tail=TAIL, scales=19)),
    "dense_cores": (
        replace(machine("x86-64-v3"), cores=2),
        dense(X, Y, rows=1, inputs=640, outputs=256, tail=TAIL, scales=1),
    ),
    "conv2d_cores": (
        replace(machine("x86-64-v3"), cores=3),
        conv2d(X, Y, shape=(1, 32, 31, 16), weight_shape=(16, 3, 3, 16), window=SAME, tail=RELU,
               scales=16),
    ),
    "add_cores": (
        replace(machine("x86-64-v3"), cores=2),
        elementwise("add", X, Y, Y, shape=(1, 32, 32, 17), shape1=(1, 32, 32, 17),
                    out=(1, 32, 32, 17), tail=TAIL),
    ),
    "max_pool2d": (
        "x86-64-v3",
        pool2d("max_pool2d", X, X, shape=(1, 5, 4, 17), filter_shape=(3, 3), window=STRIDED,
               tail=full_range("uint8", 128)),
    ),
    "avg_pool2d": (
        "x86-64-v3",
        pool2d("avg_pool2d", X, Y, shape=(1, 5, 4, 16), filter_shape=(3, 3), window=SAME,
               tail=TAIL),
    ),
    "global_avg_pool2d_cores": (
        replace(machine("aarch64"), cores=2),
        pool2d("avg_pool2d", X, Y, shape=(8, 15, 14, 64), filter_shape=(15, 14), tail=TAIL),
    ),
    "softmax": ("x86-64-v3", rowwise("softmax", X, Y, rows=2, columns=19, tail=TAIL)),
    "layer_norm": (
        "x86-64-v3",
        quantised_norm(X, Y, rows=9, columns=70, epsilon=1e-5, tail=TAIL, kind="layer_norm"),
    ),
    "rms_norm_cores": (
        replace(machine("aarch64"), cores=2),
        quantised_norm(Y, Y, rows=64, columns=512, epsilon=1e-5, tail=RELU, kind="rms_norm"),
    ),
    "add": (
        "x86-64-v3",
        elementwise("add", X, Y, Y, shape=(1, 1, 3, 17), shape1=(1, 1, 3, 17),
                    out=(1, 1, 3, 17), tail=TAIL),
    ),
    "table": ("x86-64-v3", table(X, Y, elements=99)),
    "matmul": ("x86-64-v3", matmul(X, Y, Y, batch=2, rows=3, inner=5, columns=18, tail=TAIL)),
    "mul_broadcast": (
        "x86-64-v3",
        elementwise("mul", X, Y, Y, shape=(1, 5, 4, 18), shape1=(1, 1, 1, 18), out=(1, 5, 4, 18),
                    tail=TAIL),
    ),
}  # fmt: skip

FILTERED = conv2d(X, Y, shape=(1, 9, 8, 17), weight_shape=(20, 3, 3, 17), window=SAME, tail=RELU,
                  scales=20)  # fmt: skip
WIDE = conv2d(
    X, Y, shape=(1, 6, 3, 32), weight_shape=(64, 3, 3, 32), window=SAME, tail=TAIL, scales=1
)
#: Minimal filtering: name -> (machine, workload, which of its two ways).
CASES_FILTERED = {
    "conv2d_winograd2": ("x86-64-v3", FILTERED, 0),
    "conv2d_winograd4_added": ("x86-64-v4", with_sum(WIDE, X, Y, tail=RELU), 1),
    "conv2d_winograd4_cores": (replace(machine("aarch64"), cores=2), FILTERED, 1),
}


@pytest.mark.parametrize("name", [*CASES, *CASES_FILTERED])
def test_text(name, golden):
    if name in CASES_FILTERED:
        facts, workload, way = CASES_FILTERED[name]
        made = filtered(workload, facts)[way]
    else:
        facts, workload = CASES[name]
        made = layer(workload, facts)
    program = LayerProgram(
        f"net_{name}", made.module.name, "test", made.module.template(workload), workload,
        made.mapping, None, (),
    )  # fmt: skip
    golden(f"cpu_int8_{name}.c", render_layer(program, made.module))


def test_every_template_has_a_case():
    folder = Path(templates.__file__).parent
    every = {str(path.relative_to(folder)) for path in folder.glob("cpu/int8/*.c.mako")}
    made = [layer(workload, facts) for facts, workload in CASES.values()]
    made += [filtered(w, facts)[way] for facts, w, way in CASES_FILTERED.values()]
    assert {m.module.template(m.workload) for m in made} == every
