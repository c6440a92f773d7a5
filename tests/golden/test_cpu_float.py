"""The exact text of each float32 template; tests/cc/real compiles and runs what they write."""

import sys
from pathlib import Path

import pytest

from match_aie import templates
from match_aie.codegen.layer import render_layer
from match_aie.hardware import Cost, Loop, Mapping
from match_aie.lowering import LayerProgram
from match_aie.targets.cpu.machine import machine
from match_aie.workload import (
    RealTail,
    Window,
    attention,
    function,
    layer_norm,
    narrow,
    real_conv2d,
    real_dense,
    real_matmul,
    real_pair,
    real_pool2d,
    real_softmax,
    recurrent,
    rms_norm,
)

sys.path.append(str(Path(__file__).parents[1] / "cc" / "real"))
from real_harness import module_of

FACTS = machine("x86-64-v3")
SAME = Window(padding=(1, 1, 1, 1))
BLOCKS = Mapping((), (Loop("K", 2, 16), Loop("C", 2, 4), Loop("B", 2, 6)), 3)
CASES = {
    "dense": (real_dense(rows=7, inputs=6, outputs=17, bias=True, tail=RealTail("gelu")), BLOCKS),
    "dense_turned": (
        real_dense(
            rows=9, inputs=4, outputs=3, bias=True, residual=True, y_axes=("K", "B")
        ),
        Mapping((), ()),
    ),
    "matmul": (
        real_matmul(
            {"B": 1, "G": 2, "OY": 3, "C": 4, "K": 8},
            ("B", "OY", "G", "C"),
            ("B", "K", "G", "C"),
            ("B", "G", "OY", "K"),
            RealTail(factor=0.5),
        ),
        Mapping((), ()),
    ),
    "conv2d": (
        real_conv2d(
            shape=(1, 4, 5, 3), weight_shape=(8, 3, 3, 3), window=SAME, bias=True,
            tail=RealTail("relu"),
        ),
        Mapping((), ()),
    ),
    "depthwise": (
        real_conv2d(shape=(1, 4, 5, 9), weight_shape=(9, 3, 3, 1), groups=9, window=SAME),
        Mapping((), ()),
    ),
    "max_pool2d": (
        real_pool2d("max_pool2d", shape=(1, 5, 4, 9), filter_shape=(3, 2), window=SAME),
        Mapping((), ()),
    ),
    "avg_pool2d": (
        real_pool2d("avg_pool2d", shape=(1, 5, 4, 8), filter_shape=(5, 4)),
        Mapping((), ()),
    ),
    "softmax": (real_softmax(rows=2, columns=9), Mapping((), ())),
    "layer_norm": (layer_norm(rows=2, columns=9, epsilon=0.5), Mapping((), ())),
    "rms_norm": (rms_norm(rows=2, columns=9, epsilon=0.5), Mapping((), ())),
    "function": (function("gelu", elements=21), Mapping((), ())),
    "narrow_function": (narrow(function("gelu", elements=9)), Mapping((), ())),
    "narrow_add": (narrow(real_pair("add", elements=9)), Mapping((), ())),
    "narrow_norm": (narrow(layer_norm(rows=2, columns=9, epsilon=0.5)), Mapping((), ())),
    "attention": (
        attention(batch=1, heads=2, queries=3, keys=9, size=4, value_size=8, factor=0.5),
        Mapping((), ()),
    ),
    "gru": (recurrent("gru", steps=3, batch=1, inputs=2, hidden=9), Mapping((), ())),
    "gru_reset_first": (
        recurrent("gru", steps=2, batch=1, inputs=2, hidden=9, linear_before_reset=False),
        Mapping((), ()),
    ),
    "lstm_cells": (
        recurrent(
            "lstm", steps=1, batch=2, inputs=2, hidden=8, initial=True, cell=True, known=("x1",),
            last_cell=True, cell_clip=0.5,
        ),
        Mapping((), ()),
    ),
    "lstm_bytes": (
        recurrent(
            "lstm", steps=3, batch=1, inputs=9, hidden=10, cell=True, state_codes="uint8",
            input_codes="uint8", integer_rows=True,
        ),
        Mapping((), ()),
    ),
    "lstm": (
        recurrent("lstm", steps=3, batch=2, inputs=2, hidden=8, initial=True),
        Mapping((), ()),
    ),
}  # fmt: skip


def program(name):
    workload, mapping = CASES[name]
    module = module_of(workload, FACTS)
    template = module.template(workload)
    layer = LayerProgram(
        f"net_{name}", module.name, "test", template, workload, mapping, Cost(1.0), ()
    )
    return layer, module


@pytest.mark.parametrize("name", CASES)
def test_text(name, golden):
    golden(f"cpu_float_{name}.c", render_layer(*program(name)))


def test_every_template_has_a_case():
    folder = Path(templates.__file__).parent
    every = {str(path.relative_to(folder)) for path in folder.glob("cpu/float/*.c.mako")}
    assert {program(name)[0].template for name in CASES} == every
