"""Projects that AIE4ML emits run in the emulation as they are, and compute what their models say.

AIE4ML 0.2.1 is installed into an environment of its own; without a package index these tests are
skipped.
"""

import subprocess
import sys
from pathlib import Path

import numpy as np
import onnxruntime
import pytest

from tests.aie4ml_projects import build
from tests.needs import needs, reason

pytestmark = [pytest.mark.slow, needs("g++", "nm")]

VERSION = "0.2.1"
EMITTER = Path(build.__file__).with_name("networks.py")

#: Networks, with the kernel sources that they take.
NETWORKS = {
    "dense": {"dense_bias_relu.cpp"},
    "mixed": {"dense_bias_relu.cpp"},
    "int16": {"dense_bias_relu.cpp"},
    "seven": {"dense_bias_relu.cpp"},
    "vector": {"dense_vector.cpp"},
    "streamed_dense": {"dense_bias_relu_stream.cpp"},
    "product": {"matmul.cpp"},
    "conv": {"conv2d.cpp"},
    "pointwise": {"conv2d.cpp"},
    "strided": {"conv2d.cpp", "frame_retile.cpp"},
    "folded": {"conv2d.cpp", "frame_fold.cpp"},
    "depthwise": {"conv2d.cpp", "depthwise_conv2d.cpp"},
    "pooled": {"conv2d.cpp"},
    "streamed_conv": {"conv2d_stream.cpp"},
    "banded": {"conv2d_halo.cpp"},
    "residual": {"dense_bias_relu.cpp", "elementwise_add.cpp"},
    "layer_norm": {"layer_norm.cpp"},
    "softmax": {"softmax.cpp"},
}

#: Kernels that evaluate in integers what onnxruntime does in float32, and by how many steps they
#: were found to differ: measured, no model of their arithmetic says that it has to be so.
APPROXIMATE = {"layer_norm": 1, "softmax": 2}


@pytest.fixture(scope="module")
def python(tmp_path_factory):
    """The interpreter of an environment that holds AIE4ML."""
    folder = tmp_path_factory.mktemp("aie4ml")
    subprocess.run((sys.executable, "-m", "venv", str(folder)), check=True)
    inside = folder / "bin" / "python"
    install = (str(inside), "-m", "pip", "install", "-q", f"aie4ml[onnx]=={VERSION}")
    done = subprocess.run(install, capture_output=True, text=True, check=False)
    if "No matching distribution found for aie4ml" in done.stderr:  # what pip says offline, too
        pytest.skip(reason([f"aie4ml {VERSION} (no package index has it)"]))
    assert done.returncode == 0, done.stderr
    return inside


def emit(python, name, folder):
    build.run((python, EMITTER, "emit", name, folder), folder)
    return folder / "project"


def outputs(python, folder):
    build.run((python, EMITTER, "collect", folder), folder)
    return np.load(folder / "outputs.npy")


def reference(folder):
    """The model's output, operator by operator."""
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(
        folder / "model.onnx", options, providers=["CPUExecutionProvider"]
    )
    return session.run(None, dict(np.load(folder / "inputs.npz")))[0]


@pytest.mark.parametrize("name", NETWORKS)
def test_network(python, tmp_path, name) -> None:
    project = emit(python, name, tmp_path)
    assert set(build.build(project)) == NETWORKS[name]
    build.execute(project)
    got, wanted = outputs(python, tmp_path), reference(tmp_path)
    assert np.unique(wanted).size > 16  # neither all clipped nor all zero
    steps = np.abs(got.reshape(wanted.shape) - wanted) / step_of(wanted)
    assert steps.max() <= APPROXIMATE.get(name, 0), f"{np.count_nonzero(steps)} elements"


def step_of(values):
    """The greatest power of two that divides all values."""
    step = 2.0 ** np.floor(np.log2(np.abs(values[values != 0]).min()))
    while np.any(values % step):
        step /= 2
    return step


def test_every_kernel_source_parses_and_all_but_one_are_taken_by_a_network(
    python, tmp_path
) -> None:
    project = emit(python, "dense", tmp_path)
    sources = {source.name: source for source in build.sources(project)}
    assert len(sources) == 14
    left = sources.keys() - set().union(*NETWORKS.values())
    assert left == {"matmul_vector.cpp"}
    flags = ("-std=c++20", "-w", "-D__AIENGINE__", "-fsyntax-only", *build.include_flags(project))
    build.run(("g++", *flags, sources["matmul_vector.cpp"]), project)
