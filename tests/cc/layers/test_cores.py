"""Layers divided over cores compute the same bits; what threads share is clean under sanitizers."""

from dataclasses import replace

import numpy as np
import pytest
import vector_cases
from layer_harness import COMPILERS
from test_vectors import ARCH, WIDER, has_vectors
from vector_harness import SANITIZERS, build, layer, run, small_cache

import match_aie as match
from match_aie.targets.cpu import CPU, cores
from match_aie.targets.cpu.machine import executes, machine
from tests.networks.graph import Graph
from tests.networks.quantised import unsigned
from tests.thinned import thinned

pytestmark = [
    pytest.mark.skipif(not COMPILERS, reason="no gcc and no clang"),
    pytest.mark.skipif(not has_vectors(), reason="this machine has no AVX2"),
]


@pytest.fixture(autouse=True)
def free_hand_over(monkeypatch):
    """So that even the smallest layers are divided."""
    monkeypatch.setattr(cores, "fork_join", lambda _: 0.0)


def layers_on(count, nbytes=None):
    facts = replace(machine(ARCH), cores=count)
    facts = small_cache(facts, nbytes) if nbytes else facts
    return [layer(w, facts, seed) for seed, w in enumerate(vector_cases.everything())]


def divided(layers):
    return [made for made in layers if made.module.split(made.workload) is not None]


@pytest.mark.parametrize(("count", "nbytes"), thinned([(2, None), (5, 1500)], 2, 1))
def test_equals_reference(count, nbytes, tmp_path):
    layers = layers_on(count, nbytes)
    assert len(divided(layers)) > 40
    assert {made.module.split(made.workload).dim for made in divided(layers)} >= {"K", "OY", "B"}
    run(layers, build(layers, tmp_path, COMPILERS[count % len(COMPILERS) :][:1], "-O1"))


@pytest.mark.skipif(not executes(machine(WIDER[-1])), reason=f"this machine is no {WIDER[-1]}")
def test_products_of_two_tensors_in_bytes(tmp_path):
    """Rows and matrices of a part begin anywhere."""
    facts = small_cache(replace(machine(WIDER[-1]), cores=3), 2000)
    found = [w for w in vector_cases.products() if w.kind == "matmul"]
    layers = [layer(w, facts, seed) for seed, w in enumerate(found)]
    assert {made.module.split(made.workload).dim for made in divided(layers)} == {"OY", "B"}
    run(layers, build(layers, tmp_path, COMPILERS[:1], "-O1"))


@pytest.mark.slow
def test_no_undefined_behaviour(tmp_path):
    """Every operand in a heap block of its exact size."""
    layers = layers_on(3, 2000)
    run(layers, build(layers, tmp_path, COMPILERS[:1], *SANITIZERS))


@pytest.mark.slow
@pytest.mark.parametrize("compiler", COMPILERS)
def test_no_data_race(compiler, tmp_path):
    layers = layers_on(3, 2000)
    run(layers, build(layers, tmp_path, (compiler,), "-g", "-O1", "-fsanitize=thread"))


def test_parts_of_one_size_compile_as_a_project_is_built(tmp_path):
    """A body may need no end of its part; compilers refuse what is not used."""
    graph = Graph(1)
    weight, bias = graph.normal(16, 8, 1, 1, deviation=0.3), graph.normal(16, deviation=0.1)
    y = graph.add("Conv", "x", weight, bias, kernel_shape=[1, 1])
    model = unsigned(graph.model("one", {"x": (1, 8, 48, 48)}, {y: (1, 16, 48, 48)}))
    net = match.compile(model, CPU(ARCH, cores=2), name="one")
    assert "one_layer1_part" in net.sources()["src/one.c"].decode()
    x = np.random.default_rng(0).standard_normal((1, 8, 48, 48)).astype(np.float32)
    assert net.write(tmp_path / "one").run({"x": x}, quick=True).matches_reference
