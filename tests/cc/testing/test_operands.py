"""Constants as operands, and a tensor with itself, on targets with modules of their own."""

import shutil

import numpy as np
import pytest

import match_aie as match
from match_aie.hardware import load_target
from match_aie.targets.cpu import CPU
from match_aie.testing import ZOO, check_target
from match_aie.testing.case import network
from match_aie.testing.operands import OPERANDS
from tests import integer_graphs as ig

pytestmark = pytest.mark.skipif(
    not any(map(shutil.which, ("cc", "gcc", "clang"))), reason="no C compiler"
)
BY_NAME = {case.name: case for case in ZOO}
#: One network: what was wrong somewhere, and a case of every operator.
FEW = [
    BY_NAME[name]
    for name in (
        "add int8, constant second, full",
        "add uint8, constant first, full",
        "add int8, constant second, 1xCx1x1",
        "add int8, constant first, scalar",
        "mul uint8, constant second, 1xCx1x1",
        "sub int8, constant first, 1xCx1x1",
        "concat int8, constant first, full",
        "matmul int8, constant second, one for each batch",
        "add int8, constant scales apart",
        "add int8, constant uint8",
        "add int8, constant quantized",
        "add int8, constant per channel",
        "add int8, constant, relu",
        "add int8 with itself",
    )
]
#: Cases by target: a few where something was wrong; slow tests try the whole zoo on each.
CASES = {"GAP9": FEW[:3], "Diana": [FEW[0], FEW[2], FEW[9]], "VersalAIEML": FEW[:1], "CPU": FEW}


def test_the_zoo_has_every_operator_side_shape_and_type():
    for operator in ("add", "mul", "sub", "concat", "matmul"):
        for dtype in ("int8", "uint8"):
            for side in ("first", "second"):
                start = f"{operator} {dtype}, constant {side}, "
                assert sum(case.name.startswith(start) for case in OPERANDS) == 3, start
    assert {case.name for case in OPERANDS} < set(BY_NAME)


@pytest.mark.parametrize(
    "name",
    [pytest.param(n, marks=pytest.mark.slow) if n in ("GAP9", "Diana") else n for n in CASES],
)
def test_constants_are_operands_like_others(name):
    """Each is computed exactly by some module or the core; who refuses says why."""
    check = check_target(CPU("portable") if name == "CPU" else load_target(name), cases=CASES[name])
    rows = {row.case: row for row in check.rows if ": " not in row.case}
    assert {case.name for case in CASES[name]} == set(rows)
    assert not [row.problem for row in check.rows if row.problem]
    full = rows["add int8, constant second, full"]
    taken = {"GAP9": "cluster", "Diana": "digital", "VersalAIEML": "arm", "CPU": "cpu"}
    assert [ran.module for ran in full.ran] == [taken[name]]
    reasons = {refusal.reason for row in check.rows for refusal in row.refused}
    if name == "VersalAIEML":
        assert "one of its operands is constant; sums take two activations" in reasons
    if name in ("GAP9", "Diana"):
        assert any("its inputs are broadcast" in reason for reason in reasons)


@pytest.mark.parametrize("name", [pytest.param("GAP9", marks=pytest.mark.slow), "Diana"])
def test_integer_graphs_add_constants(name, tmp_path):
    """A widened constant as an addend, on either side; once as large as the tensor, once not."""
    shape, rng = (1, 4, 4, 16), np.random.default_rng(2)
    full, channels = (rng.integers(0, 100, s).astype(np.int8) for s in (shape, (1, 1, 1, 16)))

    def body(builder, inputs):
        first = ig.residual(
            builder, ig.const(full, "int8"), inputs[0], "NHWC", (5, 3), shift=3, zero=-4
        )
        return ig.residual(builder, first, ig.const(channels, "int8"), "NHWC", shift=1)

    net = match.compile(ig.module(body, (shape, "int8")), name, cache=False, selection="match")
    taken = {"GAP9": "cluster", "Diana": "cpu"}
    assert net.program.schedule.layers[0].module == taken[name]
    x = rng.integers(-128, 128, shape).astype(np.int8)
    result = net.write(tmp_path / "net").run(x, quick=True)
    assert result.mismatches == ()
    wide = x.astype(np.int64) * 3 + full.astype(np.int64) * 5
    wide = np.clip((wide >> 3) - 4, -128, 127)
    expected = np.clip((wide + channels) >> 1, -128, 127)
    (got,) = result.outputs.values()
    np.testing.assert_array_equal(got, expected)


def test_a_case_is_the_same_alone_and_beside_others():
    alone, beside = network(FEW[:1]), network(FEW)
    known = {tensor.name: tensor for tensor in beside.graph.initializer}
    assert all(known[tensor.name] == tensor for tensor in alone.graph.initializer)
