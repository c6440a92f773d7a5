"""Published kernel cycles, row by row, with the kernel that each row's variant names."""

import csv
from pathlib import Path

import pytest

from match_aie.targets.aie_ml import device
from tests.shared import DATA

ROOT = Path(__file__).resolve().parents[4]
FILE = DATA / "aie_calibration.csv"


def test_rows_with_a_variant_are_reproduced(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    from aie_calibration import CASES, reproduced  # a script's module, not the package's

    with FILE.open() as handle:
        entries = [entry for entry in csv.DictReader(handle) if entry["variant"]]
    vek280 = device("vek280")
    errors = [abs(100 * (reproduced(e, vek280) / float(e["value"]) - 1)) for e in entries]
    assert len(errors) == len(CASES)
    assert max(errors) <= 5.0
    assert sum(errors) / len(errors) <= 3.0
