"""A module that requantises in its own arithmetic: converted, bounded, run, and measured."""

import json
import shutil
from dataclasses import replace

import numpy as np
import pytest

import match_aie as match
from match_aie import report
from match_aie.demo import digits_model
from match_aie.errors import TargetError
from match_aie.hardware import Converted, MatchTarget, OwnArithmetic
from match_aie.targets.cpu import CPUModule
from match_aie.workload import FixedPoint, reference, to_fixed_point

pytestmark = pytest.mark.skipif(
    not any(map(shutil.which, ("cc", "gcc", "clang"))), reason="no C compiler"
)

#: Twelve bits are too few for the model's scales to be met exactly, so that deviations show.
HOW = FixedPoint(
    multiplier_bits=7, max_shift=40, bits=64, rounding="half_away", offset=False, inputs="centred",
    max_error_lsb=9.0,
)  # fmt: skip


class Shifter(CPUModule, OwnArithmetic):
    """The CPU's kernels with a multiplier and a shift for every layer but dense ones."""

    name = "shifter"
    arithmetic = "module"

    def convert(self, workload, constants):
        if workload.kind == "dense":
            return "the shifter has no dense layers"
        return to_fixed_point(workload, constants, HOW)


class Chip(MatchTarget):
    name = "chip"

    def __init__(self, *modules):
        self.units = modules

    def modules(self):
        return self.units


def test_layers_are_converted_and_their_deviation_is_measured(tmp_path):
    net = match.compile(digits_model(), Chip(Shifter(), CPUModule()), cache=False)
    layers = net.program.schedule.layers
    converted = [layer for layer in layers if layer.original]
    assert {layer.module for layer in converted} == {"shifter"}
    assert converted
    project = match.load(net.write(tmp_path / "net").folder)
    port = project.record.inputs[0]
    images = np.random.default_rng(3).standard_normal((3, *port.shape)).astype(np.float32)
    for image in images:
        result = project.run(image)
        assert result.matches_reference is True
        assert [d.symbol for d in result.deviations] == [layer.symbol for layer in converted]
        for deviation, layer in zip(result.deviations, converted, strict=True):
            assert deviation.error_lsb == layer.original.error_lsb > 0
            assert deviation.max_lsb <= deviation.error_lsb + 1
    assert any(d.max_lsb for d in result.deviations)
    manifest = json.loads(net.sources()["match_aie.json"])
    stored = {la["symbol"]: la["original"] for la in manifest["layers"] if la["original"]}
    assert stored.keys() == {layer.symbol for layer in converted}


def test_explain_tells_bounds_and_refusals():
    net = match.compile(digits_model(), Chip(Shifter(), CPUModule()), cache=False)
    told = report.compiled_report(net)
    step = next(s for s in told.layers if s.layer.module == "shifter" and s.layer.error_lsb)
    assert "LSB from the model's before it is rounded (proven)" in report.layer_text(told, step)
    assert report.step_json(told, step)["error_lsb"] == step.layer.error_lsb
    rows = report.step_json(told, step)["considered"]
    assert {row["module"]: row["error_lsb"] for row in rows} == {
        "shifter": step.layer.error_lsb,
        "cpu": None,
    }
    assert "the shifter has no dense layers" in report.refusals_text(told)


def test_the_models_arithmetic_can_be_asked_for():
    target = Chip(Shifter(), CPUModule())
    net = match.compile(digits_model(), target, arithmetic="model", cache=False)
    layers = net.program.schedule.layers
    assert not any(layer.original for layer in layers)
    # What it computes as the model does it may still run.
    assert {la.workload.kind for la in layers if la.module == "shifter"} <= {
        "quantize",
        "dequantize",
    }
    assert {la.module for la in layers if la.workload.macs} == {"cpu"}
    refusals = {o.reason for o in net.assignment.considered if o.candidate.layer is None}
    assert any("the model's was asked for" in reason for reason in refusals)


def test_a_module_that_converts_nothing_is_taken_at_its_word():
    class Silent(CPUModule, OwnArithmetic):
        name = "silent"
        arithmetic = "module"

    net = match.compile(digits_model(), Chip(Silent()), arithmetic="model", cache=False)
    assert net.program.schedule.layers == ()


def test_an_exact_conversion_is_the_models_arithmetic_too():
    class Exact(CPUModule, OwnArithmetic):
        name = "exact"
        arithmetic = "module"

        def convert(self, workload, constants):
            return Converted(workload, dict(constants))

    net = match.compile(digits_model(), Chip(Exact()), arithmetic="model", cache=False)
    assert net.program.schedule.layers


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda done: replace(done, error_lsb=float("nan")), "an error of nan LSB"),
        (lambda done: replace(done, constants={}), "constant weight is not"),
        (
            lambda done: replace(
                done,
                workload=replace(
                    done.workload,
                    operands=(
                        *done.workload.operands[:-1],
                        replace(done.workload.output, dtype="int16"),
                    ),
                ),
            ),
            "inputs and output",
        ),
    ],
)
def test_a_wrong_conversion_is_a_defect_of_the_target(spoil, message):
    class Wrong(Shifter):
        def convert(self, workload, constants):
            done = to_fixed_point(workload, constants, HOW)
            return spoil(done) if isinstance(done, Converted) and workload.macs else done

    with pytest.raises(TargetError, match=message):
        match.compile(digits_model(), Chip(Wrong()), cache=False)


def test_the_reference_of_a_conversion_needs_nothing_else():
    net = match.compile(digits_model(), Chip(Shifter(), CPUModule()), cache=False)
    layer = next(la for la in net.program.schedule.layers if la.original and la.workload.macs)
    x = layer.workload.inputs[0]
    value = np.full(x.shape, 3, x.dtype)
    got = reference(layer.workload, [value], dict(layer.constants))
    model = reference(layer.original.workload, [value], layer.original.constants)
    assert np.abs(got.astype(int) - model.astype(int)).max() <= layer.original.error_lsb + 1
