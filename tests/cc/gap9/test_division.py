"""Rows of one layer on NE16 and the cluster at the same time: same bits, same order, faster."""

import re
import warnings

import numpy as np
import pytest
from pmsis_project import build, build_emulated, run

import match_aie as match
from match_aie.lowering.division import whole_of
from match_aie.targets.gap9 import GAP9
from tests.cc.gap9.test_beside import MOCK, overlap
from tests.networks import network

IMAGE = np.random.default_rng(4).integers(0, 256, (1, 32, 24, 16)).astype(np.uint8)


def compiled(name="filters", **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return match.compile(network(f"{name}_u8.onnx"), GAP9(**options), integer_io=True)


@pytest.fixture(scope="module")
def nets():
    return {on: compiled(beside=on) for on in (False, True)}


@pytest.fixture(scope="module")
def runs(nets, tmp_path_factory):
    """Of both, the project's folder and what its run gives."""
    found = {}
    for on, net in nets.items():
        project = net.write(tmp_path_factory.mktemp(f"filters{on}") / "net")
        found[on] = project.folder, project.run(IMAGE)
    return found


def halves(net):
    steps = net.program.schedule.steps
    return [steps[p.step : p.step + 2] for p in net.program.schedule.beside]


def test_a_layer_is_shared_by_both_engines_where_that_is_faster(nets):
    found = halves(nets[True])
    assert found
    for one, other in found:
        assert whole_of(one.symbol) == whole_of(other.symbol)
        assert {one.layer.module, other.layer.module} == {"ne16", "cluster"}
    simulated = {on: net.simulate() for on, net in nets.items()}
    assert overlap(simulated[True].timeline, "NE16", "cluster") > 0
    assert simulated[True].cycles < 0.95 * simulated[False].cycles


def test_halves_read_and_write_one_tensor_each_that_stays(nets):
    for one, other in halves(nets[True]):
        places = [step.layer.tiles.operands for step in (one, other)]
        begins = [{o.name: o.offset for o in operands} for operands in places]
        assert {o.moves for operands in places for o in (operands[0], operands[-1])} == {"never"}
        top, bottom = sorted(places, key=lambda operands: operands[-1].offset)
        assert top[-1].offset + top[-1].nbytes == bottom[-1].offset
        assert begins[0]["weight"] != begins[1]["weight"]


def test_the_bits_are_those_of_one_engine(runs):
    for _, result in runs.values():
        assert result.matches_reference
    for one, other in zip(
        runs[True][1].outputs.values(), runs[False][1].outputs.values(), strict=True
    ):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("flag", ["-DMA_FORK_EARLY", "-DMA_REVERSE_CORES", "-DMA_BESIDE_TRACE"])
def test_whenever_a_kernel_runs_and_in_the_simulator_s_order(nets, runs, flag):
    folder, result = runs[True]
    outputs = list(result.outputs.values())
    ran = run(build_emulated(folder, flag), [IMAGE], outputs)
    assert ran.status == 0
    for got, want in zip(ran.outputs, outputs, strict=True):
        np.testing.assert_array_equal(got, want)
    if flag != "-DMA_BESIDE_TRACE":
        return
    lanes = {step.label: str(lane) for pair in halves(nets[True]) for lane, step in enumerate(pair)}
    events = [
        e.name.split(" ", 1)
        for e in nets[True].simulate().timeline.events
        if e.category == "beside"
    ]
    assert [(lanes[label], what) for what, label in events] == re.findall(
        r"lane (\d): (\w+)", ran.said
    )


def test_the_binding_computes_the_same(runs):
    folder, result = runs[True]
    outputs = list(result.outputs.values())
    ran = run(build(folder, "mocked", [str(MOCK)]), [IMAGE], outputs)
    assert (ran.status, ran.said) == (0, "")
    for got, want in zip(ran.outputs, outputs, strict=True):
        np.testing.assert_array_equal(got, want)


def test_energy_plans_divide_nothing():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        path = network("filters_u8.onnx")
        net = match.compile(path, GAP9(), integer_io=True, objective="energy")
    plain = compiled(beside=False)
    assert net.picojoules <= plain.picojoules
    assert not net.program.schedule.beside
