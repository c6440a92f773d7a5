"""Rows of a layer on their own: the bits of the whole layer, in the form that each unit reads."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from match_aie.hardware import Cost, Original, convert
from match_aie.lowering import LayerProgram, Schedule, Step
from match_aie.lowering.beside_price import losers, priced, sure_cycles
from match_aie.lowering.company import MARGIN
from match_aie.lowering.division import TRIED, divisions, half_on, on_both
from match_aie.lowering.program import Beside
from match_aie.targets.gap9 import GAP9
from match_aie.targets.gap9.beside import NE16_BESIDE
from match_aie.targets.gap9.ne16.layer import bordered, pack
from match_aie.workload import Quantized, Tail, Window, conv2d, reference

#: Of one rule of banks alone, by which halves of these layers gain.
MODULES = {module.name: module for module in GAP9(banks="priority").modules()}
PADS = [(1, 0, 0, 0), (0, 0, 1, 0), (0, 1, 0, 0), (1, 1, 1, 1), (1, 0, 1, 0), (0, 1, 1, 1)]


def meaning(padding, stride=1, height=8, zero=97, outputs=16, channels=0, width=8, most=127):
    """A 3x3 layer, depthwise where `channels` is 0, and its constants."""
    groups = 1 if channels else outputs
    workload = conv2d(
        Quantized("uint8", 0.05, zero),
        Quantized("uint8", 0.4, 3),
        shape=(1, height, width, channels or outputs),
        weight_shape=(outputs, 3, 3, channels or 1),
        groups=groups,
        window=Window((stride, stride), (1, 1), padding),
        tail=Tail(3, 0, 255),
        scales=outputs,
    )
    rng = np.random.default_rng(7)
    weight, bias, scale = (workload.operand(name) for name in ("weight", "bias", "scale"))
    return workload, {
        "weight": rng.integers(-most, most + 1, weight.shape).astype(np.int8),
        "bias": rng.integers(-3000, 3000, bias.shape).astype(np.int32),
        "scale": rng.uniform(1e-4, 1e-2, scale.shape).astype(np.float32),
    }


def layer_on(module, workload, constants):
    """The layer as one module runs it, as far as a division looks at it."""
    made = convert(module, workload, constants)
    original = Original(workload, constants, made.error_lsb)
    pattern = next(p.name for p in module.patterns() if not p.refuses(workload))
    constants = tuple(made.constants.items())
    cost = Cost(1.0)
    return LayerProgram(
        "f", module.name, pattern, "", made.workload, None, cost, constants, original=original
    )


def calls(*steps, beside=()):
    return Schedule("net", (), (), (), (), (), steps, (), beside=beside)


def as_ne16_reads(workload):
    """The layer whose padding is 0 and whose offsets hold the zero point: what a plain job does."""
    x = replace(workload.operand("x"), zero_point=0)
    operands = tuple(x if o.name == "x" else o for o in workload.operands)
    return replace(workload, operands=operands)


@pytest.mark.parametrize(("padding", "stride", "height"), list(product(PADS, (1, 2), (8, 9))))
def test_halves_compute_the_layer_s_bits_in_a_form_of_their_own(padding, stride, height):
    """Rows that see no padding have no border; then offsets must hold the zero point."""
    meant, given = meaning(padding, stride, height)
    image = np.random.default_rng(1).integers(0, 256, meant.operand("x").shape).astype(np.uint8)
    ways = on_both(layer_on(MODULES["ne16"], meant, given), *MODULES.values())
    whole = reference(ways[0].workload, [image], ways[0].constants)
    for way, first in product(ways, range(1, whole.shape[1])):
        for begin, count in ((0, first), (first, whole.shape[1] - first)):
            half = half_on(way, begin, count)
            assert half is not None
            workload, line = half.rows.workload, image[0, 0].nbytes
            top = half.rows.read // line
            rows = image[:, top : top + workload.operand("x").shape[1]]
            made = reference(workload, [rows], half.constants)
            np.testing.assert_array_equal(made, whole[:, begin : begin + count])
            if way.module.name != "ne16":
                continue
            packed = pack(workload, half.constants)["offset"]
            assert packed.size == (9 if bordered(workload) else 1) * 16
            if not bordered(workload):
                plain = reference(as_ne16_reads(workload), [rows], half.constants)
                np.testing.assert_array_equal(plain, made)


def test_a_division_deviates_no_more_than_the_layer():
    """NE16 has factors of 16 bits, the cluster of 31: only one takes the other's integers."""
    meant, given = meaning((1, 1, 1, 1), most=3)
    ne16, cluster = MODULES["ne16"], MODULES["cluster"]
    here = layer_on(cluster, meant, given)
    assert convert(ne16, meant, given).error_lsb > here.original.error_lsb
    assert on_both(here, cluster, ne16) is None
    ways = on_both(layer_on(ne16, meant, given), ne16, cluster)
    assert [way.original.error_lsb for way in ways] == [convert(ne16, meant, given).error_lsb] * 2


def test_a_layer_that_is_the_model_s_is_not_divided_in_another_arithmetic():
    """What has no original is bit for bit the model; a conversion that is not exact changes it."""
    meant, given = meaning((1, 1, 1, 1))
    layer = layer_on(MODULES["cluster"], meant, given)
    exact = replace(layer, workload=meant, constants=tuple(given.items()), original=None)
    assert on_both(exact, MODULES["cluster"], MODULES["ne16"]) is None


def test_only_rows_that_may_lie_so_are_counted_as_tried():
    """Lines of 81 bytes: five numbers of rows of 96 begin at a multiple of 16."""
    meant, given = meaning((1, 1, 1, 1), height=96, channels=9, width=9)
    layer = layer_on(MODULES["ne16"], meant, given)
    aligned = [rows for rows in range(1, 96) if (rows - 1) * 81 % 16 == 0 and rows > 1]
    assert len(aligned) < TRIED
    (found,) = divisions(calls(Step("s", "f", (), layer)), MODULES)
    first = found.halves[0].rows.workload.sizes["OY"]
    assert first in aligned


def test_a_pair_that_saves_less_than_the_model_s_error_is_given_up():
    meant, given = meaning((1, 1, 1, 1))
    layer = layer_on(MODULES["ne16"], meant, given)
    for taken, lost in ((100 - 90 * MARGIN, True), (100 - 110 * MARGIN, False)):
        halves = [replace(layer, symbol=s, cost=Cost(taken / 2)) for s in ("f_rows0", "f_rows1")]
        steps = tuple(Step("s", half.symbol, (), half) for half in halves)
        schedule = calls(*steps, beside=(Beside(0),))
        assert bool(losers(schedule, {"f": 100.0}, priced(schedule, MODULES))) == lost


def test_a_pair_that_loses_in_one_case_is_given_up():
    """And a network with pairs takes what it takes in the worst case of all, not of each pair."""
    meant, given = meaning((1, 1, 1, 1))
    layer = layer_on(MODULES["ne16"], meant, given)
    names = ("f_rows0", "f_rows1", "g_rows0", "g_rows1")
    steps = tuple(Step("s", n, (), replace(layer, symbol=n, cost=Cost(40.0))) for n in names)
    pairs = (Beside(0, cases=(-5.0, 19.0)), Beside(2, cases=(10.0, -30.0)))
    schedule = calls(*steps, beside=pairs)
    now, before = priced(schedule, MODULES), {"f": 100.0, "g": 100.0}
    assert losers(schedule, before, now) == {frozenset(names[:2])}
    assert not losers(calls(*steps, beside=(Beside(0), pairs[1])), before, now)
    owed = MARGIN * sum(before.values())
    assert sure_cycles(schedule, before, MODULES) == sum(now.values()) + 5.0 + owed
    alone = calls(*steps)
    assert sure_cycles(alone, before, MODULES) == sum(priced(alone, MODULES).values())


def test_what_a_pair_costs_the_layer_after_it_is_the_pair_s():
    """Which found code of its own unit before, and finds another's now."""
    meant, given = meaning((1, 1, 1, 1))
    layer = layer_on(MODULES["ne16"], meant, given)
    halves = [
        replace(layer, symbol="f_rows0", cost=Cost(5000.0)),
        replace(layer, symbol="f_rows1", module="cluster", cost=Cost(0.0)),
    ]
    after = replace(layer, symbol="g", cost=Cost(1000.0))
    steps = tuple(Step("s", one.symbol, (), one) for one in (*halves, after))
    schedule = calls(*steps, beside=(Beside(0),))
    now = priced(schedule, MODULES)
    own, other = NE16_BESIDE.after_own, NE16_BESIDE.after_other
    assert now == {"f_rows0": 5000.0, "f_rows1": 0.0, "g": 1000.0 + other}
    alone = priced(calls(*(Step("s", one.symbol, (), one) for one in (halves[0], after))), MODULES)
    assert alone == {"f_rows0": 5000.0 + other, "g": 1000.0 + own}
    assert not losers(schedule, {"f": 6000.0, "g": now["g"]}, now)
    assert losers(schedule, {"f": 6000.0, "g": 1000.0 + own}, now) == {
        frozenset({"f_rows0", "f_rows1"})
    }


@pytest.mark.parametrize("more", ["h", "e"])
def test_what_the_layers_around_a_pair_take_more_is_the_pair_s(more):
    """Unless one is in a pair itself, where it takes what it takes beside its partner."""
    meant, given = meaning((1, 1, 1, 1))
    layer = layer_on(MODULES["ne16"], meant, given)
    costs = {"d": 1.0, "e": 50.0, "f": 40.0, "g": 40.0, "h": 50.0, "i": 1.0} | {more: 90.0}
    layers = [replace(layer, symbol=s, cost=Cost(c)) for s, c in costs.items()]
    steps = tuple(Step("s", one.symbol, (), one) for one in layers)
    before = dict.fromkeys(costs, 50.0)
    alone = calls(*steps, beside=(Beside(2),))
    paired = calls(*steps, beside=(Beside(0), Beside(2), Beside(4)))
    assert losers(alone, before, costs) == {frozenset({"f", "g"})}
    assert not losers(paired, before, costs)
