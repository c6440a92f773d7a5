"""Images in blocks of 16 channels (NCHWc): declared by the module, copied at its edges, priced."""

import shutil

import numpy as np
import pytest
from systolic.target import Systolic, SystolicArray

import match_aie as match
from match_aie.hardware import Blocked, ChipCosts, CoreCost, Rewrites, facet, pad_channels
from match_aie.mapping import SearchOptions
from match_aie.targets.cpu import CPUModule
from match_aie.testing.case import Case, network
from match_aie.testing.zoo import INT8, UINT8, Conv, depthwise, residual
from tests.networks import network as generated
from tests.shared import random_inputs

SIDE = 16
pytestmark = pytest.mark.skipif(
    not any(map(shutil.which, ("cc", "gcc", "clang"))), reason="no C compiler"
)


class BlockedArray(SystolicArray):
    """The array with images in blocks of its side; rows of dense layers lie as they are."""

    def layouts(self, workload):
        found = dict(super().layouts(workload))
        if len(workload.output.shape) != 4:
            return found
        if workload.depthwise:
            return {**found, **dict.fromkeys("xy", Blocked("B G OY OX g", G=SIDE))}
        outputs = Blocked("B K OY OX k", K=SIDE)
        if workload.kind == "add":
            return {"x": outputs, "x1": outputs, "y": outputs}
        return {**found, "x": Blocked("B C OY OX c", C=SIDE), "y": outputs}


class RowMajor(Systolic):
    def modules(self):
        return (SystolicArray(),)


class Ordered(Systolic):
    def modules(self):
        return (BlockedArray(),)


class Padded(Ordered, Rewrites):
    passes = (pad_channels(SIDE),)


class Both(Systolic):
    """The blocked array beside the core's layers."""

    def modules(self):
        return BlockedArray(), CPUModule()


def compiled(model, target, selection="match"):
    search = SearchOptions("exact")
    return match.compile(model, target, name="net", selection=selection, search=search, cache=False)


def ran(net, folder):
    folder.mkdir(exist_ok=True)
    project = net.write(folder / "net")
    project.build(quick=True)
    return project.run(random_inputs(project.record.inputs, np.random.default_rng(0)))


def sized(value, *shape):
    return type(value)(value.name, shape, value.dtype, value.scale, value.zero_point)


def chain(graph):
    x = graph.input(sized(INT8, 1, 3, 9, 5))
    for outputs in (24, 40, 10):
        x = Conv(INT8, outputs, relu=outputs == 24).on(graph, x)
    return x


def copies(net):
    return [step for step in net.program.schedule.steps if step.cycles]


@pytest.mark.parametrize("chip", [Ordered, Padded])
def test_a_chain_is_copied_at_its_ends_only(tmp_path, chip):
    """Ragged last blocks, and channels that a pass fills."""
    net = compiled(network([Case("chain", chain, single=False)]), chip())
    layers = net.program.schedule.layers
    assert [dict(layer.layouts).keys() for layer in layers] == [{"x", "y"}] * 3
    shapes = [tensor.shape for tensor in net.program.schedule.tensors if len(tensor.shape) == 5]
    assert (1, 2, 9, 5, 16) in shapes
    assert (1, 3, 9, 5, 16) in shapes
    assert len(copies(net)) == 2
    result = ran(net, tmp_path)
    assert result.matches_reference
    assert set(result.max_lsb_vs_model.values()) == {0}


@pytest.mark.parametrize(
    "case",
    [
        pytest.param(Case("deep", depthwise(sized(UINT8, 1, 40, 7, 4), (2, 2))), id="deep"),
        pytest.param(
            Case("residual", residual, single=False), id="residual", marks=pytest.mark.slow
        ),
        pytest.param(
            Case("ragged sums", Conv(sized(INT8, 1, 130, 5, 4), 250)),
            id="ragged sums",
            marks=pytest.mark.slow,
        ),
    ],
)
def test_every_kind_of_layer(tmp_path, case):
    net = compiled(network([case]), Ordered())
    assert all(layer.layouts for layer in net.program.schedule.layers)
    result = ran(net, tmp_path)
    assert result.matches_reference
    plain = ran(compiled(network([case]), RowMajor()), tmp_path / "plain")
    for name, array in plain.outputs.items():
        assert array.tobytes() == result.outputs[name].tobytes()
    steps = [step for step in net.simulate().steps if step.simulated]
    predicted = sum(step.predicted for step in steps)
    assert predicted == pytest.approx(sum(step.cycles for step in steps), rel=0.1)


def test_what_is_copied_is_priced_and_simulated():
    """Two copies of 1 x 3 x 9 x 5 and 1 x 10 x 9 x 5 bytes by a core that states nothing else."""
    net = compiled(network([Case("chain", chain, single=False)]), Ordered())
    core = facet(Ordered(), ChipCosts).core
    expected = [core.overhead + core.per_element * 45 * n for n in (3, 10)]
    assert [step.cycles for step in copies(net)] == expected
    assert net.assignment.cost.moves >= sum(expected)
    modelled = [step.cycles for step in net.simulate().steps if not step.simulated]
    assert set(expected) <= set(modelled)


def test_a_layer_stays_on_the_core_where_copies_would_cost_more():
    dear = type("Dear", (Both, ChipCosts), {"core": CoreCost(overhead=1e7)})
    model = network([Case("one", Conv(sized(INT8, 1, 64, 8, 8), 64))])
    for chip, module in ((Both(), "array"), (dear(), "cpu")):
        (layer,) = compiled(model, chip, "cheapest").program.schedule.layers
        assert layer.module == module


@pytest.mark.slow
@pytest.mark.parametrize("passes", [(), (pad_channels(SIDE),)], ids=len)
def test_resnet8(tmp_path, passes):
    target = type("Rewritten", (Both, Rewrites), {"passes": passes})()
    net = match.compile(generated("resnet8_u8.onnx"), target, name="net", cache=False)
    assert any(layer.layouts for layer in net.program.schedule.layers)
    result = ran(net, tmp_path)
    assert result.matches_reference
    assert set(result.max_lsb_vs_model.values()) == {0}
