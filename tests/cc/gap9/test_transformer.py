"""A small quantised transformer encoder: every layer on NE16 or the cluster, as emitted."""

import warnings

import numpy as np
import pytest

import match_aie as match
from match_aie.report.text import compiled_report
from match_aie.targets.gap9 import GAP9
from tests.networks.transformers import Sizes, quantised_encoder
from tests.shared import random_inputs

SMALL = Sizes(24, 32, 2, 48, 1)


def compiled(model, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return match.compile(model, GAP9(**options))


@pytest.fixture(scope="module")
def net():
    return compiled(quantised_encoder(SMALL), modules=("cluster",))


def test_nothing_stays_on_the_control_core(net):
    steps = net.program.schedule.steps
    assert [step.label for step in steps if step.layer is None] == []
    kinds = {layer.workload.kind for layer in net.program.schedule.layers}
    wanted = {"dense", "matmul", "softmax", "layer_norm", "table", "add", "permute"}
    assert wanted <= kinds


def test_norms_are_integers_with_a_proven_bound(net):
    details = [step.layer for step in compiled_report(net).steps if step.layer is not None]
    norms = [layer for layer in details if layer.workload.kind == "layer_norm"]
    assert len(norms) == 2
    for layer in norms:
        assert layer.workload.fixed_point
        assert 0 < layer.error_lsb < 1


def test_softmax_is_integers_with_a_proven_bound(net):
    """Products of 32 bits where rows are short; no float is left between the network's ends."""
    details = [step.layer for step in compiled_report(net).steps if step.layer is not None]
    (layer,) = (layer for layer in details if layer.workload.kind == "softmax")
    assert layer.workload.fixed_point
    assert layer.workload.tail.bits == 32
    assert 0 < layer.error_lsb < 0.5
    floats = {"quantize", "dequantize"}
    for layer in details:
        if layer.workload.kind not in floats:
            assert {o.dtype for o in layer.workload.data} <= {"int8", "uint8"}, layer.workload.kind
            assert layer.workload.kind in ("permute", "table") or layer.workload.fixed_point
    assert any(b"ma_softmax_narrow_u8" in text for text in net.sources().values())


@pytest.mark.parametrize("mask", ["causal", "padding"])
def test_masks(mask, tmp_path):
    """What a mask adds to scores is a sum on the cluster: one matrix, or one row, for all heads."""
    masked = compiled(quantised_encoder(SMALL, mask), modules=("cluster",))
    steps = masked.program.schedule.steps
    assert [step.label for step in steps if step.layer is None] == []
    result = masked.write(tmp_path / "net").run(
        random_inputs(masked.inputs, np.random.default_rng(2)), quick=True
    )
    assert result.matches_reference
    assert max(found.max_lsb for found in result.deviations) <= 1


@pytest.mark.parametrize("compiler", [None, pytest.param("clang", marks=pytest.mark.slow)])
def test_as_emitted(net, compiler, tmp_path):
    """Every layer equals its reference bit for bit, and is a step off the model at most."""
    project = net.write(tmp_path / "net")
    for seed in range(3):
        inputs = random_inputs(net.inputs, np.random.default_rng(seed))
        result = project.run(inputs, quick=True, compiler=compiler)
        assert result.matches_reference
        assert max(found.max_lsb for found in result.deviations) <= 1


def test_in_tiles(tmp_path):
    """With little L1 no layer is a single tile, and the bits are the same."""
    model = quantised_encoder(SMALL)
    small = compiled(model, modules=("cluster",), l1_bytes=2048)
    calls = {layer.workload.kind: layer.mapping.kernel for layer in small.program.schedule.layers}
    assert {"matmul", "layer_norm", "table"} <= set(calls)
    inputs = random_inputs(small.inputs, np.random.default_rng(0))
    assert small.write(tmp_path / "net").run(inputs, quick=True).matches_reference


def test_all_of_it_is_simulated(net):
    run = net.simulate(record=False)
    assert all(step.simulated for step in run.steps)
    for step in run.steps:
        assert step.cycles < 1.35 * step.predicted, step.label
