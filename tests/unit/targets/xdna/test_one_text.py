"""Graphs of a network as one configuration: its text, read back and executed; what several take."""

import re
from dataclasses import replace

import numpy as np
import pytest

from match_aie.errors import MatchError
from match_aie.hardware import Cost
from match_aie.targets.aie_ml.array.check import check
from match_aie.targets.aie_ml.execute import execute
from match_aie.targets.aie_ml.known import device
from match_aie.targets.aie_ml.simulate import run_layer
from match_aie.targets.xdna.mlir import DIALECTS, read
from match_aie.targets.xdna.mlir.dialect import DEFAULT
from match_aie.targets.xdna.mlir.host import host_arguments
from match_aie.targets.xdna.mlir.overlay import kernels_of_overlay, single
from match_aie.targets.xdna.mlir.sequence import parts
from match_aie.targets.xdna.network import configured_anew, configuring_cycles, switches
from match_aie.targets.xdna.one_text import (
    Written,
    configurations_of,
    programs_of,
    text_units,
    written,
)
from match_aie.workload import reference
from tests.aie_layers import random_inputs
from tests.overlays import NPU1
from tests.xdna_configuration import encoder

NEWER = [dialect for dialect in DIALECTS.values() if not dialect.globals]


def programs():
    return programs_of(encoder()[0], NPU1)


@pytest.mark.parametrize("dialect", NEWER, ids=lambda one: one.name)
def test_every_sequence_is_read_back(dialect):
    made, found = written(encoder()[0], NPU1, dialect), programs()
    assert made.text.count("aie.device(") == 1
    assert re.findall(r"runtime_sequence @(\w+)\(", made.text) == ["short", "long", "scores"]
    kernels = kernels_of_overlay(found)
    for name, of in (("short", "short"), ("long", "long"), ("scores", "short")):
        mine = single(made.text, name)
        assert read(mine, NPU1, kernels[of]) == found[of]
        moved = set(re.findall(r"dma_memcpy_nd.*metadata = @(\w+)\}", mine))
        prefix = "beside_" if name == "scores" else "dense_"
        ways = {way.outside.name for way in found[of].ways}
        assert moved == {way for way in ways if way.startswith(prefix)}


def test_results_are_those_of_each_layer():
    members, layers = encoder()
    for name, program in programs().items():
        check(program, NPU1)
        given, wanted = {}, {}
        for prefix, which in (("dense", name), ("beside", "scores")):
            made = layers[which]
            mine = random_inputs(made.workload, np.random.default_rng(len(name)))
            given |= {f"{prefix}_{operand}": tensor for operand, tensor in mine.items()}
            tensors = [mine[operand.name] for operand in made.workload.inputs]
            wanted[prefix] = reference(made.workload, tensors, made.constants)
        done = execute(program, NPU1, given)
        for prefix, values in wanted.items():
            assert np.unique(values).size > 10
            np.testing.assert_array_equal(done.tensor(values, f"{prefix}_y"), values)
    assert {task.name for one in members for task in one.tasks} == set(layers)


def test_a_sequence_s_arguments_hold_its_own_data_alone():
    made, program = written(encoder()[0], NPU1, DEFAULT), programs()["short"]
    (scores,) = (host for host in made.hosts if host.name == "scores")
    assert scores.constants is None
    assert [arg.name for arg in scores.arguments] == ["inputs", "outputs"]
    whole = {arg.name: arg.words for arg in host_arguments(program)}
    assert all(arg.words < whole[arg.name] for arg in scores.arguments)
    for host in made.hosts:
        (begin,) = re.findall(rf"runtime_sequence @{host.name}\((.*)\) \{{", made.text)
        said = re.findall(r"%(\w+): memref<(\d+)xi32>", begin)
        assert said == [(arg.name, str(arg.words)) for arg in host.arguments]
        ways = {one.way.outside.name for arg in host.arguments for one in arg.ways}
        assert ways in parts(program)


def test_a_graph_takes_as_long_as_alone():
    """Its tiles, streams and channels are its own, whoever waits beside it."""
    members, program = encoder()[0], programs()["short"]
    (alone,) = programs_of(members[1:], NPU1).values()
    both = run_layer(program, NPU1).cycles
    each = [
        run_layer(one, NPU1).cycles for one in (alone, *programs_of(members[:1], NPU1).values())
    ]
    assert max(each[:2]) <= both < 1.1 * max(each[:2])


def test_objects_are_those_of_all_graphs():
    made = written(encoder()[0], NPU1, DEFAULT)
    linked = set(re.findall(r'link_with = "(\w+)\.o"', made.text))
    assert linked == {one.symbol for one in made.objects}
    paths = {unit.path for unit in text_units("net_array", made)}
    assert {"mlir/net_array.mlir", "mlir/scores_host.cpp", "mlir/long_constants.txt"} <= paths
    assert "mlir/scores_constants.txt" not in paths


def test_a_graph_alone_has_a_text_as_before():
    (scores,) = encoder()[0][1:]
    made = written((scores,), NPU1, DEFAULT)
    assert re.findall(r"runtime_sequence @(\w+)\(", made.text) == ["sequence"]
    assert "beside_" not in made.text
    assert [host.name for host in made.hosts] == ["scores"]


def groups(members, dialect=DEFAULT):
    return [
        ([one.name for one in some], isinstance(made, Written))
        for some, made in configurations_of(members, NPU1, dialect)
    ]


def test_what_does_not_lie_beside_the_others_is_a_configuration_of_its_own():
    dense, scores = encoder()[0]
    renamed = replace(
        scores.tasks[0].graph,
        kernels=tuple(
            replace(one, call=replace(one.call, symbol="other"))
            for one in scores.tasks[0].graph.kernels
        ),
    )
    task = replace(scores.tasks[0], name="again", graph=renamed)
    again = replace(scores, name="again", column=2, tasks=(task,))
    assert groups(()) == []
    assert groups((dense, scores)) == [(["dense", "beside"], True)]
    # Ten ways in for the eight channels of all columns.
    assert groups((dense, scores, again)) == [(["dense", "beside"], True), (["again"], True)]
    far = replace(again, column=4)
    assert groups((far, dense, scores)) == [(["again"], False), (["dense", "beside"], True)]
    (unit,) = text_units("again", configurations_of((far,), NPU1, DEFAULT)[0][1])
    assert "mlir/again.mlir has no program for the open tool chain: " in unit.warning


def test_the_dialect_of_2025_has_a_text_for_each_graph():
    old = DIALECTS["2025-05"]
    scores = encoder()[0][1:]
    assert groups(scores, old) == [(["beside"], True)]
    found = configurations_of(encoder()[0], NPU1, old)
    assert [len(some) for some, _ in found] == [1, 1]
    assert isinstance(found[0][1], MatchError)  # an overlay is several sequences


@pytest.mark.parametrize(
    ("needed", "wanted"),
    [
        ((), ()),
        ((3,), (False,)),
        ((0, 0, 0), (False,) * 3),
        ((0, 1), (True, True)),
        ((0, 0, 1, 0), (False, False, True, True)),
        ((1, 0, 0, 2), (True, True, False, True)),
    ],
)
def test_the_array_is_configured_where_the_next_call_needs_another_one(needed, wanted):
    """The last call of a run comes before the first one of the next."""
    assert switches(needed) == wanted


@pytest.mark.parametrize(("name", "milliseconds"), [("npu1", 3.4), ("npu2", 4.9)])
def test_configuring_costs_what_was_published(name, milliseconds):
    array = device(name)
    cycles = configuring_cycles(array)
    assert cycles == pytest.approx(milliseconds * 1e6 * array.clock_ghz)
    made = configured_anew(Cost(1000.0, (("array", 900.0), ("host", 100.0))), array)
    assert made.cycles == 1000 + cycles
    assert made.parts[-1] == ("configuring", cycles)
