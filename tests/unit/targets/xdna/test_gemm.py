"""The benchmark's products: what rows say, and that their programs do not beat what bounds them."""

import sys
from dataclasses import replace
from pathlib import Path

import pytest

from match_aie.targets.aie_ml.known import device
from match_aie.targets.aie_ml.simulate.layer import simulate_program

sys.path.append(str(Path(__file__).parents[4] / "benchmarks"))

from xdna import implied, published, simulated
from xdna_gemm import Gemm, call_cycles, kernel, program
from xdna_kernels import in_order, percent

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


@pytest.mark.parametrize(
    ("name", "out", "cycles"),
    [
        # The last of four sums lands 5 (npu2: 6) cycles behind its product; rounding stores reach
        # memory 2 stages behind a load; the first load is used 7 (6) cycles later.
        ("npu1", "int8", 5 + 3 + 7 - 1),
        ("npu2", "int8", 6 + 3 + 6 - 1),
        # Two stores and two loads a tile of 16 bits: the last ones bound it.
        ("npu1", "int16", (5 + 4) + 3 + 7 + 7 - 4),
        ("npu2", "int16", (6 + 4) + 3 + 7 + 6 - 4),
        # 16 of each where sums are stored as they are, which takes no stage more.
        ("npu2", "int32", (6 - 3 + 15) + 1 + 15 + 4 - 4),
    ],
)
def test_blocks_in_program_order(name, out, cycles):
    array = device(name)
    assert in_order(kernel("int8", out, array), array.architecture) == cycles


def test_published_rates_are_whole_percents_of_the_cores():
    rates = [(gemm, value) for gemm, value, unit in published() if unit == "MAC/cycle"]
    native = [r for r in rates if (r[0].device, r[0].a) != ("npu2", "bfloat16")]
    assert [percent(*rate) for rate in native] == [91, 88, 88, 83, 75, 57, 78, 67, 60, 50]
    assert percent(SMALL, 200.0) is None


def test_kernels_are_within_five_percent_but_two():
    far = set()
    for gemm, value, unit in published():
        if unit == "MAC/cycle" and (gemm.device, gemm.a) != ("npu2", "bfloat16"):
            m, k, n = gemm.block
            if abs(m * k * n / call_cycles(gemm, device(gemm.device)) / value - 1) > 0.05:
                far.add((gemm.device, gemm.block, gemm.out))
    assert far == {("npu2", (144, 72, 144), "int8"), ("npu2", (96, 64, 96), "int32")}
