"""Attention in bfloat16 with an unshifted softmax in a network, emitted and run in emulation."""

import shutil

import numpy as np
import pytest

import match_aie as match
from match_aie.targets.cpu import CPU
from match_aie.targets.xdna import XDNA
from tests.networks.whisper import Sizes, whisper_encoder
from tests.shared import random_inputs

SMALL = Sizes(layers=1, convolutions=False, frames=70, width=64, inner=128, heads=2)


def layers_of(net):
    """Modules and kinds."""
    return {(layer.module, layer.workload.kind) for layer in net.program.schedule.layers}


@pytest.mark.parametrize("target", [CPU("x86-64-v3"), XDNA(floats="bf16")])
def test_functions_that_no_product_takes_along_are_vectors_of_the_processor(target) -> None:
    """Weights are stored as integers, so products are the fallback's; GELU is whole before them."""
    net = match.compile(whisper_encoder(SMALL, real=True), target=target)
    assert {("cpu_rows", "function"), ("cpu_rows", "layer_norm")} <= layers_of(net)


@pytest.mark.skipif(shutil.which("g++") is None, reason="no C++ compiler")
@pytest.mark.parametrize(("device", "floats"), [("npu1", "bf16"), ("npu2", "bfp16")])
def test_a_layer_is_equal_to_its_reference(tmp_path, device, floats) -> None:
    target = XDNA(device, floats=floats, softmax="unshifted", modules=("array",))
    net = match.compile(whisper_encoder(SMALL, real=True), target=target)
    attention = [s for s in net.program.schedule.layers if s.workload.kind == "attention"]
    assert [dict(one.workload.parameters).get("unshifted") for one in attention] == [1.0]
    assert attention[0].workload.real.precision == {"bf16": "bfloat16"}.get(floats, floats)
    inputs = random_inputs(net.inputs, np.random.default_rng(0))
    result = net.write(tmp_path / "net").run(inputs, quick=True)
    assert result.matches_reference
