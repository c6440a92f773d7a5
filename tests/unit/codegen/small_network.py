"""A small network made by hand: two layers of a fake module, a fallback function, a view."""

from __future__ import annotations

import numpy as np

from match_aie.codegen.sources import render
from match_aie.hardware import Cost, Mapping
from match_aie.lowering import (
    Alias,
    Argument,
    CFunction,
    Constant,
    LayerProgram,
    MemoryPlan,
    NetworkProgram,
    Schedule,
    Step,
    Tensor,
    Workspace,
)
from match_aie.lowering.plan import plan
from match_aie.workload import Quantized, dense

ROWS, WIDTH = 3, 5

LAYER = """static void {symbol}(const int8_t *restrict x, const int8_t *restrict weight,
                         const int32_t *restrict bias, int32_t *restrict y) {{
    for (int b = 0; b < {rows}; ++b) {{
        for (int k = 0; k < {outputs}; ++k) {{
            int32_t sum = bias[k];
            for (int c = 0; c < {inputs}; ++c) {{
                sum += x[b * {inputs} + c] * weight[{weight}];
            }}
            y[b * {outputs} + k] = sum;
        }}
    }}
}}
"""

NARROW = """static void {symbol}(const int32_t *restrict x, int8_t *restrict y,
                         uint8_t *restrict copy) {{
    memcpy(copy, x, {bytes});
    for (int i = 0; i < {elements}; ++i) {{
        y[i] = (int8_t)(x[i] > 127 ? 127 : x[i] < -128 ? -128 : x[i]);
    }}
}}
"""


def layer(name, symbol, rows, inputs, outputs, rng):
    workload = dense(
        Quantized("int8"), Quantized("int32"), rows=rows, inputs=inputs, outputs=outputs
    )
    constants = (
        ("weight", rng.integers(-9, 9, (outputs, inputs)).astype(np.int8)),
        ("bias", rng.integers(-9, 9, outputs).astype(np.int32)),
    )
    return LayerProgram(
        f"{name}_{symbol}", "fake", "dense", "fake/dense.c.mako", workload, Mapping((), ()),
        Cost(float(workload.macs)), constants,
    )  # fmt: skip


def step(label, layer_, x, y):
    arguments = (
        Argument("tensor", x, "read"),
        Argument("constant", f"{layer_.symbol}_weight", "read"),
        Argument("constant", f"{layer_.symbol}_bias", "read"),
        Argument("tensor", y, "write"),
    )
    return Step(label, layer_.symbol, arguments, layer_)


def text(layer_, weight="k * {inputs} + c"):
    rows, outputs, inputs = (size for _, size in layer_.workload.dims)
    return LAYER.format(
        symbol=layer_.symbol, rows=rows, outputs=outputs, inputs=inputs,
        weight=weight.format(inputs=inputs, outputs=outputs),
    )  # fmt: skip


def constants(layer_, pack=lambda weight: weight):
    weight, bias = (value for _, value in layer_.constants)
    return (
        Constant(f"{layer_.symbol}_weight", pack(weight)),
        Constant(f"{layer_.symbol}_bias", bias),
    )


def schedule(name="net", label="x", seed=0):
    rng = np.random.default_rng(seed)
    first = layer(name, "fc1", ROWS, WIDTH, 4, rng)
    second = layer(name, "fc2", 1, 12, 2, rng)
    narrow = Step(
        "narrow",
        f"{name}_narrow",
        (
            Argument("tensor", "sum", "read"),
            Argument("tensor", "small", "write"),
            Argument("workspace", "copy", "write"),
        ),
        workspaces=(Workspace("copy", 48),),
    )
    tensors = (
        Tensor("x", "int8", (ROWS, WIDTH), label),
        Tensor("sum", "int32", (ROWS, 4), "the sum"),
        Tensor("small", "int8", (ROWS, 4)),
        Tensor("flat", "int8", (1, 12)),
        Tensor("y", "int32", (1, 2), "y"),
    )
    source = NARROW.format(symbol=f"{name}_narrow", bytes=48, elements=12)
    return Schedule(
        name,
        ("x",),
        ("y",),
        tensors,
        # The first layer reads its weights transposed: as a module that packs them would.
        (*constants(first, lambda weight: np.ascontiguousarray(weight.T)), *constants(second)),
        (Alias("flat", "small"),),
        (step("fc 1", first, "x", "sum"), narrow, step("fc 2", second, "flat", "y")),
        (CFunction(f"{name}_narrow", source, "clip, cast"),),
    )


def layer_texts(schedule_):
    first, second = schedule_.layers
    return {first.symbol: text(first, "c * {outputs} + k"), second.symbol: text(second)}


def program(schedule_):
    planned = plan(schedule_)
    assert isinstance(planned, MemoryPlan)
    return NetworkProgram(schedule_, planned)


def example(name="net", label="x", seed=0, manifest=None, **options):
    """The rendered project of the small network."""
    made = schedule(name, label, seed)
    told = manifest or {"name": name, "target": "fake", "options": {}}
    return render(program(made), layer_texts(made), told, **options)


def expected(x, seed=0):
    """What the small network computes."""
    first, second = schedule(seed=seed).layers
    weight, bias = (v.astype(np.int64) for _, v in first.constants)
    small = np.clip(x.astype(np.int64) @ weight.T + bias, -128, 127)
    weight, bias = (v.astype(np.int64) for _, v in second.constants)
    return (small.reshape(1, 12) @ weight.T + bias).astype(np.int32)


def with_wrong_layer(seed=0):
    """The same, its second layer's emitted code off by one where the output's second column is."""
    made = schedule(seed=seed)
    texts = layer_texts(made)
    symbol = made.layers[1].symbol
    texts[symbol] = texts[symbol].replace("= sum;", "= sum + k;")
    return render(program(made), texts, {"name": "net"})
