"""Recurrent operators of TFLite files, compiled and run call by call beside numpy.

States are kept between calls, as LiteRT keeps its variable tensors.
"""

import numpy as np
import pytest

import match_aie as match
from tests.networks.lite_recurrent import TANH, Layer, built

UNI, BOTH = "UNIDIRECTIONAL_SEQUENCE_LSTM", "BIDIRECTIONAL_SEQUENCE_LSTM"
LAYERS = {
    "rnn": Layer("RNN", rows=2),
    "rnn of one unit": Layer("RNN", inputs=1, hidden=1),
    "sequence": Layer("UNIDIRECTIONAL_SEQUENCE_RNN", rows=3),
    "steps first": Layer("UNIDIRECTIONAL_SEQUENCE_RNN", rows=3, time_major=True, act=2),
    "one step": Layer("UNIDIRECTIONAL_SEQUENCE_RNN", steps=1, rows=2),
    "both ways, apart": Layer("BIDIRECTIONAL_SEQUENCE_RNN", rows=2, merged=False),
    "both ways": Layer("BIDIRECTIONAL_SEQUENCE_RNN", act=3),
    "filters": Layer("SVDF", rows=2, rank=2, memory=4, act=0),
    "filters without a bias": Layer("SVDF", biased=False, act=1),
    "filters that remember nothing": Layer("SVDF", memory=1),
    "cell": Layer("LSTM", rows=2),
    "cell, coupled gates": Layer("LSTM", coupled=True, peepholes=True),
    "gates": Layer(UNI),
    "gates, clipped cells": Layer(UNI, clips=(0.3, 0)),
    "gates of int8 weights": Layer(UNI, rows=2, codes="symmetric"),
    "gates of int8 weights, zero points": Layer(BOTH, codes="asymmetric"),
    "gates, steps first": Layer(UNI, rows=2, time_major=True, peepholes=True),
    "projected": Layer(UNI, rows=2, projected=3, clips=(0.4, 0.25)),
    "projected without a bias": Layer(UNI, projected=3, biased=False, act=0, clips=(0.9, 0)),
    "gates both ways": Layer(BOTH, rows=2),
    "gates both ways, apart": Layer(BOTH, merged=False, coupled=True, projected=4, act=TANH),
}


@pytest.mark.parametrize("name", LAYERS)
def test_calls_equal_numpy(name, tmp_path):
    made = built(LAYERS[name], seed=len(name))
    net = match.compile(made.file(), cache=False)
    stream = net.write(tmp_path / "net").stream()
    given = np.random.default_rng(7).standard_normal((3, *made.layer.given)).astype(np.float32)
    wanted = made.run(given)
    for x, expected in zip(given, wanted, strict=True):
        outputs = stream.step({"x": x})
        for key, values in expected.items():
            np.testing.assert_allclose(outputs[key], values, rtol=0, atol=3e-6)
    fresh = made.run(given[1:])[0]
    assert any(abs(fresh[key] - wanted[1][key]).max() > 1e-3 for key in fresh) or (
        made.layer.memory == 1
    ), "the first call must leave something for the second"
