"""Whole transformer blocks of published sizes as one pipeline of the array."""

import numpy as np
import pytest

import match_aie as match
from match_aie.targets.versal import VersalAIEML
from match_aie.targets.versal.executing import prove
from tests.networks.blocks import Block, block_network


@pytest.mark.slow
@pytest.mark.parametrize(
    "block",
    [
        Block(197, 192, 768, "before", heads=3),
        Block(128, 512, 2048, "after", heads=8),
        Block(128, 768, 3072, "after", heads=12),
    ],
    ids=["ViT-tiny", "BERT-small", "BERT-base"],
)
def test_a_whole_block_is_one_program_that_equals_its_reference(block):
    """Attention with its projections, dense layers, norms, GELU and sums: all on the array."""
    target = VersalAIEML(memory="plio", optimize_for="throughput", modules=("array",))
    net = match.compile(block_network(block), target, cache=False)
    layers = net.program.schedule.chosen
    assert {layer.module for layer in net.program.schedule.layers} == {"array"}
    assert sum(layer.workload.macs for layer in layers) == block.macs
    assert prove(layers, "vek280", np.random.default_rng(0)) == 1
