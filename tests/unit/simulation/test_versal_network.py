"""Networks on the array in simulated time, and the promise that what was emitted is simulated."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import match_aie as match
from match_aie.compilation import Compilation
from match_aie.demo import digits_model
from match_aie.errors import ProjectError
from match_aie.hardware import Loop, Mapping
from match_aie.simulating import hold, simulate
from match_aie.targets.versal import VersalAIEML
from match_aie.toolchain.record import Record, parse

TARGET = VersalAIEML(modules=("array",))


@pytest.fixture(scope="module")
def digits() -> Compilation:
    return match.compile(digits_model(), target=TARGET)


@pytest.fixture(scope="module")
def manifest(digits: Compilation) -> Record:
    return parse(json.loads(digits.sources()["match_aie.json"]), Path("digits"))


def held_to_what_was_predicted(run) -> None:
    on_array = [step for step in run.steps if step.module == "array"]
    assert len(on_array) >= 5
    assert all(step.simulated for step in on_array)
    others = [step for step in run.steps if not step.simulated]
    assert all(step.cycles == step.predicted for step in others)
    assert run.cycles == pytest.approx(sum(step.cycles for step in run.steps))
    assert run.microseconds == pytest.approx(run.cycles / run.frequency_hz * 1e6)


def test_layers_on_the_array_are_simulated() -> None:
    apart = VersalAIEML(modules=("array",), handover=False)
    run = match.compile(digits_model(), target=apart).simulate()
    held_to_what_was_predicted(run)
    for step in run.steps:
        assert step.cycles == pytest.approx(step.predicted, rel=0.05)


def float_layer(rows: int, inner: int, columns: int) -> onnx.ModelProto:
    """A product by constants, in float32."""
    weight = numpy_helper.from_array(np.full((inner, columns), 0.125, np.float32), "w")
    ports = [
        helper.make_tensor_value_info(name, TensorProto.FLOAT, (rows, size))
        for name, size in (("x", inner), ("y", columns))
    ]
    nodes = [helper.make_node("MatMul", ["x", "w"], ["y"])]
    graph = helper.make_graph(nodes, "floats", ports[:1], ports[1:], [weight])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])


def test_floats_cross_as_bfloat16() -> None:
    """The processor's copies are priced by what the array's buffers hold, as they are simulated."""
    target = VersalAIEML(modules=("array",), floats="bf16")
    run = match.compile(float_layer(64, 32, 32), target=target).simulate()
    (step,) = (step for step in run.steps if step.module == "array")
    assert step.simulated
    assert step.cycles == pytest.approx(step.predicted, rel=0.03)


def test_a_chain_of_layers_is_simulated(digits: Compilation) -> None:
    run = digits.simulate()
    held_to_what_was_predicted(run)
    first, *later = (step for step in run.steps if step.module == "array")
    assert first.cycles == pytest.approx(first.predicted, rel=0.05)
    # What a layer of a chain takes is the time from the end of the one before to its own, and the
    # layers here have a few hundred cycles: how far they overlap is not priced. The chain is.
    for step in later:
        assert step.cycles == pytest.approx(step.predicted, rel=0.1)
    predicted = sum(step.predicted for step in (first, *later))
    assert sum(step.cycles for step in (first, *later)) == pytest.approx(predicted, rel=0.02)


def test_utilisation_has_units_and_the_tiles_of_each_layer(digits: Compilation) -> None:
    run = digits.simulate()
    shares = run.utilisation()
    assert shares["processor"] + shares["array"] == pytest.approx(1.0)
    groups = [name for name in shares if name.startswith("columns")]
    assert [name.partition(": ")[2] for name in groups] == ["stem to dense"]  # one graph
    assert all(0 < shares[name] < shares["array"] for name in groups)
    trace = json.loads(run.trace_json())["traceEvents"]
    threads = {row["args"]["name"] for row in trace if row["name"] == "thread_name"}
    assert {"processor", "array"} < threads
    assert any(name.startswith("tile") for name in threads)
    plain = digits.simulate(record=False)
    assert plain.cycles == run.cycles
    assert plain.utilisation() == shares


def test_only_what_was_emitted_is_simulated(manifest: Record) -> None:
    hold(manifest, TARGET)
    path = next(path for path in manifest.digests if path.endswith("_graph.h"))
    other = replace(manifest, digests={**manifest.digests, path: "0" * 64})
    with pytest.raises(ProjectError, match="not what this match_aie would emit"):
        simulate(other, TARGET)
    unknown = {name: digest for name, digest in manifest.digests.items() if name != path}
    with pytest.raises(ProjectError, match="cannot be simulated"):
        hold(replace(manifest, digests=unknown), TARGET)


def test_mappings_come_back_from_the_manifest(digits: Compilation, manifest: Record) -> None:
    chosen = {layer.symbol: layer.mapping for layer in digits.program.schedule.layers}
    for symbol, layer in manifest.layers.items():
        assert layer.mapping.spatial == chosen[symbol].spatial
        assert layer.mapping.temporal == chosen[symbol].temporal
    assert Mapping((Loop("K", 2),), ()).spatial[0].step == 1
