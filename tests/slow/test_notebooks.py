"""The notebooks of `examples`, cell after cell, as they stand."""

import ast
import json
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


def executed(name: str) -> tuple[dict[str, object], list[str]]:
    """All that the cells define, and the drawings that they show."""
    space: dict[str, object] = {}
    drawings = []
    cells = json.loads((EXAMPLES / "notebooks" / name).read_text())["cells"]
    for number, cell in enumerate(cells):
        if cell["cell_type"] != "code":
            continue
        assert cell["outputs"] == []  # what a notebook shows comes from running it
        body = ast.parse("".join(cell["source"]))
        shown = body.body.pop() if isinstance(body.body[-1], ast.Expr) else None
        exec(compile(body, f"{name}, cell {number}", "exec"), space)
        if shown is not None:
            value = eval(
                compile(ast.Expression(shown.value), f"{name}, cell {number}", "eval"), space
            )
            if hasattr(value, "_repr_svg_"):
                drawings.append(value._repr_svg_())
    return space, drawings


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(EXAMPLES / "systolic"))


def test_each_has_a_test():
    assert {path.name for path in (EXAMPLES / "notebooks").iterdir()} == {
        *("gap9.ipynb", "jet_tagger.ipynb", "own_chip.ipynb"),
    }


def test_gap9():
    space, drawings = executed("gap9.ipynb")
    assert len(drawings) == 2
    assert drawings[0].startswith("<svg")
    times, joules = space["times"], space["joules"]
    assert times[64] <= times[16] <= times[8]
    assert joules["energy"] <= joules["latency"]


def test_jet_tagger():
    space, drawings = executed("jet_tagger.ipynb")
    assert len(drawings) == 1
    assert space["result"].matches_reference
    assert space["result"].outputs["q3"].any()
    each = space["each"]
    assert each[64] < each[8] < each[1]


def test_own_chip():
    space, drawings = executed("own_chip.ipynb")
    assert len(drawings) == 2
    assert space["result"].matches_reference
