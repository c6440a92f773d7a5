"""Networks for DIANA, emitted, built and run: every layer equals its reference bit for bit."""

import runpy
import sys
import warnings
from pathlib import Path

import numpy as np
import onnx
import pytest
from diana_networks import Net, images, rows, sides

import match_aie as match
from match_aie.errors import OptionError
from match_aie.targets.diana import Diana
from tests.shared import HERE, model_file, random_inputs
from tests.thinned import thinned

BENCHMARKS = Path(__file__).resolve().parents[3] / "benchmarks"


def compiled(model, *sizes, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # an assumed batch of 1
        return match.compile(model, target=Diana(*sizes), **options)


def modules(net):
    """Who runs each step, in order."""
    steps = net.program.schedule.steps
    return [step.layer.module if step.layer else "fallback" for step in steps]


def run(net, folder, seed=0):
    return net.write(folder).run(random_inputs(net.inputs, np.random.default_rng(seed)), quick=True)


@pytest.mark.parametrize(
    ("make", "layers", "sizes"),
    thinned(
        [
            (images, 8, (2_048, 40_000)),
            (images, 8, (None, None)),
            (rows, 2, (192, 8_192)),
            (sides, 4, (None, None)),
            (sides, 4, (768, 9_216)),
        ],
        2,
    ),
)
def test_all_on_the_array(tmp_path, make, layers, sizes):
    """Powers of two run there from input to output, and differ from the model in halves only."""
    net = compiled(make().model(), *sizes)
    assert modules(net) == ["digital"] * layers
    result = run(net, tmp_path / "net")
    assert result.matches_reference
    assert result.layers_checked == layers
    assert all(d.error_lsb < 2.0**-15 and d.max_lsb <= 1 for d in result.deviations)
    (output,) = result.outputs.values()
    assert np.unique(output).size > 10


def test_ordinary_scales_run_on_the_array_where_a_loss_is_allowed(tmp_path):
    """Not asked: none of these layers. Asked: all, with each loss proven and measured."""
    net = Net((1, 8, 9, 9)).conv(24, scale=0.0061).conv(24, depthwise=True, scale=0.0043, relu=True)
    model = net.conv(16, size=1, scale=0.0052).model()
    assert "digital" not in modules(compiled(model))
    near = compiled(model, arithmetic="nearest")
    assert modules(near).count("digital") == 3  # the others put channels last and first
    result = run(near, tmp_path / "net")
    assert result.matches_reference
    assert len(result.deviations) == 3
    for deviation in result.deviations:
        assert 0.1 < deviation.error_lsb < 60
        assert deviation.max_lsb <= min(deviation.error_lsb + 1, 6)
    (output,) = result.outputs.values()
    assert np.unique(output).size > 10


def test_nearest_is_refused_where_no_module_has_it():
    with pytest.raises(OptionError, match="no module of target CPU"):
        match.compile(images().model(), "CPU", arithmetic="nearest")


def test_ragged_channels_are_cut_into_blocks(tmp_path):
    """24, 40 and 70 channels in blocks of 16 (depthwise 4), where not all weights fit at a time."""
    net = Net((1, 10, 6, 6)).conv(24).conv(24, depthwise=True).conv(40).conv(70, size=1)
    compilation = compiled(net.model(), 8_192, 6_144)
    steps = [step.layer for step in compilation.program.schedule.steps if step.layer]
    assert [layer.module for layer in steps] == ["digital"] * 4
    divided = [{loop.dim for loop in layer.tiles.loops} for layer in steps]
    assert "K" in divided[2]
    assert run(compilation, tmp_path / "net").matches_reference


def test_simulated_as_predicted():
    """Blocking: no transfer hides behind the array, and the cost model says the same."""
    run = compiled(images().model(), 2_048, 40_000).simulate()
    assert all(step.simulated for step in run.steps)
    predicted = np.array([step.predicted for step in run.steps])
    simulated = np.array([step.cycles for step in run.steps])
    assert np.abs(predicted / simulated - 1).max() < 0.05
    assert run.utilisation()["controller"] + run.utilisation()["digital"] == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"scale": 0.01}, "power of two"),
        ({"scale": 2.0**-40}, "a shift by 42"),
    ],
)
def test_others_stay_on_the_core(tmp_path, change, reason):
    net = compiled(Net((1, 8, 12, 12)).conv(16, size=1, **change).model())
    assert "digital" not in modules(net)
    assert any(reason in (option.reason or "") for option in net.assignment.considered)
    assert run(net, tmp_path / "net").matches_reference


@pytest.mark.slow
@pytest.mark.parametrize(
    "path",
    [
        *("resnet8_u8.onnx", "dscnn_u8.onnx", "dae_u8.onnx"),
        *("resnet8_i8.onnx", "dscnn_i8.onnx"),
        *(f"{name}.onnx" for name in HERE),
        *("mlp_3l_i8.onnx", "dense_1l_i8.onnx"),
    ],
)
def test_networks(tmp_path, path):
    result = run(compiled(model_file(path)), tmp_path / "net")
    assert result.matches_reference


@pytest.mark.slow
@pytest.mark.parametrize(
    ("path", "most"), [("resnet8_u8.onnx", 13), ("dscnn_u8.onnx", 9), ("dae_u8.onnx", 10)]
)
def test_networks_with_rounded_scales(tmp_path, monkeypatch, path, most):
    """As `benchmarks/diana.py` changes them: convolutions, sums and products are the array's."""
    monkeypatch.setattr(sys, "path", [str(BENCHMARKS), *sys.path])
    benchmark = runpy.run_path(str(BENCHMARKS / "diana.py"))
    net = compiled(benchmark["power_of_two"](onnx.load(model_file(path))))
    assert modules(net).count("digital") == most
    refused = [o for o in net.assignment.considered if o.candidate.module.name == "digital"]
    # DS-CNN's first filter is 10x4, which the array has not.
    assert all("filter" in str(option.reason) for option in refused if option.reason)
    assert run(net, tmp_path / "net").matches_reference
