"""One call for many runs: the graph is started once, inputs are sent while earlier runs go on."""

import ctypes

import numpy as np
import pytest
from versal_networks import DenseNet, Layer

import match_aie as match
from match_aie.targets.versal import VersalAIEML
from match_aie.toolchain.library import aligned


def called(project, images):
    """What `run_many` makes of images, by the library's own function."""
    library = project.build(quick=True).path
    record = project.record
    (given,), (made,) = record.inputs, record.outputs
    ins = [aligned(given.shape, given.dtype, record.alignment) for _ in images]
    outs = [aligned(made.shape, made.dtype, record.alignment) for _ in images]
    for buffer, image in zip(ins, images, strict=True):
        buffer[...] = image
    addresses = [(ctypes.c_void_p * len(images))(*(b.ctypes.data for b in x)) for x in (ins, outs)]
    function = getattr(ctypes.CDLL(str(library)), f"{record.network}_run_many")
    assert function(*addresses, ctypes.c_size_t(len(images))) == 0
    return outs


@pytest.mark.parametrize(
    ("memory", "aim"),
    [("ddr", "throughput"), pytest.param("plio", "throughput", marks=pytest.mark.slow)],
)
def test_runs_follow_each_other(tmp_path, memory, aim):
    net = DenseNet(16, 32)
    for layer in (Layer(48, relu=True), Layer(24, "uint8", 3), Layer(16)):
        net.dense(layer)
    target = VersalAIEML(memory=memory, modules=("array",), optimize_for=aim, columns_per_layer=1)
    made = match.compile(net.model(), target, cache=False)
    project = made.write(tmp_path / "project")
    (host,) = (tmp_path / "project" / "aie").glob("*_host.cpp")
    assert ".run(static_cast<unsigned>(" in host.read_text()
    rng = np.random.default_rng(3)
    images = [rng.integers(-128, 128, (16, 32)).astype(np.int8) for _ in range(21)]
    outs = called(project, images)
    assert len({out.tobytes() for out in outs}) == len(outs)
    for at in (0, 1, 20):
        result = project.run({"x": images[at]})
        assert result.matches_reference
        (wanted,) = result.outputs.values()
        np.testing.assert_array_equal(outs[at], wanted)
