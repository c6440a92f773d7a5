"""Arguments of a target from a file."""

import math

import numpy as np
import pytest

from match_aie.errors import OptionError, TargetError
from match_aie.hardware import load_target, read_options
from match_aie.targets.diana import Diana
from match_aie.targets.gap9 import GAP9


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


@pytest.mark.parametrize(
    ("target", "options", "says"),
    [
        ("GAP9", {"l1_bytes": 1.5}, "a whole number or nothing"),
        ("GAP9", {"l1_bytes": True}, "a whole number or nothing"),
        ("GAP9", {"l1_bytes": "a"}, "a whole number or nothing"),
        ("GAP9", {"handover": "no"}, "true or false"),
        ("GAP9", {"modules": "ne16"}, "a list"),
        ("GAP9", {"modules": ["ne16", 3]}, "a list"),
        ("GAP9", {"frequency_mhz": math.inf}, "a number"),
        ("GAP9", {"frequency_mhz": "260"}, "a number"),
        ("Diana", {"conversion_cycles": math.nan}, "a number or nothing"),
        ("VersalAIEML", {"columns_per_layer": 1.5}, "a whole number or nothing"),
        ("XDNA", {"device": None}, "a word"),
        ("CPU", {"cache_bytes": 5}, "a list or nothing"),
    ],
)
def test_an_option_of_another_type_is_refused(target, options, says):
    with pytest.raises(TargetError, match=f"{next(iter(options))} is ") as refused:
        load_target(target, options)
    assert says in refused.value.hint


@pytest.mark.parametrize("target", [GAP9, Diana])
def test_a_constructor_refuses_what_a_file_may_not_say(target):
    """By the same types: text for bytes ended in Python's own errors, and True was a byte."""
    for name, wrong in (("frequency_mhz", "260"), ("frequency_mhz", math.inf)):
        with pytest.raises(TargetError, match=f"{name} is "):
            target(**{name: wrong})
    sizes = ("l1_bytes", "l2_bytes") if target is GAP9 else ("activation_bytes", "weight_bytes")
    for name in sizes:
        for wrong in ("64k", True, 1600.5, [1024]):
            with pytest.raises(TargetError, match=f"{name} is "):
                target(**{name: wrong})


@pytest.mark.parametrize("target", ["CPU", "Diana", "GAP9", "VersalAIEML", "XDNA"])
def test_options_of_a_target_make_it_again(target):
    made = load_target(target)
    assert load_target(target, made.options()).options() == made.options()


def test_numbers_of_numpy_are_numbers():
    options = {"l1_bytes": np.int64(40000), "frequency_mhz": np.float32(100), "modules": ("ne16",)}
    assert load_target("GAP9", options).l1_bytes == 40000
