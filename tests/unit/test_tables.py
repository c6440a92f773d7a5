"""The documents' tables are what the committed results say."""

import json
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
DOCUMENTS = (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")))


@pytest.fixture
def tables(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    import tables  # a script, not the package's

    return tables


def test_documents_hold_the_results(tables):
    assert tables.write(check=True) == []


def test_every_table_has_its_place(tables):
    found = [m[1] for d in DOCUMENTS for m in re.finditer(r"<!-- table (\w+) -->", d.read_text())]
    assert sorted(found) == sorted(tables.TABLES)


def test_a_number_typed_by_hand_is_found(tables):
    text = "before\n<!-- table gap9_networks -->\n| dae | 0.001 |\n<!-- end -->\nafter\n"
    made = tables.rewritten(text)
    assert "0.001" not in made
    assert made.startswith("before\n<!-- table gap9_networks -->\n")
    assert made.endswith("<!-- end -->\nafter\n")
    assert tables.rewritten(made) == made


def test_a_result_that_is_missing_is_named(tables, tmp_path):
    rows = json.loads((tables.RESULTS / "diana.json").read_text())
    kept = [row for row in rows if row["metric"] != "array_cycles"]
    (tmp_path / "diana.json").write_text(json.dumps(kept))
    with pytest.raises(KeyError, match="array_cycles"):
        tables.table("diana_networks", tmp_path)


def test_results_name_the_machine():
    for file in sorted((ROOT / "benchmarks" / "results").glob("*.json")):
        rows = json.loads(file.read_text())
        assert any(row["case"] == "machine" and row["metric"] == "name" for row in rows), file.name
