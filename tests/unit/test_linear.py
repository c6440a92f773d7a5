"""Stages take as long as the network is: what they do is counted at n and at 2n."""

import json
import random

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

import match_aie
from match_aie import mapping, partition
from match_aie.codegen.manifest import dump
from match_aie.frontend import load, normalize
from match_aie.hardware import first_fit as packing
from match_aie.mapping import facts
from match_aie.options import CompileOptions
from match_aie.partition import cover, solve
from match_aie.partition.pricing import Pricing
from match_aie.priced import Resources, price
from match_aie.report import network_page
from match_aie.targets.cpu import CPU
from tests.counting import growth

#: Linear, with a logarithm at most.
LINEAR = 2.4


def chain(length, link, constants=()):
    """A model of `length` nodes made by `link(name read, name before that, name written)`."""
    names = ["x", *(f"v{i}" for i in range(length - 1)), "y"]
    ports = [helper.make_tensor_value_info(n, TensorProto.FLOAT, [1, 4]) for n in ("x", "y")]
    nodes = [link(names[i], names[max(i - 1, 0)], names[i + 1]) for i in range(length)]
    stored = [onnx.numpy_helper.from_array(held, name) for name, held in constants]
    graph = helper.make_graph(nodes, "chain", ports[:1], ports[1:], stored)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def products(length):
    link = lambda read, _, made: helper.make_node("MatMul", [read, "m"], [made])  # noqa: E731
    return chain(length, link, [("m", np.eye(4, dtype=np.float32))])


def priced(length):
    """Graph and priced options of a chain of products."""
    graph = partition.to_graph(normalize(load(products(length))))
    found = partition.candidates(graph, CPU("x86-64-v3"))
    options, _ = price(found, CompileOptions(), Resources(cache=False))
    return graph, [option for option in options if option.mapping is not None]


def blocks(count):
    """Lives of a few steps each, as a long network has them, and one of all."""
    rng = random.Random(count)
    firsts = range(count)
    lives = [packing.Block(i, i + rng.randint(0, 5), rng.randint(1, 64)) for i in firsts]
    return [*lives, packing.Block(0, count, 8)]


def test_packing():
    assert growth(lambda n: lambda: packing.greedy(blocks(n)), 100) < LINEAR


def test_first_fit_as_it_is_defined():
    """As low as those placed before allow that are alive at a step that it is alive at."""
    rng = random.Random(0)
    for _ in range(300):
        span = rng.choice((3, 20, 100))
        firsts = [rng.randint(0, span) for _ in range(rng.randint(0, 25))]
        lives = [
            packing.Block(i, i + rng.choice((0, 1, rng.randint(0, 40))), rng.randint(1, 9))
            for i in firsts
        ]
        order = rng.sample(range(len(lives)), len(lives))
        expected = {}
        for index in order:
            met = sorted(
                (at, lives[other].size)
                for other, at in expected.items()
                if lives[other].meets(lives[index])
            )
            low = 0
            for at, size in met:
                if at - low >= lives[index].size:
                    break
                low = max(low, at + size)
            expected[index] = low
        assert packing.first_fit(lives, order) == tuple(expected[i] for i in range(len(lives)))


def test_selection():
    def judged(length):
        graph, options = priced(length)
        problem = cover.problem(Pricing(graph, CPU()), options)
        return lambda: solve.solve(problem, ())

    assert growth(judged, 60) < LINEAR


def test_layers_that_are_alike_are_described_once(monkeypatch):
    _, options = priced(20)
    described = []
    key = facts.search_key
    monkeypatch.setattr(facts, "search_key", lambda *a: described.append(a) or key(*a))
    tasks = [(o.candidate.layer.workload, o.candidate.module) for o in options]
    keys = facts.search_keys(tasks, mapping.SearchOptions())
    assert len(tasks) >= 20
    assert len(described) == len(set(keys)) < 5
    assert keys == [key(*task, mapping.SearchOptions()) for task in tasks]


def test_equal_numbers_that_mean_different_things_have_keys_of_their_own():
    """0.0 and -0.0 are equal in Python."""
    _, options = priced(1)
    layer = next(o.candidate for o in options if o.candidate.layer)
    workload = layer.layer.workload
    twins = [type(workload)(**{**vars(workload), "parameters": (("a", z),)}) for z in (0.0, -0.0)]
    keys = facts.search_keys([(w, layer.module) for w in twins], mapping.SearchOptions())
    assert twins[0] == twins[1]
    assert keys[0] != keys[1]


def test_the_page():
    def page(length):
        compiled = match_aie.compile(products(length), cache=False)
        manifest = json.loads(compiled.sources()["match_aie.json"])
        return lambda: network_page(manifest)

    assert growth(page, 40) < LINEAR


@pytest.mark.parametrize("value", [{}, {"a": {}, "b": []}, {"b": [1, {"z": None, "a": (True,)}]}])
def test_the_manifest_as_json_writes_it(value):
    """The writer is its own, for its speed; the text is that of the standard library."""
    odd = {"n": -0.0, "t": '"\\\n\t\u20ac\0', "i": 10**30, "f": [1e300, 1e-7, 3.0], "k": value}
    for given in (value, odd):
        text = json.dumps(given, sort_keys=True, indent=1, allow_nan=False) + "\n"
        assert dump(given) == text.encode()


@pytest.mark.parametrize("number", [float("nan"), float("inf")])
def test_the_manifest_holds_no_number_that_json_has_not(number):
    with pytest.raises(match_aie.errors.InternalError):
        dump({"a": [number]})


@pytest.mark.parametrize("itself", [True, False])
def test_sums_that_are_read_twice_do_not_double_the_code(itself):
    """v[i + 1] = v[i] + v[i], or + v[i - 1]: inlined without end, the 40th sum has 10**8 terms."""
    link = lambda a, b, made: helper.make_node("Add", [a, a if itself else b], [made])  # noqa: E731
    sizes = [
        len(match_aie.compile(chain(n, link), cache=False).sources()["src/chain.c"])
        for n in (40, 80)
    ]
    assert sizes[1] < 2.5 * sizes[0]
    assert sizes[0] < 40_000
