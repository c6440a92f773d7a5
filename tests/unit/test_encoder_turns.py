"""Windows of an encoder whose programs take turns on an array, beside the processor."""

from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def turns(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    import xdna_turns  # a script, not the package's

    return xdna_turns


def steps_of(turns, *pairs):
    return tuple(turns.Step(takes, program) for takes, program in pairs)


def test_a_window_alone_is_all_of_its_steps_and_switches(turns) -> None:
    steps = steps_of(turns, (1, ""), (2, "a"), (3, ""), (4, "a"), (5, "b"), (6, ""))
    assert turns.switches(steps) == 2  # the set before it left b
    # The array is configured while the processor begins.
    assert turns.took(steps, 1, 10.0) == 10 + 2 + 3 + 4 + 10 + 5 + 6
    assert turns.took(steps, 1, 0.5) == 1 + 2 + 3 + 4 + 0.5 + 5 + 6


def test_the_processor_has_one_window_while_the_array_has_another(turns) -> None:
    steps = steps_of(turns, (2, "a"), (1, ""), (2, "a"), (1, ""))
    assert turns.switches(steps) == 0
    assert turns.took(steps, 1, 9.0) == 6
    assert turns.took(steps, 2, 9.0) == 9  # the array never waits, and one part is left behind it
    assert turns.took(steps, 10, 9.0) == 41


def test_where_the_processor_takes_longer_it_is_the_bound(turns) -> None:
    steps = steps_of(turns, (1, "a"), (3, ""))
    assert turns.took(steps, 5, 9.0) == 1 + 15


def test_each_program_takes_all_windows_before_the_next_one(turns) -> None:
    steps = steps_of(turns, (1, "a"), (1, "b"), (1, "a"))
    assert turns.switches(steps) == 2
    assert turns.took(steps, 4, 100.0) == 12 + 2 * 100
    per_window = [turns.took(steps, many, 100.0) / many for many in (1, 4, 16)]
    assert per_window == sorted(per_window, reverse=True)


def test_a_window_has_every_layer_of_the_encoder(turns) -> None:
    rows = dict.fromkeys(("GELU 1", "GELU 2", "sum", "norm", "GELU"), 1.0)
    dense = ("dense, into heads", "dense, of heads", "dense, wide", "dense, back")
    array = dict.fromkeys(("convolution 1", "convolution 2", *dense, "attention"), 1.0)
    program = dict.fromkeys(array, "dense") | {"attention": "attention"}
    steps = turns.window(array, rows, (1.0, 1.0), program)
    assert sum(step.takes for step in steps if step.program) == 2 + 6 * 5
    # Two tables, thirteen sums and norms, a table of each layer, two copies.
    assert sum(step.takes for step in steps if not step.program) == 2 + 13 + 13 + 6 + 2
    assert turns.switches(steps) == 12
