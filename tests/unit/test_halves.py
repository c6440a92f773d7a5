"""When layers of an encoder start on an array in two partitions."""

from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

ROWS = {"GELU 1": 1.0, "GELU 2": 2.0, "sum": 3.0, "norm": 4.0, "GELU": 5.0}
DENSE = {
    "convolution_1": 10.0,
    "convolution_2": 20.0,
    "into_heads": 30.0,
    "of_heads": 40.0,
    "wide": 50.0,
    "back": 60.0,
}


@pytest.fixture
def halves(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    import xdna_halves  # a script, not the package's

    return xdna_halves


def test_who_does_one_thing_does_no_other(halves):
    plan = halves.Schedule()
    first = plan.add(halves.DENSE, 2.0)
    plan.add(halves.DENSE, 3.0)
    plan.add(halves.ATTENTION, 4.0, first)
    plan.add(halves.PROCESSOR, 1.0)
    assert plan.ends() == [2.0, 5.0, 6.0, 1.0]


def test_the_earliest_possible_task_goes_first(halves):
    plan = halves.Schedule()
    slow = plan.add(halves.PROCESSOR, 10.0)
    plan.add(halves.DENSE, 1.0, slow)
    plan.add(halves.DENSE, 4.0)
    assert plan.ends() == [10.0, 11.0, 4.0]


def test_a_window_without_chunks_is_one_task_after_the_other(halves):
    pieces = halves.Pieces(1, DENSE, 70.0, ROWS, (0.5, 0.25, 0.125), 0.75)
    layer = 4 + 30 + 0.125 + 0.75 + 70 + 40 + 3 + 4 + 50 + 5 + 60 + 3
    before = 0.5 + 10 + 1 + 0.25 + 20 + 2 + 3
    assert pieces.alone() == pytest.approx(before + 6 * layer + 4)


@pytest.mark.parametrize("chunks", [2, 3])
def test_chunks_hide_and_never_more_than_the_slowest_partition_takes(halves, chunks):
    dense = {name: value if "conv" in name else value / chunks for name, value in DENSE.items()}
    pieces = halves.Pieces(chunks, dense, 70.0 / chunks, ROWS, (0.5, 0.25, 0.125))
    whole = halves.Pieces(1, DENSE, 70.0, ROWS, (0.5, 0.25, 0.125))
    busy = sum(DENSE[name] for name in ("convolution_1", "convolution_2"))
    busy += 6 * sum(DENSE[name] for name in ("into_heads", "of_heads", "wide", "back"))
    assert busy < pieces.alone() < whole.alone()
    assert busy < pieces.each() < pieces.alone()
