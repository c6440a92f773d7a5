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


@pytest.fixture
def prose(tables):
    import prose  # likewise

    return prose


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


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("It takes 3.2 ms there.", [(1, "3.2 ms")]),
        ("Two lines,\nand 9 times as fast.", [(2, "9 times as")]),
        ("| a | 12.5 % |", [(1, "12.5 %")]),
        ("Assumed. It makes 88 TOPS.", [(1, "88 TOPS")]),
        ("They assumed 25.6 GB/s of memory.", []),
        ("Published (arXiv:2410.08855) are 3.2 ms.", []),
        ("Within 1 %, as `tests/unit/test_x.py` holds.", []),
        ("<!-- value aie_network; mlp7_512; simulated_tops; 1 -->1.0<!-- end --> TOPS.", []),
        ("Tiles of 4 x 4, 512 bytes, 7 layers, version 3.11.", []),
    ],
)
def test_figures_that_nobody_vouches_for(prose, text, found):
    assert list(prose.typed(text)) == found


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_every_figure_in_a_sentence_has_an_origin(prose, document):
    """From a result, or assumed, asked for, published, or held by a file that is named."""
    if document.name not in ("CHANGELOG.md", "operators.md"):  # the latter is generated whole
        assert list(prose.typed(document.read_text())) == []


def test_a_figure_in_a_sentence_is_the_result(tables, prose, tmp_path):
    row = {"case": "a net", "metric": "ms", "value": 3.14159}
    (tmp_path / "found.json").write_text(json.dumps([row]))
    text = "It takes <!-- value found; a net; ms; 2 -->9.99<!-- end --> ms."
    made = prose.rewritten(text, tmp_path)
    assert made == text.replace("9.99", "3.14")
    with pytest.raises(KeyError, match="another"):
        prose.rewritten(text.replace("a net", "another"), tmp_path)


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
