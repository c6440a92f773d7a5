"""`XDNA(partial_sums="result")`: networks compiled so, executed, and what is said of them."""

import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import match_aie as match
from match_aie.errors import ModelError, TargetError
from match_aie.report.text import sums_text
from match_aie.targets.versal.executing import prove
from match_aie.targets.versal.module import AieArray
from match_aie.targets.xdna import XDNA
from match_aie.targets.xdna.module import RoundingArray
from match_aie.workload import (
    Quantized,
    Turns,
    dense,
    drawn_loss,
    full_range,
    real_dense,
    reference,
    turns_of,
    with_exact_sums,
    with_rounded_sums,
    within_bound,
)
from match_aie.workload.codec import from_json, to_json
from tests.networks.power_of_two import dense_chain


def compiled(widths, dtype, name, rows=64, **options):
    target = XDNA(name, columns_per_layer=1, modules=("array",), partial_sums="result", **options)
    return match.compile(dense_chain(rows, widths, dtype), target=target, selection="match")


@pytest.mark.parametrize(
    ("name", "dtype", "widths"),
    [("npu1", np.int8, (512, 640, 520)), ("npu2", np.int16, (512, 640))],
)
def test_networks_are_held_to_what_their_mappings_compute(name, dtype, widths):
    """Weights that no tiles of a column hold: programs give what references of the cut do."""
    net = compiled(widths, dtype, name)
    mine = net.program.schedule.chosen
    assert len(mine) == len(widths) - 1
    assert all(layer.module == "array" for layer in mine)
    assert all(turns_of(layer.workload).waits > 0 for layer in mine)
    assert prove(mine, name, np.random.default_rng(0)) == len(mine)
    manifest = json.loads(net.code()["match_aie.json"])
    for each in manifest["layers"]:
        told = each["rounded_sums"]
        assert told["provenance"] == "measured"
        assert 0 < told["mean"] <= told["largest"]
        assert each["original"]["error_lsb"] is None
        assert turns_of(from_json(each["workload"])).waits > 0


def original(pair, form="shift", rows=9, k=70, n=24):
    """A layer in the model's arithmetic, and its constants."""
    rng = np.random.default_rng(3)
    x, w = pair
    if x == "float32":
        constants = {"weight": rng.standard_normal((n, k)).astype(np.float32)}
        return real_dense(rows=rows, inputs=k, outputs=n, bias=False), constants
    many = n if form == "channel" else 1
    tail, steps = full_range(x, 0), (Quantized(x, 2.0**-4), Quantized(x, 2.0**-3))
    sizes = {"rows": rows, "inputs": k, "outputs": n}
    workload = dense(*steps, **sizes, weight_dtype=w, tail=tail, scales=many)
    scale = np.full(many, 2.0**-9, np.float32)
    constants = {
        "weight": rng.integers(-99, 100, (n, k)).astype(w),
        "bias": rng.integers(-2000, 2000, n).astype(np.int32),
        "scale": scale * rng.uniform(0.5, 1.0, many).astype(np.float32) if many > 1 else scale,
    }
    return workload, constants


def module(name="npu1", **options):
    return RoundingArray(name, 4, **options)


@pytest.mark.parametrize("pair", [("int8", "int8"), ("int16", "int8"), ("float32", "float32")])
@settings(max_examples=20, deadline=None)
@given(turns=st.integers(1, 4), tiles=st.integers(1, 3), seed=st.integers(0, 99))
def test_references_of_a_cut(pair, turns, tiles, seed):
    """They are kept as JSON, one turn loses nothing, and floats stay within their bound."""
    floats = {"floats": "bf16"} if pair[0] == "float32" else {}
    made = module(**floats).convert(*original(pair))
    asked, constants = made.workload, dict(made.constants)
    assert made.error_lsb is None
    cut = Turns(-(-70 // (turns * tiles)), turns, tiles)
    workload = with_rounded_sums(asked, cut)
    assert turns_of(from_json(to_json(workload))) == cut
    x = inputs_of(workload, np.random.default_rng(seed))
    y, exact = (reference(w, [x], constants) for w in (workload, with_exact_sums(workload)))
    if turns == 1:
        np.testing.assert_array_equal(y, exact)
    if floats:
        assert within_bound(workload, [x], constants, y).all()
    lost = drawn_loss(workload, constants)
    assert (lost.mean > 0) == (turns > 1) or not floats
    assert ("exact:" in sums_text(workload, lost)) == (turns == 1)
    with pytest.raises(ModelError, match="hangs on a mapping"):
        reference(asked, [x], constants)


def inputs_of(workload, rng):
    operand = workload.inputs[0]
    if operand.dtype == "float32":
        return rng.standard_normal(operand.shape).astype(np.float32)
    return rng.integers(-128, 128, operand.shape).astype(operand.dtype)


def test_a_chain_in_bfloat16_has_the_cut_of_its_mapping():
    """Planned and read back: the workload with a cut names the plan of the one without."""
    array = module(floats="bf16")
    array.columns = 1
    made = array.convert(*original(("float32", "float32"), rows=64, k=512, n=320))
    nests = array.nests(made.workload)
    workload = array.mapped(made.workload, nests[0])
    m = array.plan(workload, nests[0]).timed.mapping
    assert turns_of(workload) == Turns(m.call_reduction, m.reduction_steps, m.cas_length)
    assert turns_of(workload).waits > 0
    assert array.plan(workload, nests[0]) == array.plan(made.workload, nests[0])


@pytest.mark.parametrize(
    ("name", "pair", "options", "why"),
    [
        ("npu1", ("int8", "int8"), {}, "only a shift is undone"),
        ("npu2", ("float32", "float32"), {"floats": "bf16"}, "do not round sums that wait"),
        ("npu2", ("float32", "float32"), {"floats": "bfp16"}, "do not round sums that wait"),
    ],
)
def test_layers_without_such_kernels_are_refused_by_name(name, pair, options, why):
    """By columns that are scaled, or sums that end with a tile: the sentence has the lever."""
    form = original(pair, "channel")
    said = module(name, **options).convert(*form)
    assert why in said
    assert 'partial_sums="exact"' in said
    assert not isinstance(AieArray(name, 4, **options).convert(*form), str)


def test_results_of_32_bits_are_exact_anyway():
    workload, constants = original(("int8", "int8"))
    wide = replace(workload.output, dtype="int32", scale=1.0)
    kept = [o for o in workload.operands[:-1] if o.name != "scale"]
    sums = replace(workload, operands=(*kept, wide), tail=None)
    del constants["scale"]
    assert turns_of(module().convert(sums, constants).workload) is None


def test_choices_and_options():
    with pytest.raises(TargetError, match="partial_sums 'wide'"):
        XDNA(partial_sums="wide")
    assert XDNA(partial_sums="result").options()["partial_sums"] == "result"
    assert XDNA().options()["partial_sums"] == "exact"
