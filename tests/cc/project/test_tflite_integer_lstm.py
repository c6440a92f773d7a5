"""LSTMs of integers in TFLite files: LiteRT's own results, the formulas and what is compiled."""

from pathlib import Path

import numpy as np
import pytest

import match_aie as match
from tests.networks.lite_integer_lstm import LAYERS, built

RECORDED = Path(__file__).parents[2] / "data" / "lite_integer_lstm.npz"


@pytest.mark.parametrize("name", LAYERS)
def test_formulas_give_what_litert_gave(name):
    made = built(LAYERS[name], seed=len(name))
    with np.load(RECORDED) as recorded:
        np.testing.assert_array_equal(np.array(made.run(made.calls())), recorded[name])


@pytest.mark.parametrize("name", LAYERS)
def test_calls_give_what_litert_gave(name, tmp_path):
    made = built(LAYERS[name], seed=len(name))
    net = match.compile(made.file(), cache=False)
    stream = net.write(tmp_path / "net").stream()
    with np.load(RECORDED) as recorded:
        for x, expected in zip(made.calls(), recorded[name], strict=True):
            np.testing.assert_array_equal(stream.step({"x": x})["y"], expected)
