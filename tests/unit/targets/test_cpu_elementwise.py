"""Which element-wise layers run in vectors."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from match_aie.partition import candidates
from match_aie.targets.cpu import CPU
from match_aie.targets.cpu.elementwise import inverse, sum_factors, vectorised
from match_aie.targets.cpu.machine import machine
from match_aie.workload import Quantized, elementwise, full_range, reference, rowwise
from tests.plain_graphs import Builder


@pytest.mark.parametrize(("columns", "vectors"), [(1, False), (2, True), (64, True)])
def test_a_single_element_has_no_vector(columns, vectors):
    """It has no loop either, whose steps would tell a stream from a broadcast value."""
    y = Quantized("uint8", 0.1, 3)
    tail = full_range("uint8", 3)
    layer = rowwise("quantize", Quantized("float32"), y, rows=1, columns=columns, tail=tail)
    assert vectorised(machine("x86-64-v3"), layer) is vectors


@pytest.mark.parametrize("dtype", ["int8", "uint8"])
def test_functions_of_bytes_are_looked_up(dtype):
    b = Builder()
    real = b.dequantize(b.input("x", (2, 37), dtype), 0.05, 3)
    scaled = b.op("multiply", real, b.constant(np.float32(0.8)), shape=(2, 37))
    graph = b.graph(b.quantize(b.op("tanh", scaled, shape=(2, 37)), 0.01, 0, dtype))
    found = [c for c in candidates(graph, CPU("x86-64-v3")) if c.pattern.kind == "table"]
    assert [c.layer.workload.output.dtype for c in found if c.layer] == [dtype]
    assert found[0].module.template(found[0].layer.workload) == "cpu/int8/table.c.mako"


def _added(kind, scale, zero=-3, scales=(0.02, 0.05)):
    x, x1 = Quantized("uint8", scales[0], 9), Quantized("int8", scales[1], -3)
    y, shape = Quantized("int8", scale, zero), (1, 1, 256, 256)
    return elementwise(
        kind, x, x1, y, shape=(1, 1, 256, 1), shape1=(1, 1, 1, 256), out=shape,
        tail=full_range("int8", zero),
    )  # fmt: skip


@pytest.mark.parametrize("kind", ["add", "mul"])
@given(scale=st.floats(2.0**-10, 0.5, width=32), scales=st.tuples(*[st.floats(0.001, 0.3)] * 2))
@settings(max_examples=20, deadline=None)
def test_a_factor_stands_for_a_division_only_where_all_bytes_say_so(kind, scale, scales):
    layer = _added(kind, scale, scales=scales)
    bytes_ = np.arange(256, dtype=np.uint8)
    inputs = bytes_.reshape(1, 1, 256, 1), bytes_.view(np.int8).reshape(1, 1, 1, 256)
    factor = inverse(layer)
    if factor:
        a, b = (
            (np.int64(array) - operand.zero_point).astype(np.float32) * np.float32(operand.scale)
            for array, operand in zip(inputs, layer.data, strict=True)
        )
        real = a + b if kind == "add" else a * b
        steps = np.clip(np.rint(real * np.float32(float.fromhex(factor[:-1]))), -125, 130) - 3
        assert np.array_equal(steps.astype(np.int8), reference(layer, inputs))


def test_a_factor_is_not_taken_where_a_half_goes_to_the_other_side():
    """Many sums of two such scales lie in the middle of two steps of the third."""
    assert inverse(_added("add", 0.5, scales=(0.25, 0.5)))
    missing = [s for s in range(1, 60) if not inverse(_added("add", s / 7, scales=(1 / 14, 1 / 7)))]
    assert missing


@given(
    scale=st.floats(2.0**-10, 0.5, width=32),
    scales=st.tuples(*[st.floats(0.001, 0.3)] * 2),
    fused=st.booleans(),
)
@settings(max_examples=20, deadline=None)
def test_factors_stand_for_a_sum_only_where_all_bytes_say_so(scale, scales, fused):
    """Of bytes as they are stored; a fused product is exact in float64, and so is its sum here."""
    layer = _added("add", scale, scales=scales)
    made = sum_factors(layer, fused)
    if made is None:
        return
    bytes_ = np.arange(256, dtype=np.uint8)
    a, b = bytes_.reshape(1, 1, 256, 1), bytes_.view(np.int8).reshape(1, 1, 1, 256)
    kind = np.float64 if made.fused else np.float32
    step, factor, offset = (kind(number) for number in (made.step, made.scale, made.offset))
    more = (b.astype(kind) * factor + offset).astype(np.float32)
    steps = (a.astype(kind) * step + more).astype(np.float32)
    stored = np.clip(np.rint(steps), -125, 130) - 3
    assert np.array_equal(stored.astype(np.int8), reference(layer, (a, b)))


def test_factors_are_found_for_most_scales():
    """Also with zero points; halves of scales that are no powers of two apart may have none."""
    rng = np.random.default_rng(0)
    scales = [(s, tuple(rng.uniform(0.01, 0.1, 2))) for s in rng.uniform(0.02, 0.1, 20)]
    found = [sum_factors(_added("add", s, scales=each), True) for s, each in scales]
    assert sum(made is not None for made in found) > 15
    assert sum_factors(_added("add", 2.0**-4, scales=(2.0**-5, 2.0**-5)), True)
    assert sum_factors(_added("mul", 2.0**-4, scales=(2.0**-5, 2.0**-5)), True) is None
