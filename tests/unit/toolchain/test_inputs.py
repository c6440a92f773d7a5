import numpy as np
import pytest

from match_aie.codegen.port import PortRecord
from match_aie.errors import OptionError
from match_aie.toolchain.inputs import match_inputs

X = PortRecord("t0", "img:0", "float32", (2, 3), None, 0)
N = PortRecord("t1", "n", "int64", (), None, 0)
GOOD = np.zeros((2, 3), np.float32)


def test_one_array_for_one_input():
    assert match_inputs(GOOD, [X])["img:0"] is GOOD


def test_arrays_come_in_the_networks_order():
    given = {"n": np.array(3), "img:0": GOOD}
    assert list(match_inputs(given, [X, N])) == ["img:0", "n"]


@pytest.mark.parametrize(
    ("inputs", "ports", "says", "hint"),
    [
        (GOOD, [X, N], "2 inputs", "'n' (int64[])"),
        ({"y": GOOD}, [X], "no input 'y'", "img:0"),
        ({}, [X], "missing", "float32[2, 3]"),
        (GOOD.astype(np.float64), [X], "float64", "astype(numpy.float32)"),
        (GOOD.astype(">f4"), [X], ">f4", "astype"),
        (GOOD.T, [X], "[3, 2]", ""),
        (GOOD[0], [X], "[2, 3]", ""),
        ({"img:0": [[0.0] * 3] * 2}, [X], "list", "asarray"),
        ([1, 2], [X], "list", "asarray"),
        (None, [X], "NoneType", ""),
    ],
)
def test_what_does_not_fit_is_refused_with_a_hint(inputs, ports, says, hint):
    with pytest.raises(OptionError) as caught:
        match_inputs(inputs, ports)
    assert says in str(caught.value)
    assert hint in caught.value.hint
