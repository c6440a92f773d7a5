"""Whole networks through TVM with our layers, against the same networks compiled by us alone."""

import subprocess
import sys

import numpy as np
import onnx
import pytest
import tvm
from tvm import relax
from tvm.relax.frontend.onnx import from_onnx

import match_aie as match
from match_aie.byoc import Partition
from match_aie.hardware import load_target
from tests.byoc_graphs import ELSEWHERE, GRAPHS, inputs_of
from tests.networks import network
from tests.networks.exported import exported_cnn

pytestmark = pytest.mark.slow


def both(module, model, name, folder) -> tuple[np.ndarray, np.ndarray]:
    """What TVM with our layers gives in a process without us, and what we give alone."""
    cache = str(folder / "cache")
    target = load_target(name)
    passes = [
        Partition(target, cache=cache),
        relax.transform.RunCodegen({"match_aie": {"cache": cache}}),
    ]
    executable = relax.build(tvm.transform.Sequential(passes)(module), "llvm")
    executable.export_library(str(folder / "lib.so"))
    arrays = inputs_of(module)
    np.savez(folder / "given.npz", *arrays)
    paths = [str(folder / file) for file in ("lib.so", "given.npz", "result.npy")]
    subprocess.run([sys.executable, "-c", ELSEWHERE, *paths], check=True, cwd=folder)
    project = match.compile(model, target, cache=cache).write(folder / "project")
    runner = project.runner()
    for place, array in zip(runner.inputs.values(), arrays, strict=True):
        place[...] = array
    runner()
    return np.load(folder / "result.npy"), next(iter(runner.outputs.values()))


@pytest.mark.parametrize("name", ["resnet8_u8", "mobilenetv1_025_u8"])
def test_quantised_networks_are_bit_equal(tmp_path, name) -> None:
    model = onnx.load(str(network(f"{name}.onnx")))
    found, wanted = both(from_onnx(model), model, "CPU", tmp_path)
    np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("name", ["bert_enc_s8", "exported"])
def test_float_networks_are_equal(tmp_path, name) -> None:
    """The same kernels in the same order: the same bits."""
    model = exported_cnn() if name == "exported" else onnx.load(str(network(f"{name}.onnx")))
    found, wanted = both(from_onnx(model), model, "CPU", tmp_path)
    np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("target", ["GAP9", "VersalAIEML"])
def test_chips_are_emulated_bit_for_bit(tmp_path, target) -> None:
    module = GRAPHS["qdq_matmul"]()
    found, wanted = both(module, module, target, tmp_path)
    np.testing.assert_array_equal(found, wanted)
