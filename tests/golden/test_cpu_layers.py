"""The exact text of each CPU template; the same files are compiled and run."""

import ctypes
from pathlib import Path

import numpy as np
import pytest
from layer_harness import COMPILERS, MODULE, Case, build, entry, layer, run
from workload_cases import arrays

from match_aie import templates
from match_aie.codegen.layer import render_layer
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
    rowwise,
    table,
    with_fixed_tail,
)

EXPECTED = Path(__file__).parent / "expected"
X, Y = Quantized("uint8", 0.02, 128), Quantized("int8", 0.05, -3)
FLOAT, SUM = Quantized("float32"), Quantized("int32")
TAIL, RELU = full_range("int8", -3), Tail(-3, -3, 127)
SAME = Window(padding=(1, 1, 1, 1))
IMAGE = (1, 5, 4, 6)

CASES = {
    "conv2d": conv2d(
        X, Y, shape=IMAGE, weight_shape=(4, 3, 3, 6), window=SAME, tail=RELU, scales=4
    ),
    "conv2d_grouped": conv2d(
        Y,
        SUM,
        shape=IMAGE,
        weight_shape=(4, 2, 2, 3),
        groups=2,
        window=Window((2, 1), (2, 3), (1, 2, 1, 2)),
    ),
    "depthwise": conv2d(
        X, Y, shape=IMAGE, weight_shape=(6, 3, 3, 1), groups=6, window=SAME, tail=TAIL, scales=1
    ),
    "dense": dense(X, Y, rows=2, inputs=7, outputs=3, tail=TAIL, scales=3),
    "matmul": matmul(X, Y, Y, batch=2, rows=3, inner=4, columns=66, tail=TAIL),
    "add": elementwise("add", X, Y, Y, shape=IMAGE, shape1=IMAGE, out=IMAGE, tail=RELU),
    "mul_broadcast": elementwise(
        "mul", X, Y, Y, shape=IMAGE, shape1=(1, 1, 1, 6), out=IMAGE, tail=TAIL
    ),
    "avg_pool2d": pool2d(
        "avg_pool2d", X, Y, shape=IMAGE, filter_shape=(2, 2), window=SAME, tail=TAIL
    ),
    "global_avg_pool2d": pool2d(
        "avg_pool2d", X, Y, shape=IMAGE, filter_shape=(5, 4), tail=TAIL
    ),
    "avg_pool2d_half_away": pool2d(
        "avg_pool2d",
        Y,
        Y,
        shape=IMAGE,
        filter_shape=(5, 4),
        tail=full_range("int8", -3, "half_away"),
    ),
    "max_pool2d": pool2d(
        "max_pool2d", X, X, shape=IMAGE, filter_shape=(2, 2), window=Window((2, 2)),
        tail=full_range("uint8", 128),
    ),
    "softmax": rowwise("softmax", X, Y, rows=2, columns=10, tail=TAIL),
    "conv2d_fixed_point": with_fixed_tail(
        conv2d(X, Y, shape=IMAGE, weight_shape=(4, 3, 3, 6), window=SAME),
        Tail(-3, -128, 127, "half_even", 12),
        multiplier=4,
    ),
    "add_fixed_point": with_fixed_tail(
        elementwise("add", X, Y, Y, shape=IMAGE, shape1=IMAGE, out=IMAGE, tail=RELU),
        Tail(0, -128, 127, "floor", 9),
        multiplier=2,
        offset=6,
        raw=True,
    ),
    "table": table(Y, X, elements=20),
    "quantize": rowwise("quantize", FLOAT, Y, rows=2, columns=10, tail=TAIL),
    "dequantize": rowwise("dequantize", X, FLOAT, rows=2, columns=10, tail=None),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_text(name, golden):
    golden(f"cpu_{name}.c", render_layer(layer(CASES[name], f"net_{name}"), MODULE))


def test_every_template_has_a_case():
    folder = Path(templates.__file__).parent
    every = {str(path.relative_to(folder)) for path in folder.glob("cpu/*.c.mako")}
    assert {MODULE.template(w) for w in CASES.values()} == every


@pytest.mark.skipif(not COMPILERS, reason="no gcc and no clang")
@pytest.mark.parametrize("compiler", COMPILERS)
def test_expected_text_runs(compiler, tmp_path):
    parts = ["#include <math.h>\n#include <stdint.h>\n"]
    for name, workload in CASES.items():
        parts += [(EXPECTED / f"cpu_{name}.c").read_text(), entry(workload, f"net_{name}")]
    library = ctypes.CDLL(build("\n".join(parts), tmp_path, compiler))
    for seed, (name, workload) in enumerate(CASES.items()):
        case = Case(workload, *arrays(workload, seed))
        np.testing.assert_array_equal(run(library[f"run_net_{name}"], case), case.expected(), name)
