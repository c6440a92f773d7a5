"""Shapes with ranges, as users write them."""

import numpy as np
import pytest

from match_aie.errors import OptionError
from match_aie.ranges import of_model, read
from match_aie.workload import Size


def test_fixed_shapes_have_no_sizes():
    ranges = read({"x": (1, 3, "4")}, {})
    assert ranges.sizes == ()
    assert ranges.most == {"x": (1, 3, 4)}
    assert read(None, {}).most == {}


def test_a_range_is_called_as_the_model_calls_it():
    ranges = read({"x": ("1..128", 384)}, {"x": ("batch", "")})
    assert ranges.sizes == (Size("batch", 1, 128),)
    assert ranges.at((7,)) == {"x": (7, 384)}


def test_one_name_is_one_size():
    names = {"ids": ("batch", "length"), "mask": ("batch", "length")}
    shapes = {"ids": ("1..4", "2..48"), "mask": ("1..4", "2..48")}
    ranges = read(shapes, names)
    assert ranges.sizes == (Size("batch", 1, 4), Size("length", 2, 48))
    assert ranges.at((3, 5)) == {"ids": (3, 5), "mask": (3, 5)}
    assert read({"ids": (1, "n:2..48"), "mask": (1, "n")}, names).sizes == (Size("n", 2, 48),)


def test_the_only_range_needs_no_name():
    assert read({"x": ("1 .. 8", 3)}, {}).sizes == (Size("n", 1, 8),)
    assert read({"x": ("1..8", 3)}, {"x": ("unk__1 + 1",)}).sizes == (Size("n", 1, 8),)


@pytest.mark.parametrize(
    ("shapes", "says"),
    [
        ({"x": ("1..8", "1..4")}, "has no name"),
        ({"x": ("0..8",)}, "holds no size"),
        ({"x": ("9..8",)}, "holds no size"),
        ({"x": ("1...8",)}, "neither a size nor a range"),
        ({"x": ("-1",)}, "neither a size nor a range"),
        ({"x": ("n:1..8",), "y": ("n:1..9",)}, "n is 1..8 and 1..9"),
        ({"x": ("n:1..8",), "y": ("N:1..9",)}, "differ in case"),
        ({"x": ("m", "n:1..8")}, "no axis says its range"),
        ({"x": ("a:1..8", "b:1..8", "c:1..8")}, "2 at most"),
        ({"x": (1, (4, 97))}, "neither a size nor a range"),
        ({"x": (1.5, 3)}, "neither a size nor a range"),
        ({"x": (True, 3)}, "neither a size nor a range"),
        ({"x": ("\N{SUPERSCRIPT TWO}",)}, "neither a size nor a range"),
        ({"x": ("9" * 5000,)}, "neither a size nor a range"),
        ({"x": ("1.." + "9" * 5000,)}, "neither a size nor a range"),
        ({"x": (np.array([2]), 3)}, "neither a size nor a range"),
    ],
)
def test_what_means_nothing_is_refused(shapes, says):
    with pytest.raises(OptionError, match=says):
        read(shapes, {})


@pytest.mark.parametrize(
    "shapes", [{"x": 4}, {"x": None}, {"x": "4,6"}, {"x": {4, 6}}, {"x": {0: 4}}, {1: (4, 6)}, [1]]
)
def test_shapes_are_names_with_sizes(shapes):
    with pytest.raises(OptionError, match="no names with sizes"):
        of_model(b"", shapes)


def test_sizes_may_be_numbers_of_numpy():
    assert of_model(b"", {"x": np.array([2, 3])}).most == {"x": (2, 3)}
