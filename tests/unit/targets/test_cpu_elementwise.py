"""Which element-wise layers run in vectors."""

import pytest

from match_aie.targets.cpu.elementwise import vectorised
from match_aie.targets.cpu.machine import machine
from match_aie.workload import Quantized, full_range, rowwise


@pytest.mark.parametrize(("columns", "vectors"), [(1, False), (2, True), (64, True)])
def test_a_single_element_has_no_vector(columns, vectors):
    """It has no loop either, whose steps would tell a stream from a broadcast value."""
    y = Quantized("uint8", 0.1, 3)
    tail = full_range("uint8", 3)
    layer = rowwise("quantize", Quantized("float32"), y, rows=1, columns=columns, tail=tail)
    assert vectorised(machine("x86-64-v3"), layer) is vectors
