"""Real networks in fixed point: bounds of every layer, and what emitted code really deviates by."""

import warnings

import numpy as np
import pytest

import match_aie as match
from match_aie import frontend, partition
from match_aie.hardware import MatchTarget, OwnArithmetic
from match_aie.targets.cpu import CPU, CPUModule
from match_aie.workload import FIXED_POINT_KINDS, FixedPoint, to_fixed_point
from tests.random_networks import random_network
from tests.shared import ALL_FILES, TFLITE_FILES, TINY, U8, model_file, random_inputs, recorded

pytestmark = pytest.mark.slow

#: Sixteen-bit multipliers within 32 bits, as NE16's; the cluster next to it takes centred inputs.
SIXTEEN = FixedPoint(inputs="prefer_raw")
#: What the CPU's templates run: bias before, zero point after.
ON_CPU = FixedPoint(rounding="half_up", offset=False, inputs="centred")
#: Bounds on differences from the model before rounding, in LSB, known from a study of these
#: networks with per-channel 16-bit multipliers and one shift per layer.
KNOWN = {"u8": 0.25, "tiny": 0.34}


def layers(path):
    """Every layer of a network that requantises sums."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = frontend.normalize(frontend.load(path))
    found = {}
    for candidate in partition.candidates(partition.to_graph(model), CPU()):
        layer = candidate.layer
        if layer is None or layer.workload.added:  # sums that follow are the model's
            continue
        if layer.workload.tail and layer.workload.kind in FIXED_POINT_KINDS:
            found.setdefault(layer.output, layer)
    return list(found.values())


@pytest.mark.parametrize("file", ALL_FILES)
def test_sixteen_bits_bound_every_layer(file):
    known = KNOWN["u8" if file.split(".")[0] in U8 else "tiny"]
    seen = layers(model_file(file))
    assert len(seen) >= 10
    for layer in seen:
        done = to_fixed_point(layer.workload, layer.constants, SIXTEEN)
        assert not isinstance(done, str), (layer.output, done)
        assert done.error_lsb <= known, layer.output


class Multiplier(CPUModule, OwnArithmetic):
    """The CPU's kernels with 16-bit multipliers."""

    name = "multiplier"
    arithmetic = "module"

    def convert(self, workload, constants):
        return to_fixed_point(workload, constants, ON_CPU)


class Chip(MatchTarget):
    name = "chip"

    def modules(self):
        return (Multiplier(),)


class Both(Chip):
    def modules(self):
        return (Multiplier(), CPUModule())


@pytest.mark.parametrize("file", [*(f"{n}.onnx" for n in U8), *TFLITE_FILES])
def test_emitted_code_deviates_by_one_step_at_most(file, tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        net = match.compile(model_file(file), Chip())
    project = net.write(tmp_path / "net")
    rng = np.random.default_rng(5)
    for _ in range(5):
        result = project.run(random_inputs(net.inputs, rng))
        assert result.matches_reference
        assert len(result.deviations) >= 10
        for deviation in result.deviations:
            assert deviation.max_lsb <= 1
            assert deviation.error_lsb < 1


@pytest.mark.parametrize("name", TINY)
def test_recorded_samples_are_classified_alike(name, tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        net = match.compile(model_file(f"{name}.tflite"), Chip())
    project = net.write(tmp_path / "net")
    given = recorded(name)
    for sample, expected in zip(given.inputs, given.outputs, strict=True):
        (got,) = project.run(sample.reshape(net.inputs[0].shape)).outputs.values()
        assert got.reshape(-1).argmax() == expected.reshape(-1).argmax()


@pytest.mark.parametrize("seed", range(15))
def test_random_networks_stay_within_their_bounds(seed, tmp_path):
    """Odd scales and zero points: what cannot be bounded is refused and runs in float32."""
    net = match.compile(random_network(9000 + seed, 1 + seed % 5), Both(), cache=False)
    project = net.write(tmp_path / "net")
    result = project.run(random_inputs(net.inputs, np.random.default_rng(seed)))
    assert result.mismatches == ()
    for deviation in result.deviations:
        bound = np.floor(deviation.error_lsb) + 1 if deviation.error_lsb else 0
        assert deviation.max_lsb <= bound
