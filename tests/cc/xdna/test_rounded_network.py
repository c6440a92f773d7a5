"""Networks in bfloat16 whose partial sums are rounded: compiled, executed, emitted and run."""

import shutil

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import match_aie as match
from match_aie.targets.versal.executing import prove
from match_aie.targets.xdna import XDNA
from match_aie.workload import turns_of
from tests.cc.versal.test_bfloat16_rows import Rows
from tests.shared import random_inputs


def compiled(model):
    target = XDNA(
        "npu1",
        columns_per_layer=1,
        modules=("array",),
        floats="bf16",
        partial_sums="result",
    )
    return match.compile(model, target=target)


def perceptron():
    """Two layers whose weights no tiles of a column hold."""
    return Rows(32, 512).dense(416).of("Relu").dense(320).model()


def block():
    """Half of a transformer's block."""
    net = Rows(24, 384)
    kept = net.last
    return net.norm().dense(512).gelu().dense(384).of("Add", kept).model()


def cuts(net):
    """Of dense layers on the array."""
    chosen = net.program.schedule.chosen
    return [turns_of(layer.workload) for layer in chosen if layer.workload.kind == "dense"]


@pytest.mark.skipif(shutil.which("g++") is None, reason="no C++ compiler")
@pytest.mark.parametrize("made", [perceptron, block])
def test_what_runs_is_the_reference_of_the_cut(tmp_path, made):
    """Each checked run says how far the rounded sums take a layer, and from how many turns."""
    net = compiled(made())
    cut = cuts(net)
    assert [each.waits > 0 for each in cut] == [True, True]
    inputs = random_inputs(net.inputs, np.random.default_rng(1))
    result = net.write(tmp_path / "net").run(inputs, quick=True)
    assert result.matches_reference
    assert [each.turns for each in result.rounded] == [each.turns for each in cut]
    assert all(0 < each.mean <= each.largest < 8 for each in result.rounded)
    assert all(0 < close.bound_used <= 1 for close in result.floats)


@settings(max_examples=3, deadline=None)
@given(
    rows=st.integers(9, 60),
    widths=st.tuples(*[st.integers(40, 600)] * 3),
    seed=st.integers(0, 99),
)
def test_networks_of_any_size(rows, widths, seed):
    first, inner, last = widths
    net = compiled(Rows(rows, first).dense(inner).gelu().dense(last).model())
    mine = [layer for layer in net.program.schedule.chosen if layer.module == "array"]
    assume(mine)
    assert 1 <= prove(mine, "npu1", np.random.default_rng(seed)) <= len(mine)


def test_attention_beside_them_is_as_it_was():
    """A transformer's block: its dense layers alone are rounded."""
    net = Rows(16, 256)
    kept = net.last
    found = compiled(net.attention(4).of("Add", kept).norm().dense(512).model())
    chosen = found.program.schedule.chosen
    assert {layer.workload.kind for layer in chosen if turns_of(layer.workload)} == {"dense"}
    mine = [layer for layer in chosen if layer.module == "array"]
    assert 1 <= prove(mine, "npu1", np.random.default_rng(0)) <= len(mine)
