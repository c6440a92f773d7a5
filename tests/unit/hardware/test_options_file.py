"""Arguments of a target from a file."""

import pytest

from match_aie.errors import OptionError
from match_aie.hardware import read_options


@pytest.mark.parametrize(
    ("name", "text", "why"),
    [
        ("a.json", "{", "cannot be read"),
        ("a.yaml", "a: [", "cannot be read"),
        ("a.yml", "- 1\n- 2\n", "holds no names with values"),
        ("a.json", "[1]", "holds no names with values"),
        ("a.yaml", "3: x\n", "holds no names with values"),
        ("a.txt", "memory: plio\n", "neither YAML nor JSON"),
        ("a.yaml", "a: !!python/object/apply:os.getcwd []\n", "cannot be read"),
    ],
)
def test_what_holds_no_options_is_refused(tmp_path, name, text, why):
    (tmp_path / name).write_text(text)
    with pytest.raises(OptionError, match=why) as caught:
        read_options(tmp_path / name)
    assert name in caught.value.where


def test_a_file_that_is_not_there_is_refused(tmp_path):
    with pytest.raises(OptionError, match="cannot be read"):
        read_options(tmp_path / "none.json")


def test_both_kinds_hold_the_same(tmp_path):
    (tmp_path / "a.yaml").write_text("memory: plio\nlayers:\n  fc1: {columns: 2}\n")
    (tmp_path / "a.json").write_text('{"memory": "plio", "layers": {"fc1": {"columns": 2}}}')
    found = [read_options(tmp_path / name) for name in ("a.yaml", "a.json")]
    assert found[0] == found[1] == {"memory": "plio", "layers": {"fc1": {"columns": 2}}}
