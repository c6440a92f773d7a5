"""Which element-wise layers run in vectors."""

import numpy as np
import pytest

from match_aie.partition import candidates
from match_aie.targets.cpu import CPU
from match_aie.targets.cpu.elementwise import vectorised
from match_aie.targets.cpu.machine import machine
from match_aie.workload import Quantized, full_range, rowwise
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
