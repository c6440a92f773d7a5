"""The door to array simulators: who answers, and what for mappings of the caller's own."""

import tomllib
from dataclasses import replace
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from match_aie.errors import InfeasibleError, TargetError
from match_aie.simulation import SpreadLayer, simulate_spread

ROOT = Path(__file__).resolve().parents[3]
GIVEN = SpreadLayer(
    "vek280", 256, 256, 256, reduction_parts=2, column_parts=4, row_parts=2, call_rows=32
)


@pytest.fixture(autouse=True)
def _registered(monkeypatch: pytest.MonkeyPatch) -> None:
    """As pyproject.toml says, whatever an editable install remembers."""
    groups = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["entry-points"]
    found = [
        EntryPoint(name, value, "match_aie.simulators")
        for name, value in groups["match_aie.simulators"].items()
    ]
    monkeypatch.setattr("match_aie.simulation.spread.entry_points", lambda group: found)


def test_a_given_mapping_is_simulated() -> None:
    answer = simulate_spread(GIVEN)
    assert (answer.tiles, len(answer.utilisation)) == (16, 16)
    assert answer.mapping.startswith("K/2 N/4 M/2, calls of 32x128x64")
    least = 256 * 256 * 256 / (16 * 256)
    assert least < answer.interval < 1.3 * least
    assert answer.tops == pytest.approx(2 * 256**3 * 1.25e9 / answer.interval / 1e12)


def test_another_epilogue_costs_what_it_costs() -> None:
    slower = simulate_spread(replace(GIVEN, epilogue="exposed"))
    assert slower.interval > 1.1 * simulate_spread(GIVEN).interval
    assert slower.mapping.endswith("exposed")


def test_what_is_not_given_is_searched() -> None:
    free = simulate_spread(SpreadLayer("vek280", 256, 256, 256, trace=True))
    assert free.interval < simulate_spread(GIVEN).interval
    assert free.timeline is not None


def test_unknown_devices_names_and_misfits_are_refused() -> None:
    with pytest.raises(TargetError, match="no installed simulator knows the device 'tpu'"):
        simulate_spread(replace(GIVEN, device="tpu"))
    with pytest.raises(TargetError, match="'quick' is none of"):
        simulate_spread(replace(GIVEN, epilogue="quick"))
    with pytest.raises(InfeasibleError):
        simulate_spread(replace(GIVEN, reduction_parts=30, column_parts=30, row_parts=1))


def test_calls_of_any_rows_have_a_block_that_divides_them() -> None:
    """Seven and eight tiles of rows: blocks of one row, and of two."""
    found = [simulate_spread(replace(GIVEN, call_rows=rows)) for rows in (28, 32)]
    assert all(result.mapping.startswith("K/2 N/4 M/2") for result in found)
    assert found[0].interval > found[1].interval


def test_a_call_may_have_fewer_columns_than_its_tile() -> None:
    halves = simulate_spread(replace(GIVEN, call_columns=32))
    assert halves.mapping.startswith("K/2 N/4 M/2, calls of 32x128x32")
    assert halves.interval > simulate_spread(GIVEN).interval
