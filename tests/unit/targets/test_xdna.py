"""The XDNA target: facts, refusals, and networks planned on all columns and executed."""

import re

import numpy as np
import pytest

import match_aie as match
from match_aie.errors import Infeasible, TargetError
from match_aie.targets.aie_ml.array import DenseLayer
from match_aie.targets.aie_ml.array.search import Given
from match_aie.targets.aie_ml.graph.cut_plan import cut_plans
from match_aie.targets.aie_ml.graph.timed_plan import _roughly, timed_of_split
from match_aie.targets.aie_ml.graph.timed_splits import columns_for, memory_rate
from match_aie.targets.aie_ml.kernels.arithmetic import in_fixed_point
from match_aie.targets.aie_ml.known import device, devices
from match_aie.targets.versal.executing import prove, stretches
from match_aie.targets.versal.module import around_ns
from match_aie.targets.xdna import XDNA
from match_aie.targets.xdna.mlir import cores, kernels_of, read, text
from tests.aie_layers import constants_of, random_layer
from tests.networks.power_of_two import dense_chain
from tests.xdna_programs import float_dense


@pytest.mark.parametrize(
    ("name", "columns", "gigahertz", "dram", "times"),
    [
        ("npu1", 4, 1.0, 15.0, (75.0, 617.0, 3.4)),
        ("npu2", 8, 1.8, 50.0, (64.0, 450.0, 4.9)),
    ],
)
def test_facts_have_sources(name, columns, gigahertz, dram, times):
    array = device(name)
    core, mem = array.architecture.core, array.architecture.mem
    assert (array.columns, array.core_rows, array.mem_rows) == (columns, 4, 1)
    assert (core.data_memory_bytes, mem.bytes) == (64 * 1024, 512 * 1024)
    assert array.shim_noc_columns == tuple(range(columns))
    assert (array.architecture.shim_dma.mm2s, array.architecture.shim_dma.s2mm) == (2, 2)
    assert (array.gmio_in, array.gmio_out) == (2 * columns, 2 * columns)
    assert (array.clock_ghz, array.dram_gbps) == (gigahertz, dram)
    assert (array.dispatch_us, array.first_dispatch_us, array.reconfiguration_ms) == times
    assert array.dram_duplex
    assert array.dram_way_gbps == dram
    named = "dispatch_us", "full_reconfiguration_ms", "dram_effective_GBps", "clock"
    for fact in (*named, "dram_directions"):
        assert array.provenance[f"devices.{name}.{fact}"].source


def test_unknown_times_are_unknown_elsewhere():
    assert device("vek280").dispatch_us is None
    assert around_ns(device("vek280")) == 1000.0
    assert around_ns(device("npu1")) == 75e3


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"device": "vek280"}, "vek280 is no Ryzen AI processor: its array is of AIE-ML"),
        ({"device": "npu9"}, "no AI Engine device 'npu9'"),
        ({"floats": "bfp16"}, "no kernels of block floating point for npu1"),
        ({"floats": "fp16"}, "floats 'fp16'"),
        ({"arch": "aarch64"}, "aarch64 is no x86 processor"),
        ({"modules": ("array", "arm")}, "no module 'arm'"),
        ({"cpu_mhz": 0}, "an x86 core at 0 MHz"),
        ({"mlir": "2024-01"}, "no MLIR-AIE text of '2024-01'"),
    ],
)
def test_refusals_name_their_reason(options, why):
    with pytest.raises(TargetError, match=why):
        XDNA(**options)


def test_layers_of_the_processor_are_divided_over_its_cores():
    """Only those: what the array takes does not hang on it."""
    one, four = XDNA(), XDNA(cores=4)
    assert "-pthread" in four.build_profile().flags
    assert "-pthread" not in one.build_profile().flags
    assert "include/ma_cores.h" in four.runtime().files.keys() - one.runtime().files.keys()
    assert four.built_for() == "npu1: x86-64-v3, 4 cores and AI Engine array"
    with pytest.raises(TargetError, match="0 cores"):
        XDNA(cores=0)


def test_only_ryzen_ai_processors_are_taken():
    assert {name for name in devices() if device(name).architecture.name.startswith("X")} == {
        "npu1",
        "npu2",
    }


@pytest.mark.parametrize(
    "options", [{}, {"device": "npu2", "modules": ("array",)}, {"mlir": "2026-08"}, {"cores": 4}]
)
def test_options_make_an_equal_target(options):
    target = XDNA(**options)
    again = XDNA(**target.options())
    assert again.options() == target.options()
    assert [m.name for m in again.modules()] == [m.name for m in target.modules()]
    assert "arm" not in [m.name for m in target.modules()]


@pytest.mark.parametrize(
    ("name", "dtype", "floats"),
    [
        ("npu1", np.int8, "float32"),
        ("npu1", np.int16, "float32"),
        pytest.param("npu2", np.int8, "float32", marks=pytest.mark.slow),
    ],
)
def test_chains_run_on_the_array_bit_for_bit(name, dtype, floats):
    """Two layers large enough to be worth a dispatch: one graph, executed and simulated."""
    net = match.compile(
        dense_chain(256, (256, 256, 256), dtype), target=XDNA(device=name, floats=floats)
    )
    mine = [layer for layer in net.program.schedule.chosen if layer.module == "array"]
    assert len(mine) == 2
    assert prove(mine, name, np.random.default_rng(0)) == 1
    simulated = net.simulate()
    assert simulated.cycles / (net.target.frequency / 1e6) > device(name).dispatch_us


def test_a_layer_without_a_kernel_is_no_error():
    """The second generation lacks registers for some; another module takes such a layer."""
    for seed in range(6):
        rng = np.random.default_rng(seed)
        workload = random_layer(rng, "depthwise")
        fixed = None if workload is None else in_fixed_point(workload, constants_of(workload, rng))
        if fixed is not None and not isinstance(fixed, str):
            found = cut_plans(fixed.workload, "npu2", 2)
            if isinstance(found, Infeasible):
                assert "kernels that fit registers" in str(found)
                return
    pytest.fail("all of them have kernels")


def test_small_layers_are_not_worth_a_dispatch():
    net = match.compile(dense_chain(16, (64, 64), np.int8), target=XDNA())
    assert "array" not in {layer.module for layer in net.program.schedule.chosen}


def test_a_project_without_a_text_says_so(monkeypatch):
    """In the compilation's warnings, its report and the file, with the reason."""
    model = dense_chain(8, (16, 16), np.int8)
    target = XDNA(columns_per_layer=1, modules=("array",))
    assert match.compile(model, target=target, selection="match").warnings == ()
    monkeypatch.setattr(cores, "MOST_CALLS", 0)
    net = match.compile(model, target=target, selection="match")
    (warning,) = net.warnings
    assert re.match(r"mlir/\w+.mlir has no program for the open tool chain: .*calls of a", warning)
    assert "has no program for the open tool chain" in net.summary()
    (written,) = (text for path, text in net.sources().items() if path.endswith(".mlir"))
    assert re.fullmatch(rb"// No program: .*calls of a core does not fit.*\n", written)


def test_the_memory_rate_of_the_facts_prices_plans():
    """15 bytes a cycle on npu1, 50 / 1.8 on npu2, the assumed 25.6 / 1.25 on a Versal."""
    assert memory_rate(columns_for("npu1", 4, 1)) == 15.0
    assert memory_rate(columns_for("npu2", 4, 1)) == pytest.approx(50 / 1.8)
    assert memory_rate(columns_for("vek280", 4, 1)) == pytest.approx(25.6 / 1.25)


@pytest.mark.parametrize(
    ("name", "floats"), [("npu1", "bf16"), ("npu2", "bf16"), ("npu2", "bfp16")]
)
def test_floats_are_exact_and_have_a_text(name, floats):
    """A float layer in fewer bits: the program equals its definition, and is read back."""
    model = float_dense()
    target = XDNA(name, floats=floats, modules=("array",))
    compiled = match.compile(model, target=target, selection="match")
    mine = [layer for layer in compiled.program.schedule.chosen if layer.module == "array"]
    (layer,) = mine
    assert layer.workload.real.precision == {"bf16": "bfloat16"}.get(floats, floats)
    assert prove(mine, name, np.random.default_rng(1)) == 1
    (made,) = stretches(mine, name, np.random.default_rng(1))
    written = text(made.program, device(name))
    assert read(written, device(name), kernels_of(made.program)) == made.program


@pytest.mark.slow
def test_rows_of_a_pass_are_whole_blocks_of_its_calls():
    """By powers of two 3000 rows take 16 passes, whose weights come as often; 12 are enough."""
    layer, split = DenseLayer(3000, 4032, 4032), Given(4, 2, 2)
    plan, (fewest, roughly) = timed_of_split(layer, "npu1", split), _roughly(layer, "npu1", split)
    assert not isinstance(plan, Infeasible)
    assert not isinstance(roughly, Infeasible)
    m, passes = plan.timed.mapping, plan.timed.passes
    assert (m.call_rows // m.tiling.m) % m.block[0] == 0 < m.block[0] - 1
    assert passes & (passes - 1) != 0
    assert plan.timed.fits
    assert fewest < passes < roughly.timed.passes == 16
    assert plan.cycles < 0.85 * roughly.cycles
