"""Pipelines with norms, tables, sums and transposes: the emitted project, built and run here."""

import numpy as np
import pytest

import match_aie as match
from match_aie.targets.versal import VersalAIEML
from tests.networks.blocks import Block, block_network


def test_a_block_as_one_pipeline_equals_its_reference(tmp_path):
    """A mixer's: transposes, two residual sums; any scale, zero points everywhere."""
    block = Block(36, 64, 48, "before", odd=True, point=-5, tokens=24)
    target = VersalAIEML(
        memory="plio", optimize_for="throughput", modules=("array",), columns_per_layer=2
    )
    net = match.compile(block_network(block), target, cache=False)
    assert {layer.module for layer in net.program.schedule.layers} == {"array"}
    rng = np.random.default_rng(0)
    x = np.clip(rng.normal(0, 32, (block.rows, block.width)), -128, 127).astype(np.int8)
    project = net.write(tmp_path)
    assert [path.name for path in tmp_path.glob("aie/*_graph.h")] == ["block_chain0_graph.h"]
    result = project.run(x, quick=True)
    assert result.matches_reference
    assert result.layers_checked == 12


@pytest.mark.parametrize(
    ("rows", "inner", "heads", "columns", "north"), [(32, 96, 2, 2, False), (48, 64, 1, 4, True)]
)
def test_a_transformers_block_as_one_pipeline_equals_its_reference(
    rows, inner, heads, columns, north, tmp_path
):
    """Attention with its projections between sums and norms; any scale; values in tiles north."""
    block = Block(rows, 64, inner, "before", odd=True, heads=heads)
    target = VersalAIEML(
        memory="plio", optimize_for="throughput", modules=("array",), columns_per_layer=columns
    )
    net = match.compile(block_network(block), target, cache=False)
    assert {layer.module for layer in net.program.schedule.layers} == {"array"}
    rng = np.random.default_rng(0)
    x = np.clip(rng.normal(0, 32, (block.rows, block.width)), -128, 127).astype(np.int8)
    project = net.write(tmp_path)
    (graph,) = tmp_path.glob("aie/*_graph.h")
    assert graph.name == "block_chain0_graph.h"
    assert ("].in[2]) = {adf::bank(" in graph.read_text(encoding="utf-8")) == north
    result = project.run(x, quick=True)
    assert result.matches_reference
    assert result.layers_checked == 13
