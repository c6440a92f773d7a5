"""The example of a target out of tree: small, formatted, bit for bit, simulated as predicted."""

import json
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from systolic.target import Systolic, SystolicArray, Timing

import match_aie as match
from match_aie.hardware import MatchTarget, pad_channels
from match_aie.lowering.tiles import tile_program
from match_aie.mapping import SearchOptions, search
from match_aie.simulation import ScratchpadSimulator
from match_aie.testing import ZOO, check_target
from match_aie.testing.case import Case, network
from match_aie.testing.zoo import INT8, UINT8, Conv, dense, depthwise, residual
from match_aie.workload import Quantized, Tail, Window, conv2d
from tests.networks import network as generated
from tests.shared import random_inputs

PACKAGE = Path(__file__).parents[3] / "examples" / "systolic"
SIZES = (3, 10, 24, 40, 70, 130)
pytestmark = pytest.mark.skipif(
    not any(map(shutil.which, ("cc", "gcc", "clang"))), reason="no C compiler"
)


class Alone(Systolic):
    """The array takes whatever it can, however cheap a core would be."""

    def modules(self):
        return (SystolicArray(),)


def compiled(model, target: MatchTarget):
    return match.compile(
        model, target, name="net", selection="match", search=SearchOptions("exact"), cache=False
    )


def ran(net, folder, seed=0):
    project = net.write(folder / "net")
    project.build(quick=True)
    return project.run(random_inputs(project.record.inputs, np.random.default_rng(seed)))


def sized(value, *shape):
    return type(value)(value.name, shape, value.dtype, value.scale, value.zero_point)


def test_it_is_short():
    files = [f for kind in ("py", "mako", "c", "h") for f in PACKAGE.rglob(f"*.{kind}")]
    lines = [line for file in files for line in file.read_text().splitlines()]
    assert len([line for line in lines if line.strip()]) <= 250


def test_it_is_formatted():
    ruff = [sys.executable, "-m", "ruff"]
    subprocess.run([*ruff, "format", "--check", "-q", str(PACKAGE)], check=True)
    sources = [*PACKAGE.rglob("*.c"), *PACKAGE.rglob("*.h")]
    assert sources
    assert max(len(line) for file in sources for line in file.read_text().splitlines()) <= 100


def test_it_uses_the_public_surface_only():
    text = (PACKAGE / "systolic" / "target.py").read_text()
    allowed = ("hardware", "workload", "simulation", "cost_models", "targets")
    used = {
        line.split()[1].removeprefix("match_aie").split(".")[1:][0]
        for line in text.splitlines()
        if line.startswith("from match_aie.")
    }
    assert used <= set(allowed)


def test_channels_that_fill_no_block(tmp_path):
    cases = [Case(f"conv {n}", Conv(sized(INT8, 1, n, 3, 4), n)) for n in SIZES]
    cases += [Case(f"dense {n}", dense(sized(UINT8, 2, n), n)) for n in SIZES]
    cases += [Case(f"deep {n}", depthwise(sized(UINT8, 1, n, 3, 4), (2, 2))) for n in (10, 40)]
    net = compiled(network(cases), Alone())
    assert sum(layer.module == "array" for layer in net.program.schedule.layers) == len(cases)
    result = ran(net, tmp_path)
    assert result.matches_reference
    assert set(result.max_lsb_vs_model.values()) == {0}


@cache
def partial_sums(inputs, outputs, rows):
    return compiled(
        network([Case("conv", Conv(sized(INT8, 1, inputs, rows, 4), outputs))]), Alone()
    )


@pytest.mark.parametrize(("inputs", "outputs", "form"), [(128, 64, "list"), (256, 256, "loops")])
def test_partial_sums(tmp_path, inputs, outputs, form):
    """A filter of 3x3 over so many channels is larger than the weight memory: parts of the sums.

    As a list of tiles and, of more than 32 calls, as loops.
    """
    net = partial_sums(inputs, outputs, 4)
    (layer,) = net.program.schedule.layers
    sums = layer.tiles.sums
    assert (sums.memory, sums.itemsize, sums.dims) == ("activations", 4, ("C",))
    assert (layer.tiles.calls > 32) == (form == "loops")
    result = ran(net, tmp_path)
    assert result.matches_reference
    assert set(result.max_lsb_vs_model.values()) == {0}
    assert_predicted(net)


def test_sums_begin_once_and_end_once():
    (layer,) = partial_sums(256, 256, 4).program.schedule.layers
    begun, ended = {}, {}
    for visit in layer.tiles.visits():
        seen = visit.ranges["K"], visit.ranges["OY"]
        begun[seen] = begun.get(seen, 0) + visit.first
        ended[seen] = ended.get(seen, 0) + visit.last
    assert set(begun.values()) == set(ended.values()) == {1}


def assert_predicted(net):
    """Modelled cycles of each layer of the array within a tenth of the simulated ones."""
    for step in net.simulate().steps:
        assert not step.simulated or step.predicted == pytest.approx(step.cycles, rel=0.1), step


#: (inputs, outputs, filter, stride, image) of layers of ResNet8, MobileNet, DS-CNN and DAE.
LAYERS = (
    *((3, 16, 3, 1, 32), (16, 32, 1, 2, 32), (16, 32, 3, 2, 32), (32, 64, 1, 2, 16)),
    *((64, 64, 3, 1, 8), (8, 16, 1, 1, 48), (256, 256, 1, 1, 3), (64, 12, 1, 1, 1)),
    *((640, 128, 1, 1, 1), (128, 8, 1, 1, 1), (8, 128, 1, 1, 1), (256, 2, 1, 1, 1)),
)


@pytest.mark.parametrize("layer", LAYERS, ids=str)
def test_each_layer_takes_what_it_was_predicted_to_take(layer):
    """Each alone, simulated as the emitted tiles are walked."""
    inputs, outputs, filter_, stride, side = layer
    begin, end = (0, 1) if stride == 2 and filter_ == 3 else (filter_ // 2, filter_ // 2)
    workload = conv2d(
        Quantized("uint8", 0.05, 3), Quantized("uint8", 0.05, 3),
        shape=(1, side, side, inputs), weight_shape=(outputs, filter_, filter_, inputs),
        window=Window((stride, stride), padding=(begin, begin, end, end)),
        tail=Tail(3, 0, 255), scales=outputs,
    )  # fmt: skip
    module = SystolicArray()
    best = search(workload, module, SearchOptions("exact"))[0]
    tiles = tile_program(workload, module, best.mapping)
    cycles = ScratchpadSimulator(Timing()).layer("array", workload, tiles)
    assert best.cost.cycles == pytest.approx(cycles, rel=0.1)


def test_the_dma_works_while_the_array_does(tmp_path):
    net = compiled(network([Case("residual", residual, single=False)]), Alone())
    assert ran(net, tmp_path).matches_reference
    assert {layer.workload.kind for layer in net.program.schedule.layers} == {"conv2d", "add"}
    events = partial_sums(256, 256, 4).simulate().timeline.events
    moving = [(e.start, e.end) for e in events if e.category == "dma"]
    working = [(e.start, e.end) for e in events if e.category == "kernel"]
    both = sum(max(0, min(b, d) - max(a, c)) for a, b in moving for c, d in working)
    assert both > 0.5 * min(sum(b - a for a, b in spans) for spans in (moving, working))


@pytest.mark.slow
def test_the_whole_zoo():
    check_target(Systolic(), cases=ZOO).require()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["resnet8_u8", "mobilenetv1_025_u8", "dscnn_u8", "dae_u8"])
def test_whole_networks(tmp_path, name):
    net = match.compile(generated(f"{name}.onnx"), Systolic(), name="net", cache=False)
    result = ran(net, tmp_path)
    assert result.matches_reference
    assert set(result.max_lsb_vs_model.values()) == {0}
    assert_predicted(net)


def test_padded_channels_give_the_same_bits(tmp_path):
    """Channels that fill no block of 16: filled where weights are packed, or by a pass."""

    class Padded(Alone):
        passes = (pad_channels(16),)

    def build(graph):
        x = graph.input(sized(INT8, 1, 3, 6, 6))
        for outputs in (24, 40, 10):
            x = Conv(INT8, outputs, relu=outputs == 24).on(graph, x)
        return x

    model = network([Case("chain", build, single=False)])
    results = []
    for chip in (Alone(), Padded()):
        net = compiled(model, chip)
        inputs = [layer.workload.sizes["C"] for layer in net.program.schedule.layers]
        assert inputs == ([16, 32, 48] if chip.passes else [3, 24, 40])
        folder = tmp_path / chip.__class__.__name__
        folder.mkdir()
        done = ran(net, folder)
        assert done.mismatches == ()
        results.append(done.outputs)
    assert json.loads((folder / "net" / "match_aie.json").read_text())["passes"] == [
        "pad_channels(16)"
    ]
    for name, array in results[0].items():
        assert array.tobytes() == results[1][name].tobytes()
