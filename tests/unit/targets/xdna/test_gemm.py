"""The benchmark's products: what rows say, and that their programs do not beat what bounds them."""

import sys
from dataclasses import replace
from pathlib import Path

import pytest

from match_aie.targets.aie_ml.known import device
from match_aie.targets.aie_ml.simulate.layer import simulate_program

sys.path.append(str(Path(__file__).parents[4] / "benchmarks"))

from xdna import implied, published, simulated
from xdna_gemm import Gemm, call_cycles, program

SMALL = Gemm("npu1", (448, 1120, 448), (112, 112, 112), "int8", "int8")


def test_rows_name_their_mapping():
    found = {gemm.name: (gemm, value, unit) for gemm, value, unit in published()}
    gemm, value, unit = found["npu1_4032x4032x4032_int8_int8"]
    assert (gemm.block, value, unit) == ((112, 112, 112), 6.52, "TOPS")
    assert sum(unit == "TOPS" for _, _, unit in published()) == 8
    # A once for each of nine blocks of columns, B for each of nine of rows, C once.
    read, written, products = 2 * 9 * 4032**2, 4032**2, 4032**3
    gbps = 6.52e12 / (2 * products) / 1e9
    assert implied(gemm, value) == pytest.approx((read * gbps, written * gbps))


def test_compute_bounds_a_product_with_a_fast_memory():
    array = replace(device("npu1"), dram_gbps=1000.0)
    cycles = call_cycles(SMALL, array)
    result = simulate_program(program(SMALL, array, cycles), array)
    least = 10 * cycles
    assert least < result.interval < 1.1 * least  # C leaves between two blocks


@pytest.mark.parametrize("duplex", [False, True])
def test_memory_bounds_a_product_with_a_slow_one(duplex):
    """Reading bounds it where writing has a rate of its own, else both together."""
    array = replace(device("npu1"), dram_gbps=2.0, dram_duplex=duplex)
    made = program(SMALL, array, call_cycles(SMALL, array))
    read = sum(r.bytes * r.sends for r in made.routes if r.source.tile[1] == 0)
    written = sum(r.bytes * r.sends for r in made.routes if r.sinks[0].tile[1] == 0)
    least = array.memory_cycles(read, written, 25.6)
    assert least == (read if duplex else read + written) / 2.0
    result = simulate_program(made, array)
    assert least <= result.interval < 1.05 * least


def test_published_cycles_of_a_kernel_take_the_place_of_modelled_ones():
    array = device(SMALL.device)
    cycles = call_cycles(SMALL, array)
    modelled = SMALL.block[0] * SMALL.block[1] * SMALL.block[2] / cycles
    ours, slower = simulated(SMALL), simulated(SMALL, kernels=modelled / 2)
    assert simulated(SMALL, kernels=modelled) == pytest.approx(ours)
    took = [2 * 448 * 1120 * 448 * array.clock_ghz / tops / 1e3 for tops in (ours, slower)]
    assert took[1] - took[0] >= 9 * cycles  # ten calls, each twice as long
