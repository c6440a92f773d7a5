"""Networks with signed activations made unsigned: the emitted code gives the same bits."""

import warnings

import numpy as np
import pytest

import match_aie as match
from match_aie.hardware import Rewrites
from match_aie.targets.cpu import CPU
from tests.random_networks import random_network
from tests.shared import TINY, model_file, random_inputs, recorded
from tests.thinned import thinned

pytestmark = pytest.mark.slow


class Unsigned(CPU, Rewrites):
    """The CPU as if it had no signed activations."""

    activations = "unsigned"


def projects(model, folder):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        nets = [match.compile(model, target) for target in (CPU(), Unsigned())]
    return nets, [net.write(folder / str(i)) for i, net in enumerate(nets)]


@pytest.mark.parametrize("name", TINY)
def test_a_tflite_network_gives_the_same_bits(name, tmp_path):
    nets, made = projects(model_file(f"{name}.tflite"), tmp_path)
    for layer in nets[1].program.schedule.layers:
        types = {o.dtype for o in (*layer.workload.inputs, layer.workload.output)}
        assert types <= {"uint8", "float32"}
    port = nets[0].inputs[0]
    samples = [s.reshape(port.shape) for s in recorded(name).inputs]
    rng = np.random.default_rng(1)
    samples += [random_inputs(nets[0].inputs, rng)[port.name] for _ in range(20)]
    for sample in samples:
        before, after = (project.run(sample) for project in made)
        assert before.matches_reference
        assert after.matches_reference
        for key, value in before.outputs.items():
            np.testing.assert_array_equal(after.outputs[key], value)


@pytest.mark.parametrize("seed", thinned(range(20), 2, mark="long"))
def test_a_random_network_gives_the_same_bits(seed, tmp_path):
    nets, made = projects(random_network(7000 + seed, 1 + seed % 5), tmp_path)
    feeds = random_inputs(nets[0].inputs, np.random.default_rng(seed))
    before, after = (project.run(feeds) for project in made)
    assert before.mismatches == after.mismatches == ()
    for key, value in before.outputs.items():
        np.testing.assert_array_equal(after.outputs[key], value)
