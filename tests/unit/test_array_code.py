"""The counting script counts what it says, and what should stand once in the array stands once."""

from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

SOURCE = '''"""A module.

With a docstring."""
# a comment

VALUE = (
    1,  # one

    2,
)


class Plan:
    """A plan."""

    @property
    def nest(self):
        """Loops."""
        return 0.0, 0.0

    def graph(self):
        return """text
that is no docstring"""


class Other:
    nest: tuple[float, float]

    def graph(self): ...


class Told(Protocol):
    def nest(self): ...

    def graph(self): ...


def plan_of():
    return ArrayProgram(1)
'''


@pytest.fixture
def code(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    import array_code  # a script, not the package's

    return array_code


def test_lines_of_code(code):
    assert code.code_lines(SOURCE) == 4 + 7 + 3 + 3 + 2


def test_what_is_counted(code, tmp_path):
    folder = tmp_path / "targets" / "aie_ml" / "graph"
    folder.mkdir(parents=True)
    (folder / "one.py").write_text(SOURCE)
    costs = tmp_path / "cost_models"
    costs.mkdir()
    (costs / "aie_one.py").write_text("x = 1\n")
    (costs / "cpu.py").write_text("x = 1\n")
    found = code.count(tmp_path)
    assert found["lines"] == found["lines of targets/aie_ml/graph"] + 1
    assert (found["ArrayProgram sites"], found["plan types"], found["plan_of"]) == (1, 2, 1)


def test_one_place_makes_programs(code):
    assert code.count()["ArrayProgram sites"] == 1
