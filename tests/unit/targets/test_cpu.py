"""What the CPU module takes, what it refuses and why, and how it packs."""

import numpy as np
import pytest

from match_aie.hardware import CoreCost, Mapping, load_target
from match_aie.targets.cpu import CPU, CPUModule
from match_aie.targets.cpu.patterns import PATTERNS, refuses
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
)

X = Quantized("int8", 0.5, 3)
TAIL = full_range("int8", 3)
IMAGE = (1, 4, 4, 3)
MODULE = CPUModule()


def pool(x=X, y=X, tail=TAIL, window=Window()):
    return pool2d("avg_pool2d", x, y, shape=IMAGE, filter_shape=(2, 2), window=window, tail=tail)


def sum_of(terms, weight_dtype="int8"):
    return dense(X, Quantized("int32"), rows=1, inputs=terms, outputs=1, weight_dtype=weight_dtype)


def test_the_target_is_installed_under_its_name():
    target = load_target("cpu")
    assert isinstance(target, CPU)
    names = [module.name for module in CPU("x86-64-v3").modules()]
    assert names[:3] == ["cpu", "cpu_untiled", "cpu_vector"]
    assert names[-2:] == ["cpu_float", "cpu_rows"]
    assert [module.name for module in CPU("portable").modules()] == ["cpu"]


def test_a_core_that_is_given_says_what_layers_take():
    core = CoreCost(per_mac=3.0, per_step=0.0, overhead=50.0)
    layer = sum_of(7)
    assert CPUModule(core).cost_model(layer).cost(layer, Mapping((), ())).cycles == 50.0 + 3.0 * 7
    free = pool()
    assert CPUModule(core).cost_model(free).cost(free, Mapping((), ())).cycles == 50.0
    assert MODULE.cost_model(layer).cost(layer, Mapping((), ())).cycles > 200.0


def test_pattern_names_are_distinct_and_the_longer_form_comes_first():
    names = [p.name for p in PATTERNS]
    assert len(set(names)) == len(names)
    structures = [p.structure for p in PATTERNS]
    for place, structure in enumerate(structures):
        if structure.operator == "clip":
            assert structure.inputs[0] in structures[place + 1 :]
    assert names.index("conv2d_bias_clip") < names.index("conv2d_bias") < names.index("conv2d")


@pytest.mark.parametrize(
    ("workload", "reason"),
    [
        (dense(Quantized("float32"), X, rows=1, inputs=2, outputs=2), "x is float32"),
        (dense(X, Quantized("int16", 1.0), rows=1, inputs=2, outputs=2), "y is int16"),
        (dense(X, Quantized("float32"), rows=1, inputs=2, outputs=2), "y is float32"),
        (sum_of(2, "uint8"), "weight is uint8; this layer takes int8 or int16"),
        (pool(x=Quantized("int8")), "x is quantised per channel"),
        (pool(tail=Tail(3, -128, 127, "half_away"), y=Quantized("int8", 0.25, 3)), "one quant"),
        (pool(window=Window(dilation=(1, 3), padding=(0, 2, 0, 2))), None),
        (pool(window=Window(padding=(2, 0, 0, 0))), "entirely in the padding"),
        (pool(window=Window(dilation=(5, 1), padding=(3, 0, 4, 0))), "entirely in the padding"),
        (
            rowwise("softmax", X, X, rows=1, columns=3, tail=full_range("int8", 3, "half_away")),
            "average pooling only",
        ),
        (rowwise("quantize", Quantized("float32"), Quantized("int32", 1.0), rows=1, columns=1,
                 tail=TAIL), "y is int32"),
        (rowwise("dequantize", Quantized("int32", 1.0), Quantized("float32"), rows=1, columns=1,
                 tail=None), None),
        (sum_of(65793), None),
        (sum_of(65794), "int32 range"),
        (sum_of(33026, "int16"), "int32 range"),
        (matmul(X, X, Quantized("int32"), batch=1, rows=1, inner=33025, columns=1), None),
        (matmul(X, X, Quantized("int32"), batch=1, rows=1, inner=33026, columns=1), "int32"),
        (elementwise("add", X, X, X, shape=(1, 1, 1, 1), shape1=(1, 1, 1, 1), out=(1, 1, 1, 1),
                     tail=TAIL), None),
        (rowwise("dequantize", X, Quantized("float32"), rows=2**16, columns=2**15, tail=None),
         "int32 index"),
    ],
)  # fmt: skip
def test_refusals_say_why(workload, reason):
    got = refuses(workload)
    assert (got is None) if reason is None else (got is not None and reason in got)


def test_depthwise_weights_are_packed_channels_last():
    w = conv2d(X, X, shape=(1, 4, 4, 5), weight_shape=(5, 2, 3, 1), groups=5, tail=TAIL, scales=1)
    weight = np.arange(30, dtype=np.int8).reshape(5, 2, 3, 1)
    packed = MODULE.pack(w, {"weight": weight, "bias": np.zeros(5, np.int32)})
    assert packed["weight"].shape == (2, 3, 5)
    assert packed["weight"][1, 2, 4] == weight[4, 1, 2, 0]
    assert packed["weight"].flags.c_contiguous
    assert list(packed) == ["weight", "bias"]


def test_other_constants_stay():
    w = conv2d(X, X, shape=IMAGE, weight_shape=(6, 2, 2, 1), groups=3, tail=TAIL, scales=1)
    constants = {"weight": np.zeros((6, 2, 2, 1), np.int8)}
    assert MODULE.pack(w, constants) is constants


def test_in_place_only_where_elements_meet():
    out = {"out": IMAGE, "tail": TAIL}
    same = elementwise("add", X, X, X, shape=IMAGE, shape1=IMAGE, **out)
    wide = elementwise("mul", X, X, X, shape=(1, 1, 1, 3), shape1=IMAGE, **out)
    assert MODULE.in_place(same) == ("x", "x1")
    assert MODULE.in_place(wide) == ("x1",)
    assert MODULE.in_place(pool()) == ()
    narrow = rowwise("quantize", Quantized("float32"), X, rows=1, columns=4, tail=TAIL)
    assert MODULE.in_place(narrow) == ()


@pytest.mark.parametrize("arch", ["native", "portable", "x86-64-v3", "rv64gcv"])
def test_the_options_make_the_same_target_anywhere(arch):
    made = CPU(arch)
    again = CPU(**made.options())
    assert again.machine == made.machine
    assert made.options()["arch"] != "native"
    assert CPU(arch, cache_bytes=[1024]).machine.caches[0].bytes == 1024
