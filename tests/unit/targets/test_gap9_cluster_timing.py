import importlib
from itertools import product
from pathlib import Path
from types import SimpleNamespace
from typing import get_args

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from match_aie.cost_models.pulp_accesses import access_rate
from match_aie.cost_models.pulp_half import is_half
from match_aie.cost_models.pulp_nn import PulpNN
from match_aie.cost_models.pulp_plain import kernel_of
from match_aie.errors import TargetError
from match_aie.targets.gap9 import GAP9
from match_aie.targets.gap9.facts import facts
from match_aie.targets.gap9.timing.banks import PUBLIC, RATES, SLOWED, Banks, Slowed, slowed
from match_aie.targets.gap9.timing.cluster import call_cycles, core_cycles
from match_aie.targets.gap9.timing.fetches import LINES, SIZES
from match_aie.targets.gap9.timing.network import Gap9Timing
from match_aie.targets.gap9.timing.workers import BARRIER, FORK, contended, divide
from match_aie.workload import Window
from tests.unit.targets.gap9_layers import LAYERS, conv, depthwise, whole

CLUSTER = facts().cluster
BENCHMARKS = Path(__file__).resolve().parents[3] / "benchmarks"


def macs_per_cycle(workload):
    return workload.macs / call_cycles(workload, whole(workload))


def test_inner_loop_is_that_of_pulp_nn():
    """6 loads and 8 dot products for 32 products; contention costs some of the 18.3 per cycle."""
    instructions = CLUSTER.inner_loads + CLUSTER.inner_dot_products
    bound = facts().cores.workers * CLUSTER.inner_macs / instructions
    assert bound == pytest.approx(18.29, abs=0.01)
    loop = contended(instructions, CLUSTER.inner_loads)
    assert 0.95 * bound < facts().cores.workers * CLUSTER.inner_macs / loop < bound


def test_best_convolution_is_near_the_published_best():
    """PULP-NN reports 15.5 MAC/cycle; the layer it was measured on is not known here."""
    best = macs_per_cycle(conv(16, 16, 64, 64))
    assert best == pytest.approx(CLUSTER.best_macs_per_cycle, rel=0.1)


@pytest.mark.parametrize("name", LAYERS)
def test_no_layer_beats_the_dot_product(name):
    assert macs_per_cycle(LAYERS[name]) < CLUSTER.peak_macs_per_cycle


@given(st.integers(1, 70), st.integers(1, 40), st.integers(0, 500), st.integers(1, 500))
def test_shares_cover_everything_once(units, blocks, per_unit, per_block):
    seen = np.zeros((units, blocks), int)
    for share in divide(8, units, blocks, per_unit, per_block):
        seen[slice(*share.units), slice(*share.blocks)] += 1
    assert (seen == 1).all()


@pytest.mark.parametrize("name", LAYERS)
def test_every_core_is_counted(name):
    cores = core_cycles(LAYERS[name], whole(LAYERS[name]), 8)
    run = call_cycles(LAYERS[name], whole(LAYERS[name]))
    assert len(cores) == facts().cores.workers
    assert min(cores) > 0
    assert max(cores) < run < max(cores) + 100


def test_padding_is_cheaper_than_image():
    """A window half in the padding copies less than one inside, rows outside are filled once."""
    layer = conv(16, 16, 64, 4, (5, 5), Window(padding=(2, 2, 2, 2)))
    inner = dict(whole(layer)) | {"OY": (4, 1), "OX": (4, 8)}
    border = dict(whole(layer)) | {"OY": (0, 1), "OX": (4, 8)}
    assert call_cycles(layer, border) < call_cycles(layer, inner)


def test_two_rows_of_a_depthwise_layer_share_their_columns():
    """Stride 1 and three filter rows: less than twice the cycles of one row."""
    layer = depthwise(24, 24, 32)
    one = dict(whole(layer)) | {"OY": (4, 1)}
    two = dict(whole(layer)) | {"OY": (4, 2)}
    assert call_cycles(layer, two) < 1.7 * call_cycles(layer, one)


def test_weights_of_five_columns_stay_in_registers():
    """Two words of a column: a load of inputs and a product each, where others load weights too."""
    around = Window(padding=(2, 2, 2, 2))
    apart = Window(dilation=(1, 2), padding=(2, 4, 2, 4))
    near, loaded = (
        call_cycles(layer, whole(layer))
        for layer in (depthwise(24, 24, 32, (5, 5), w) for w in (around, apart))
    )
    assert near < 0.75 * loaded


def test_remainders_cost_what_whole_blocks_do_not_have():
    """Five output channels take longer than four, and less than eight."""
    four, five, eight = (call_cycles(w, whole(w)) for w in (
        conv(8, 8, 16, 4), conv(8, 8, 16, 5), conv(8, 8, 16, 8)
    ))  # fmt: skip
    assert four < five < eight


@pytest.mark.parametrize("name", sorted(LAYERS))
def test_seven_cores_take_longer_than_eight(name):
    layer = LAYERS[name]
    eight, seven = (core_cycles(layer, whole(layer), cores) for cores in (8, 7))
    assert (len(eight), len(seven)) == (8, 7)
    assert max(seven) >= max(eight)
    assert sum(seven) == pytest.approx(sum(eight), rel=0.25)
    assert call_cycles(layer, whole(layer), cores=7) == pytest.approx(max(seven) + FORK + BARRIER)
    assert call_cycles(layer, whole(layer), cores=8) == call_cycles(layer, whole(layer))


@pytest.mark.parametrize("instructions", ["xpulp", "rv32imc"])
@pytest.mark.parametrize("name", ["conv", "depthwise", "add", "dense", "maximum"])
def test_the_model_shares_a_layer_among_seven_as_the_simulator_does(name, instructions):
    """What seven cores cannot share evenly takes two rounds, not 8/7 of one."""
    layer = LAYERS[name]
    eight, seven = (call_cycles(layer, whole(layer), instructions, cores) for cores in (8, 7))
    for cores, wanted in ((8, seven / eight), (9, 1.0)):
        companies = {
            m.name: m.beside for m in GAP9(cores=cores, instruction_set=instructions).modules()
        }
        assert companies["cluster"].longer(layer) == pytest.approx(wanted, rel=0.05)
        assert companies["ne16"].longer(layer) == 1


@pytest.mark.parametrize(("cores", "beside"), [(9, 8), (8, 7)])
def test_a_controller_that_is_a_worker_does_not_compute_beside_ne16(cores, beside):
    layer = LAYERS["conv"]
    timing = Gap9Timing(260e6, cores=cores)
    visit = SimpleNamespace(ranges=whole(layer))
    alone, shared = (
        timing.kernel("cluster", layer, visit),
        timing.kernel_beside("cluster", layer, visit),
    )
    assert alone == Gap9Timing(260e6).kernel("cluster", layer, visit)
    assert shared.jobs[0].run == call_cycles(layer, whole(layer), cores=beside)
    assert GAP9(cores=cores).simulator()._timing.cores == cores


@pytest.mark.parametrize("cores", [9, 8])
@pytest.mark.parametrize("banks", get_args(Banks))
def test_units_wait_for_each_other_as_the_model_of_the_banks_says(banks, cores):
    """By what NE16 computes, and how many accesses the cluster's kernel makes."""
    timing, chip = Gap9Timing(260e6, cores=cores, banks=banks), GAP9(cores=cores, banks=banks)
    company = {module.name: module.beside for module in chip.modules()}
    for ne16, cluster in product((LAYERS["conv"], LAYERS["depthwise"]), (LAYERS["add"],)):
        found = {
            "ne16": timing.slowed("ne16", ne16, cluster),
            "cluster": timing.slowed("cluster", cluster, ne16),
        }
        modelled = {
            "ne16": company["ne16"].slowed_by(ne16, cluster),
            "cluster": company["cluster"].slowed_by(cluster, ne16),
        }
        # Only the kernel's own cycles differ between the two.
        assert modelled == pytest.approx(found, abs=0.03)
    assert chip.simulator()._timing == timing
    assert GAP9(**GAP9(banks=banks).options()).options() == GAP9(banks=banks).options()


@pytest.mark.parametrize("cores", [9, 8])
def test_planned_for_any_banks_layers_have_the_cases_of_all_public_ones(cores):
    """Priced and simulated as PULP's; the other cases are GVSoC's, and a worker fewer."""
    chip, layers = GAP9(cores=cores), (LAYERS["conv"], LAYERS["add"])
    assert chip.options()["banks"] == "any"
    assert chip.simulator()._timing == Gap9Timing(260e6, cores=cores, banks="priority")
    every = [(c, b) for c in sorted({cores, 8}, reverse=True) for b in PUBLIC]
    for module in chip.modules():
        own = layers if module.name == "ne16" else layers[::-1]
        found = [
            (c.slowed_by(*own), c.longer(own[0])) for c in (module.beside, *module.beside.cases)
        ]
        known = [
            next(m for m in GAP9(cores=c, banks=b).modules() if m.name == module.name).beside
            for c, b in every
        ]
        assert [(c.slowed_by(*own), c.longer(own[0])) for c in known] == found
        assert not any(c.cases for c in known)


def test_between_the_rates_that_were_simulated_it_is_linear():
    for (banks, workers, mode), pairs in SLOWED.items():
        for rate, pair in zip(RATES, pairs, strict=True):
            assert slowed(banks, workers, mode, rate) == Slowed(*pair)
        half = slowed(banks, workers, mode, 0.25)
        assert half.ne16 == pytest.approx((pairs[1][0] + pairs[2][0]) / 2)
        assert slowed(banks, workers, mode, 0.0) == Slowed(0.0, 0.0)
    assert slowed("assumed", 8, "3x3", 6 / 14).cluster == pytest.approx(0.19, abs=0.01)


@pytest.mark.parametrize("banks", ["priority", "in_turn"])
def test_waits_at_banks_are_those_of_the_benchmark(banks, monkeypatch):
    """Simulated anew with fewer cycles: within three hundredths."""
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    gap9_banks = importlib.import_module("gap9_banks")
    monkeypatch.setattr(gap9_banks, "CYCLES", 12_000)
    for workers, mode, rate in ((7, "3x3", 0.3), (8, "depthwise", 0.4), (8, "1x1", 0.1)):
        found = gap9_banks.slowed(banks, workers, mode, rate)
        known = slowed(banks, workers, mode, rate)
        assert found.ne16 == pytest.approx(known.ne16, abs=0.03)
        assert found.cluster == pytest.approx(known.cluster, abs=0.03)


@pytest.mark.parametrize("name", sorted(LAYERS))
@pytest.mark.parametrize("size", SIZES)
def test_workers_wait_for_code_that_their_caches_lack(size, name):
    """Every line of a kernel once from the shared cache, and from L2 at the first call."""
    layer = LAYERS[name]
    timing, cached = Gap9Timing(260e6), Gap9Timing(260e6, worker_cache=size)
    visit = SimpleNamespace(ranges=whole(layer))
    more = (
        cached.kernel("cluster", layer, visit).jobs[0].run
        - timing.kernel("cluster", layer, visit).jobs[0].run
    )
    first = cached.first_call("cluster", layer)
    counted = layer.real is None and not is_half(layer) and kernel_of(layer) in LINES
    assert more >= first / timing.access.far * timing.access.near
    assert (first > 0) == (more > 0) == counted
    assert timing.first_call("cluster", layer) == cached.first_call("ne16", layer) == 0
    # Plain rv32imc is counted with its own fetches of 512 bytes.
    plain, same = (
        Gap9Timing(260e6, instruction_set="rv32imc", worker_cache=cache) for cache in (None, size)
    )
    assert plain.kernel("cluster", layer, visit) == same.kernel("cluster", layer, visit)
    assert plain.first_call("ne16", layer) == 0
    lines = plain.first_call("cluster", layer) / timing.access.far
    assert lines == same.first_call("cluster", layer) / timing.access.far
    if counted:  # more code than with Xpulp, or about as much
        assert lines > 0.9 * first / timing.access.far


def test_no_other_cache_is_known():
    with pytest.raises(ValueError, match="1024 bytes"):
        Gap9Timing(260e6, worker_cache=1024)


def test_no_other_number_of_cores_is_known():
    with pytest.raises(TargetError, match="7 cores"):
        GAP9(cores=7)


@pytest.mark.parametrize("name", sorted(LAYERS))
def test_no_core_makes_more_than_an_access_a_cycle(name):
    layer = LAYERS[name]
    for instructions in ("xpulp", "rv32imc"):
        if layer.real is None and (instructions == "xpulp" or not is_half(layer)):
            rate = PulpNN(instruction_set=instructions).access_rate(layer)
            assert 0 < rate <= 1


def test_accesses_of_a_sum_are_those_of_its_words():
    """Of four elements two words are loaded, and one is stored; what a call does once is more."""
    layer = LAYERS["add"]
    words = layer.output.nbytes / 4 / facts().cores.workers
    cycles = call_cycles(layer, whole(layer)) - FORK - BARRIER
    assert access_rate(layer, cycles, "xpulp") == pytest.approx((3 * words + 62) / cycles, rel=0.01)
    assert access_rate(layer, cycles, "xpulp") > access_rate(layer, 2 * cycles, "xpulp")
