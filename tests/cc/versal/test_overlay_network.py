"""Dense layers of a network by one configuration of the array, as the target chooses it."""

import re
import shutil
from functools import cache

import numpy as np
import pytest
from onnx import TensorProto, helper
from versal_networks import Attending, Layer

import match_aie as match
from match_aie.targets.aie_ml.graph.overlay_nest import is_overlay_nest
from match_aie.targets.aie_ml.known import device
from match_aie.targets.versal.executing import prove
from match_aie.targets.xdna import XDNA
from tests.networks.whisper import Sizes, whisper_encoder
from tests.qdq import Nodes
from tests.shared import random_inputs

#: Outputs, zero point, scales by channel: more layers than the array has columns.
LAYERS = (
    Layer(64, zero=3, per_channel=True),
    Layer(33, zero=-90, per_channel=True, weight_scale=2.0**-8),
    Layer(150, zero=20, per_channel=True),
    Layer(64, zero=0, per_channel=True, weight_scale=2.0**-9),
    Layer(96, zero=-128, per_channel=True),
    Layer(40, zero=7, per_channel=True),
)

#: A processor so slow that small layers are worth a dispatch.
SLOW = {"cpu_mhz": 20.0}


def network(rows=40, layers=LAYERS):
    """A GELU between all of them, which no array runs here."""
    net = Attending(rows, 48, zero=-3)
    for layer in layers:
        net = net.dense(layer).gelu()
    return net.model()


@cache
def compiled():
    return match.compile(network(), target=XDNA(device="npu1", **SLOW))


def floats():
    """Dense layers of floats, and between them what the processor has to do."""
    rng, net, last, width = np.random.default_rng(5), Nodes(), "x", 48
    for outputs in (64, 40, 96, 33, 64, 130):
        weight = net.const((rng.standard_normal((width, outputs)) / 8).astype(np.float32))
        bias = net.const(rng.standard_normal(outputs).astype(np.float32))
        last, width = net.node("Gemm", [last, weight, bias]), outputs
        last = net.node("Floor", [net.node("Mul", [last, net.const(np.float32(8))])])
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, (40, 48))
    y = helper.make_tensor_value_info(last, TensorProto.FLOAT, (40, width))
    graph = helper.make_graph(net.nodes, "net", [x], [y], net.constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)


def overlaid(net):
    layers = net.program.schedule.chosen
    return [la for la in layers if la.module == "array" and is_overlay_nest(la.mapping)]


def test_layers_share_a_configuration_where_that_is_cheaper():
    net, plain = compiled(), match.compile(network(), target=XDNA(overlay=False, **SLOW))
    assert len(overlaid(net)) >= 2
    assert not overlaid(plain)
    assert net.assignment.cost.total < plain.assignment.cost.total
    shifts = {layer.workload.tail.shift for layer in overlaid(net)}
    assert len(shifts) > 1
    assert XDNA(**net.target.options()).options() == net.target.options()


def test_every_program_is_executed_and_equals_its_reference():
    net = compiled()
    mine = [layer for layer in net.program.schedule.chosen if layer.module == "array"]
    assert prove(mine, "npu1", np.random.default_rng(0)) == len(mine)


def test_it_is_simulated_a_dispatch_for_each():
    net = compiled()
    found = net.simulate()
    many = len(overlaid(net))
    least = many * device("npu1").dispatch_us * 1e-6 * net.target.frequency
    assert found.cycles > least
    assert {step.module for step in found.steps} >= {"array"}


def test_one_text_has_a_sequence_for_each_layer():
    net = compiled()
    assert net.warnings == ()
    sources = net.sources()
    (text,) = (data for path, data in sources.items() if path.endswith("_array.mlir"))
    names = re.findall(rb"runtime_sequence @(\w+)\(", text)
    wanted = [layer.symbol.encode() for layer in overlaid(net)]
    others = [la for la in net.program.schedule.chosen if la.module == "array"]
    assert names[: len(wanted)] == wanted
    assert sorted(names) == sorted(layer.symbol.encode() for layer in others)
    assert text.count(b"aie.device(") == 1
    for name in wanted:
        for end in ("_host.cpp", "_host.py", "_constants.txt"):
            assert f"mlir/{name.decode()}{end}" in sources
    make = sources["mlir/Makefile"].decode()
    assert "--npu-insts-name='{1}_insts.bin'" in make
    assert "overlay, sequence" in net.summary()
    whys = [stage.why for stage in net.target.stages(net.program.schedule.chosen)]
    assert any("one configuration serves several layers" in why for why in whys)


@pytest.mark.skipif(shutil.which("g++") is None, reason="no C++ compiler")
@pytest.mark.slow
def test_as_emitted(tmp_path):
    """The emulation runs every layer, whose results equal its reference."""
    net = compiled()
    project = net.write(tmp_path / "net")
    result = project.run(random_inputs(net.inputs, np.random.default_rng(0)), quick=True)
    assert result.matches_reference
    assert result.layers_checked == len(net.program.schedule.layers)


def test_pinned_layers_are_where_their_user_wants_them():
    label = overlaid(compiled())[0].label
    net = match.compile(network(), target=XDNA(**SLOW), pins={label: "cpu"})
    assert label not in {layer.label for layer in overlaid(net)}
    assert len(overlaid(net)) >= 2


def test_layers_in_bfloat16_share_a_configuration():
    """The same code serves floats: no shift comes at run time."""
    net = match.compile(floats(), target=XDNA(floats="bf16", **SLOW))
    mine = overlaid(net)
    assert len(mine) >= 2
    assert {layer.workload.operand("weight").dtype for layer in mine} == {"float32"}
    every = [layer for layer in net.program.schedule.chosen if layer.module == "array"]
    assert prove(every, "npu1", np.random.default_rng(3)) == len(every)
    (text,) = (data for path, data in net.sources().items() if path.endswith("_array.mlir"))
    assert text.count(b"runtime_sequence @") == len(every)
    assert b"_turns_0, 1, " not in text


def configurings(net):
    """Parts of layers' modelled costs that configure the array anew."""
    layers = net.program.schedule.layers
    return [c for la in layers for name, c in la.cost.parts if name == "configuring"]


def test_older_dialects_have_no_such_text():
    """A text for each graph, which the array is configured for: a single layer is cheaper there."""
    layers, slow = LAYERS[:3], {"cpu_mhz": 200.0}
    net = match.compile(network(layers=layers), target=XDNA(mlir="2025-05", **slow))
    assert not overlaid(net)
    array = [layer for layer in net.program.schedule.chosen if layer.module == "array"]
    assert len(array) <= 1
    assert not configurings(net)


def test_configurations_that_take_turns_have_their_price():
    """At a processor so slow that they are worth it, modelled and simulated."""
    target = XDNA(mlir="2025-05", cpu_mhz=1.0)
    net = match.compile(network(layers=LAYERS[:3]), target=target)
    texts = [path for path in net.sources() if path.endswith(".mlir")]
    anew = configurings(net)
    (said,) = (each for each in net.warnings if "configured anew" in each)
    assert said.endswith(f"configured anew {len(anew)} times in a run, 3.4 ms each (published)")
    stages = net.target.stages(net.program.schedule.chosen)
    assert len({stage.graph.split("configuration ")[1] for stage in stages}) == len(anew)
    assert len(texts) == len(anew) > 1
    assert set(anew) == {3.4e6}
    run = net.simulate()
    events = [e for e in run.timeline.events if e.name.startswith("configures the array for ")]
    assert len(events) == len(anew)
    cycles = 3.4e-3 * target.frequency
    assert all(event.end - event.start == pytest.approx(cycles) for event in events)
    assert not configurings(compiled())


def test_attention_and_dense_layers_have_one_text():
    """A small layer of an encoder: an overlay, attention and a norm, each with its sequences."""
    sizes = Sizes(frames=260, width=64, heads=1, inner=128, layers=1, convolutions=False)
    net = match.compile(whisper_encoder(sizes), target=XDNA(device="npu1", **SLOW))
    array = [layer for layer in net.program.schedule.chosen if layer.module == "array"]
    assert len(overlaid(net)) >= 2
    assert "attention" in {layer.workload.kind for layer in array}
    sources = net.code()
    (text,) = (data.decode() for path, data in sources.items() if path.endswith(".mlir"))
    names = re.findall(r"runtime_sequence @(\w+)\(", text)
    assert sorted(names) == sorted(layer.symbol for layer in array)
    assert not configurings(net)
    assert not any("no program" in said for said in net.warnings)
    make = sources["mlir/Makefile"].decode()
    assert f"GRAPHS := {net.symbol}_array\n" in make
    (hosts,) = re.findall(r"HOSTS := (.*)", make)
    assert sorted(hosts.split()) == sorted(names)


def test_two_layers_around_one_of_the_processor():
    """Of different reductions, too large for the array side by side."""
    sizes = (Layer(512, zero=4, per_channel=True), Layer(256, zero=-9, per_channel=True))
    net = match.compile(network(256, sizes), target=XDNA(cpu_mhz=200.0))
    mine = [layer for layer in net.program.schedule.chosen if layer.module == "array"]
    assert mine
    assert prove(mine, "npu1", np.random.default_rng(1)) >= 1
