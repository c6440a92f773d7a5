"""The simulated controller against what GVSoC measured of a network's emitted C."""

import csv
import gzip
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from match_aie.simulating import steps
from match_aie.simulation import ScratchpadSimulator
from match_aie.targets.gap9 import GAP9
from match_aie.targets.gap9.timing.controller import COMMIT_2AA2A23, Code
from match_aie.targets.gap9.timing.network import Gap9Timing
from match_aie.toolchain.record import parse

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
    cycles = simulated(COMMIT_2AA2A23)
    errors = [cycles[n - 1] / measured - 1 for n, measured, wanted in rows() if wanted == use]
    assert len(errors) >= 4
    assert np.mean(np.abs(errors)) <= 0.05
    assert np.max(np.abs(errors)) <= 0.10


def test_the_emitted_code_has_become_cheaper():
    timed = sum(simulated(COMMIT_2AA2A23))
    assert sum(simulated(Code(), near=True)) < 0.9 * timed
    assert sum(simulated(Code())) > sum(simulated(Code(), near=True))
