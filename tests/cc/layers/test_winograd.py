"""Minimal filtering equals the reference bit for bit, at all sizes and up to its proven bounds."""

import tempfile
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest
import vector_cases
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from layer_harness import COMPILERS
from test_vectors import ARCH, has_vectors
from vector_harness import SANITIZERS, Layer, build, filtered, run, small_cache
from workload_cases import arrays, requantised

from match_aie.targets.cpu import cores
from match_aie.targets.cpu.machine import machine, with_caches
from match_aie.targets.cpu.winograd import refuses_constants
from match_aie.workload import Quantized, Window, conv2d, full_range
from tests.thinned import thinned

pytestmark = [
    pytest.mark.skipif(not COMPILERS, reason="no gcc and no clang"),
    pytest.mark.skipif(not has_vectors(), reason="this machine has no AVX2"),
]
#: One compilation tests many layers, so a failure is not shrunk: it names its workload.
MANY = settings(max_examples=2, deadline=None, derandomize=True, phases=[Phase.generate])


@st.composite
def layers_of(draw):
    """A 3x3 convolution of any size, quantisation and tail, filtered in one of the two ways."""
    image, channels = (draw(st.integers(1, 2)), *draw(extents())), draw(st.integers(16, 50))
    outputs = draw(st.integers(1, 40))
    y, tail, scales = draw(requantised(outputs))
    zero = draw(st.sampled_from([0, 255, 77]))
    x = draw(st.sampled_from([Quantized("uint8", 0.02, zero), Quantized("int8", 0.1, zero - 128)]))
    padding = tuple(draw(st.integers(0 if image[1 + i % 2] > 2 else 1, 2)) for i in range(4))
    w = conv2d(
        x, y, shape=(*image, channels), weight_shape=(outputs, 3, 3, channels), tail=tail,
        window=Window(padding=padding), scales=scales,
    )  # fmt: skip
    caches = draw(
        st.sampled_from([{}, {1: 4000}, {2: 4000}])
    )  # of a small second one is asked ahead
    seed, way = draw(st.integers(0, 2**32 - 1)), draw(st.integers(0, 1))
    return filtered(w, with_caches(machine(ARCH), caches), seed)[way]


def extents():
    return st.tuples(st.integers(1, 13), st.integers(1, 13))


def exact(made):
    _, constants = made.data()
    return refuses_constants(made.module.outputs, made.workload, constants) is None


@pytest.mark.parametrize("compiler", thinned(COMPILERS, 2))
def test_equals_reference(compiler):
    @MANY
    @given(st.lists(layers_of().filter(exact), min_size=8, max_size=8))
    def holds(layers):
        with tempfile.TemporaryDirectory() as folder:
            run(layers, build(layers, Path(folder), (compiler,), "-O1"))

    holds()


def listed(facts):
    cases = enumerate([*vector_cases.filtered(), *vector_cases.filtered_sums()])
    return [made for seed, w in cases for made in filtered(w, facts, seed)]


@pytest.mark.parametrize("step", [pytest.param(3, marks=pytest.mark.slow), 9])
def test_no_undefined_behaviour(step, tmp_path):
    """Under the sanitizers, every operand in a heap block of its exact size."""
    small = small_cache(machine(ARCH), 2000)
    layers = [*listed(machine(ARCH))[::step], *listed(small)[1 :: step + 2]]
    run(layers, build(layers, tmp_path, COMPILERS[:1], *SANITIZERS))


@pytest.mark.parametrize("count", [pytest.param(2, marks=pytest.mark.slow), 5])
def test_divided_over_cores(count, tmp_path, monkeypatch):
    monkeypatch.setattr(cores, "fork_join", lambda _: 0.0)
    layers = listed(replace(machine(ARCH), cores=count))
    splits = [made.module.split(made.workload) for made in layers]
    assert {split.dim for split in splits if split} >= {"K", "OY"}
    run(layers, build(layers, tmp_path, COMPILERS[-1:], "-O1"))


@pytest.mark.slow
def test_no_data_race(tmp_path, monkeypatch):
    monkeypatch.setattr(cores, "fork_join", lambda _: 0.0)
    layers = listed(replace(machine(ARCH), cores=3))
    run(layers, build(layers, tmp_path, COMPILERS[:1], "-g", "-O1", "-fsanitize=thread"))


@dataclass(frozen=True, eq=False)
class Extreme(Layer):
    """Weights, data and bias that add up to the largest sums, or to the least."""

    sign: int = 1

    def data(self):
        inputs, constants = arrays(self.workload, self.seed)
        bound = np.iinfo(np.int32).max >> (2 if self.module.outputs == 2 else 6)
        terms = 9 * self.workload.sizes["C"]
        constants["weight"][:] = 127 * self.sign
        constants["bias"][:] = self.sign * (bound - terms * 127 * 255)
        constants["scale"][:] = 2.0**-20
        return [np.full_like(inputs[0], 255)], constants


@pytest.mark.parametrize("sign", [1, -1])
def test_the_largest_sums_are_exact(sign, tmp_path):
    """At the bound below which layers are taken; one more, and they are refused."""
    x, y = Quantized("uint8", 0.02, 0), Quantized("int8", 0.1, 0)
    w = conv2d(
        x, y, shape=(1, 6, 5, 112), weight_shape=(9, 3, 3, 112), tail=full_range("int8", 0),
        window=Window(), scales=1,
    )  # fmt: skip
    plain = filtered(w, ARCH)
    layers = [Extreme(m.workload, m.module, m.mapping, 0, sign) for m in plain]
    assert all(exact(made) for made in layers)
    for made in layers:
        _, constants = made.data()
        constants["bias"] = constants["bias"] + sign
        assert "does not fit" in refuses_constants(made.module.outputs, w, constants)
    run(layers, build(layers, tmp_path, COMPILERS[:1], "-O1"))
