"""What `run` says was compared, and how."""

import numpy as np

from match_aie.cli.running import result_json, result_text
from match_aie.toolchain import Closeness, LayerMismatch, RunResult

OUTPUTS = {"y": np.zeros((1, 2), np.float32)}
CLOSE = (Closeness("a", "net_layer0", 0.125, 1e-7), Closeness("b", "net_layer2", 0.5, 2e-6))


def text(**changes):
    return result_text(RunResult(OUTPUTS, **changes), "given")


def test_integers_bit_for_bit():
    assert "reference  1 layer equals its numpy reference bit for bit\n" in text(
        matches_reference=True, layers_checked=1
    )


def test_floats_within_their_bounds():
    said = text(matches_reference=True, layers_checked=2, floats=CLOSE)
    assert "bit for bit" not in said
    assert "2 float layers within the error bound of every element, at most 50 % of it used" in said


def test_both():
    said = text(matches_reference=True, layers_checked=5, floats=CLOSE)
    assert "3 layers equal their numpy reference bit for bit; 2 float layers within" in said


def test_a_mismatch():
    wrong = LayerMismatch("b", "net_layer2", 3, 10, (0, 1), 1.0, 2.0)
    said = text(matches_reference=False, layers_checked=5, mismatches=(wrong,), floats=CLOSE)
    assert "1 of 5 layers DIFFER" in said
    assert "b (net_layer2): 3 of 10 elements differ, first [0, 1]: 1 instead of 2" in said


def test_the_optimiser_is_named_where_it_differs():
    same = text(max_lsb_vs_model={"y": 1}, optimiser_lsb={"y": 0}, optimiser_abs={"y": 0.0})
    assert "at most 1 LSB from the model in onnxruntime, unoptimised (measured)" in same
    assert "optimiser:" not in same
    other = text(max_lsb_vs_model={"y": 0}, optimiser_lsb={"y": 127})
    assert "onnxruntime's own optimiser: at most 127 LSB from the model (measured)" in other
    real = text(max_abs_vs_model={"y": 0.0}, optimiser_abs={"y": 0.25})
    assert "onnxruntime's own optimiser: at most 0.25 from the model" in real


def test_json():
    result = RunResult(OUTPUTS, layers_checked=5, floats=CLOSE, optimiser_lsb={"y": 127})
    shown = result_json(result, "given")
    assert shown["float_layers"][1] == {
        "layer": "b",
        "symbol": "net_layer2",
        "bound_used": 0.5,
        "max_abs": 2e-6,
    }
    assert shown["optimiser_lsb"] == {"y": 127}
    assert shown["optimiser_abs"] == {}
