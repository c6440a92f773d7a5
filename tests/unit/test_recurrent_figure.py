"""The figure of a GRU's step has every way of the committed results as a curve."""

import json
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def figure(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    import recurrent_figure  # a script, not the package's

    return recurrent_figure


@pytest.fixture
def results():
    return json.loads((ROOT / "benchmarks" / "results" / "aie_sequence.json").read_text())


def test_every_way_is_drawn_over_hidden_units(figure, results):
    drawn = list(figure.points(results, "hidden"))
    assert {each["way"] for each in drawn} == set(figure.WAYS.values())
    ours = {each["size"]: each["us"] for each in drawn if each["way"] == figure.WAYS[""]}
    assert sorted(ours) == [4, 8, 16, 32, 48, 64, 96, 128]
    for each in drawn:
        assert each["least"] <= each["us"] <= each["most"]
        if each["way"] in [figure.WAYS[way] for way in ("rows", "cascade", "hybrid")]:
            best = ours[each["size"]]
            # From 48 units on a published way is the search's own.
            assert each["us"] > best or (each["size"] > 32 and each["us"] == best)


def test_inputs_hide_until_their_tile_is_the_slower(figure, results):
    """A plateau up to 128 inputs, and one tile that has none."""
    drawn = list(figure.points(results, "inputs"))
    by = {(each["way"], each["size"]): each["us"] for each in drawn}
    apart, one = figure.WAYS["apart"], figure.WAYS["one_tile"]
    assert by[apart, 4] == by[apart, 128] < by[one, 4] < by[one, 64] < by[one, 128]


def test_it_is_a_picture(figure, results):
    drawing = figure.drawing(results, "hidden")
    assert drawing.name == "gru-step-hidden"
    assert drawing.svg().startswith(b"<svg")


def test_float32_is_a_picture_of_its_own(figure, results):
    drawn = list(figure.points(results, "hidden", single=True))
    assert {each["way"] for each in drawn} == set(figure.SINGLE_WAYS.values())
    assert {each["size"] for each in drawn if each["way"] == "gates in logic"} >= {16, 32, 64, 128}
    assert figure.drawing(results, "hidden", single=True).name == "gru-step-float32"
