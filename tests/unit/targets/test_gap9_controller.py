"""The simulated controller against what GVSoC counts of a network's emitted C."""

import csv
import gzip
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from match_aie.cost_models import pulp_rows
from match_aie.cost_models.ne16 import Programming
from match_aie.cost_models.pulp_nn import PulpNN
from match_aie.cost_models.walk import Controller
from match_aie.simulating import steps
from match_aie.simulation import ScratchpadSimulator
from match_aie.targets.gap9 import GAP9
from match_aie.targets.gap9.beside import CLUSTER_BESIDE, NE16_BESIDE
from match_aie.targets.gap9.cluster.arguments import argument_words, starts
from match_aie.targets.gap9.timing import workers
from match_aie.targets.gap9.timing.controller import COMMIT_2AA2A23, Access, Code
from match_aie.targets.gap9.timing.network import Gap9Timing
from match_aie.toolchain.record import parse
from match_aie.workload import Quantized, elementwise, full_range
from tests.unit.targets.gap9_layers import LAYERS

DATA = Path(__file__).parents[2] / "data"


def rows():
    """The rows of whole steps on NE16: number from 1, cycles, what they may be used for."""
    lines = (DATA / "gvsoc_gap9.csv").read_text().splitlines()
    found = csv.DictReader(line for line in lines if not line.startswith("#"))
    return [
        (int(row["what"].removeprefix("ne16 step ")), float(row["gvsoc_cycles"]), row["use"])
        for row in found
        if row["case"] == "resnet8" and row["what"].removeprefix("ne16 step ").isdigit()
    ]


def simulated(code, *, near=False):
    """Cycles of the NE16 steps of the project that was timed, in order; `near`: lists in L1."""
    manifest = gzip.decompress((DATA / "resnet8_2aa2a23.json.gz").read_bytes())
    record = parse(json.loads(manifest), DATA)
    simulator = ScratchpadSimulator(Gap9Timing(260e6, code=code))
    found = [
        replace(step, tiles=replace(step.tiles, near=near)) if step.tiles else step
        for step in steps(record, GAP9())
    ]
    run = simulator.run(found, record=False)
    return [step.cycles for step in run.steps if step.module == "ne16"]


@pytest.mark.parametrize("use", ["fit", "report"])
def test_the_code_that_was_timed(use):
    """Nothing is fitted to either half."""
    cycles = simulated(COMMIT_2AA2A23)
    errors = [cycles[n - 1] / measured - 1 for n, measured, wanted in rows() if wanted == use]
    assert len(errors) >= 4
    assert np.mean(np.abs(errors)) <= 0.05
    assert np.max(np.abs(errors)) <= 0.10


def test_the_cost_model_has_the_same_figures():
    """It is no code of the simulator's, and was written from the same counts."""
    code, access = Code(), Access()
    ne16, cluster = Programming(), PulpNN()
    cycles = {
        code.few[0]: ne16.layer,
        code.few[1]: ne16.visit,
        code.many[1]: ne16.many[1],
        code.one_tile: ne16.one_tile,
        code.wait: ne16.wait,
        code.first: ne16.program,
        code.second: ne16.second,
        code.later: ne16.reprogram,
        code.part: ne16.part,
        code.transfer: cluster.start,
        code.plane: cluster.plane,
    }
    for work, modelled in cycles.items():
        assert modelled == pytest.approx(work.cycles(access), abs=0.05), work
    assert cluster.controller == Controller()
    for name in ("layer", "visit", "many", "one_tile", "wait"):
        assert getattr(ne16, name) == getattr(Controller(), name)
    for module, controller in (("ne16", ne16), ("cluster", Controller())):
        assert controller.code == code.entered[module].mean * access.far


@pytest.mark.parametrize("name", LAYERS)
def test_company_takes_what_a_lane_does_more(name):
    layer = LAYERS[name]
    code, access = Code(), Access()
    lane, few = ([work.cycles(access) for work in pair] for pair in (code.lane, code.few))
    one = code.one_tile.cycles(access)
    fork = code.fork.cycles(access) + argument_words(layer) * code.word.cycles(access)
    fork *= starts(layer, layer.sizes)
    for company, more, module in ((NE16_BESIDE, 0.0, "ne16"), (CLUSTER_BESIDE, fork, "cluster")):
        entered = code.entered[module]
        fetched = (entered.other - entered.mean) * access.far
        assert company.enter == pytest.approx(lane[0] - few[0] + fetched, abs=0.05)
        assert company.around(layer) == pytest.approx(lane[1] - few[1] + more, abs=0.05)
        alone = max(0.0, sum(lane) - one + more + fetched)
        assert company.more(layer, 1) == pytest.approx(alone, abs=0.05)
        assert company.more(layer, 3) == company.enter + 3 * company.around(layer)
        assert company.after_other == fetched
        assert company.after_own == (entered.same - entered.mean) * access.far


def repeated(shape):
    """A sum of two images, of which one of `shape` is repeated."""
    value, out = Quantized("uint8", 0.5, 0), (1, 6, 5, 4)
    tail = full_range("uint8", 0)
    return elementwise("add", value, value, value, shape=out, shape1=shape, out=out, tail=tail)


@pytest.mark.parametrize(
    ("layer", "count"),
    [
        (LAYERS["gru"], 12),
        (LAYERS["gru before"], 20),
        (LAYERS["lstm"], 5),
        (repeated((1, 6, 5, 4)), 1),
        (repeated((1, 1, 1, 4)), 1),
        (repeated((1, 6, 5, 1)), 1),
        (repeated((1, 6, 1, 4)), 6),
    ],
)
def test_kernels_are_started_as_often_as_emitted(layer, count):
    """Every step of a recurrent layer; axes that do not merge beyond rows of columns."""
    assert starts(layer, layer.sizes) == count


@pytest.mark.parametrize(
    ("before", "lines"),
    [((), "first"), (("cluster",), "first"), (("ne16", "cluster"), "other"), (("ne16",), "same")],
)
def test_code_comes_from_l2_where_other_code_ran(before, lines):
    timing = Gap9Timing(260e6)
    entered = getattr(timing.code.entered["ne16"], lines)
    assert timing.entering("ne16", before) == entered * timing.access.far > 0
    assert timing.entering("core", before) == 0


def beside(project, cache, access):
    """A project's NE16 steps: simulated cycles, and GVSoC's with a first cache of so much."""
    lines = (DATA / "gvsoc_gap9_today.csv").read_text().splitlines()
    timed = {
        (row["case"], row["what"]): float(row["gvsoc_cycles"])
        for row in csv.DictReader(line for line in lines if not line.startswith("#"))
    }
    manifest = gzip.decompress((DATA / f"{project}.json.gz").read_bytes())
    record = parse(json.loads(manifest), DATA)
    timing = Gap9Timing(260e6, access=access)
    run = ScratchpadSimulator(timing).run(steps(record, GAP9()), record=False)
    return np.array(
        [
            (step.cycles, timed[f"{project}_{cache}_words", f"step {number} ne16"])
            for number, step in enumerate(run.steps)
            if step.module == "ne16"
        ]
    )


@pytest.mark.parametrize("project", ["resnet8_f07b5e2a", "dscnn_f07b5e2a"])
def test_what_was_timed_where_all_code_is_cached(project):
    """So no count of fetched lines can make up for what the rest has wrong."""
    pairs = beside(project, "all", Access(near=0.0, far=0.0))
    errors = np.abs(pairs[:, 0] / pairs[:, 1] - 1)
    assert len(errors) >= 8
    assert errors.mean() <= 0.02
    assert errors.max() <= 0.04


@pytest.mark.parametrize(
    ("project", "mean", "worst", "whole"),
    [
        ("resnet8_b0cbba24", 0.05, 0.15, 0.02),
        ("dscnn_b0cbba24", 0.06, 0.10, 0.06),
        ("resnet8_f07b5e2a", 0.05, 0.10, 0.01),
        ("dscnn_f07b5e2a", 0.05, 0.10, 0.04),
    ],
)
def test_what_was_timed_of_later_code(project, mean, worst, whole):
    """All NE16 steps of two networks, which nothing is fitted to."""
    pairs = beside(project, "2048", Access())
    errors = np.abs(pairs[:, 0] / pairs[:, 1] - 1)
    assert len(errors) >= 8
    assert errors.mean() <= mean
    assert errors.max() <= worst
    assert abs(pairs[:, 0].sum() / pairs[:, 1].sum() - 1) <= whole


def test_the_emitted_code_has_become_cheaper():
    timed = sum(simulated(COMMIT_2AA2A23))
    assert sum(simulated(Code(), near=True)) < 0.9 * timed
    assert sum(simulated(Code())) > sum(simulated(Code(), near=True))


def test_what_kernels_do_around_their_loops_is_the_same_in_simulator_and_cost_model():
    """Counted once, written in both, since neither takes the other's code."""
    for name in ("ENTER", "ENTER_BY", "PART", "DIVIDE", "DIVISION"):
        assert getattr(workers, name) == getattr(pulp_rows, name), name
