"""The benchmark's products: what rows say, and that their programs do not beat what bounds them."""

import sys
from dataclasses import replace
from pathlib import Path

import pytest

from match_aie.targets.aie_ml.known import device
from match_aie.targets.aie_ml.simulate.layer import simulate_program

sys.path.append(str(Path(__file__).parents[4] / "benchmarks"))

from xdna import implied, published
from xdna_gemm import Gemm, call_cycles, program

SMALL = Gemm("npu1", (448, 1120, 448), (112, 112, 112), "int8", "int8")


def test_rows_name_their_mapping():
    found = {gemm.name: (gemm, value, unit) for gemm, value, unit in published()}
    gemm, value, unit = found["npu1_4032x4032x4032_int8_int8"]
    assert (gemm.block, value, unit) == ((112, 112, 112), 6.52, "TOPS")
    assert sum(unit == "TOPS" for _, _, unit in published()) == 8
    # A once for each of nine blocks of columns, B for each of nine of rows, C once.
    moved, products = 2 * 9 * 4032**2 + 4032**2, 4032**3
    assert implied(gemm, value) == pytest.approx(moved / (2 * products / 6.52e12) / 1e9)


def test_compute_bounds_a_product_with_a_fast_memory():
    array = replace(device("npu1"), dram_gbps=1000.0)
    cycles = call_cycles(SMALL, array)
    result = simulate_program(program(SMALL, array, cycles), array)
    least = 10 * cycles
    assert least < result.interval < 1.1 * least  # C leaves between two blocks


def test_memory_bounds_a_product_with_a_slow_one():
    array = replace(device("npu1"), dram_gbps=2.0)
    made = program(SMALL, array, call_cycles(SMALL, array))
    moved = sum(
        r.bytes * r.sends for r in made.routes if 0 in (r.source.tile[1], r.sinks[0].tile[1])
    )
    result = simulate_program(made, array)
    assert moved / 2.0 <= result.interval < 1.05 * moved / 2.0
