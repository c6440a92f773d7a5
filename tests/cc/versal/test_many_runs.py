"""One call for many runs: the graph is started once, inputs are sent while earlier runs go on."""

import ctypes
import threading

import numpy as np
import pytest
from versal_networks import DenseNet, Layer

import match_aie as match
from match_aie.targets.versal import VersalAIEML
from match_aie.toolchain.library import aligned


def called(project, images, beside=0):
    """What `run_many` makes of images, by the library's own function.

    Args:
        project: built.
        images: inputs.
        beside: calls of the function for one run meanwhile, in another thread, which have to give
            what the first image gives.
    """
    library = ctypes.CDLL(str(project.build(quick=True).path))
    record = project.record
    (given,), (made,) = record.inputs, record.outputs
    ins = [aligned(given.shape, given.dtype, record.alignment) for _ in images]
    outs = [aligned(made.shape, made.dtype, record.alignment) for _ in images]
    for buffer, image in zip(ins, images, strict=True):
        buffer[...] = image
    addresses = [(ctypes.c_void_p * len(images))(*(b.ctypes.data for b in x)) for x in (ins, outs)]
    single = getattr(library, f"{record.network}_run_in")
    arena = aligned((max(record.arena, 1),), "uint8", record.alignment)
    alone = [aligned(made.shape, made.dtype, record.alignment) for _ in range(beside)]

    def others():
        for result in alone:
            one = [(ctypes.c_void_p * 1)(x.ctypes.data) for x in (ins[0], result)]
            assert single(ctypes.c_void_p(arena.ctypes.data), *one) == 0

    thread = threading.Thread(target=others)
    thread.start()
    many = getattr(library, f"{record.network}_run_many")
    status = many(*addresses, ctypes.c_size_t(len(images)))
    thread.join()
    assert status == 0
    for result in alone:
        np.testing.assert_array_equal(result, outs[0])
    return outs


@pytest.mark.parametrize(
    ("memory", "aim"),
    [pytest.param(memory, "throughput", marks=pytest.mark.slow) for memory in ("ddr", "plio")],
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
    outs = called(project, images, beside=6)
    assert len({out.tobytes() for out in outs}) == len(outs)
    for at in (0, 1, 20):
        result = project.run({"x": images[at]}, quick=True)
        assert result.matches_reference
        (wanted,) = result.outputs.values()
        np.testing.assert_array_equal(outs[at], wanted)
