"""Recurrent layers over several tiles whose units come to all of them as packets."""

from dataclasses import replace

import numpy as np
import pytest

from match_aie.hardware import Loop, Mapping
from match_aie.targets.aie_ml import device
from match_aie.targets.aie_ml.array import Assumed
from match_aie.targets.aie_ml.array.check import check, violations
from match_aie.targets.aie_ml.array.layout import lay_out
from match_aie.targets.aie_ml.execute import execute
from match_aie.targets.aie_ml.execute.merging import header
from match_aie.targets.aie_ml.execute.recurrent_functions import in_order
from match_aie.targets.aie_ml.graph.cut_plan import cut_plan
from match_aie.targets.aie_ml.simulate import simulate_program
from match_aie.workload import reference
from tests.unit.workload.test_recurrent_bfloat16 import layer
from tests.unit.workload.test_recurrent_int8 import layer as layer8

VEK280 = device("vek280")


def program(workload, constants, tiles):
    spatial = Loop("K", 1), Loop("K", tiles), Loop("K", 16)
    plan = cut_plan(workload, "vek280", Mapping(spatial, ()))
    made = lay_out(plan.graph("layer", workload, constants), VEK280, 3)
    check(made, VEK280)
    assert len(made.cores) == tiles
    return plan, made


@pytest.mark.parametrize(
    ("kind", "steps", "inputs", "hidden", "tiles"),
    [("gru", 9, 5, 40, 3), ("lstm", 1, 30, 64, 4), ("gru", 6, 40, 100, 7), ("lstm", 5, 8, 130, 9)],
)
def test_executed_programs_equal_their_references(kind, steps, inputs, hidden, tiles):
    """Two runs, of which the second begins with a state of zeros; tiles that send late, too."""
    workload, constants, x = layer(kind, True, steps, inputs, hidden)
    wanted = reference(workload, [x], constants)
    _, made = program(workload, constants, tiles)
    (merge,) = made.merges
    for slow in ((), merge.sources[:1], merge.sources[1:]):
        done = execute(made, VEK280, [{"x": x[::-1].copy()}, {"x": x}], slow=slow)
        np.testing.assert_array_equal(done.tensor(wanted, run=1), wanted)


@pytest.mark.parametrize(
    ("kind", "steps", "inputs", "hidden", "dtype", "zero"),
    [("gru", 9, 5, 70, "int8", -3), ("lstm", 1, 30, 128, "uint8", 120)],
)
def test_products_of_8_bits(kind, steps, inputs, hidden, dtype, zero):
    """Packets hold units as products read them, a byte each; results leave apart."""
    workload, constants, x = layer8(kind, True, steps, inputs, hidden, 0, dtype, zero)
    wanted = reference(workload, [x], constants)
    _, made = program(workload, constants, -(-hidden // 32))
    (merge,) = made.merges
    assert (merge.bytes, set(merge.reads)) == (32, {"sent"})
    for slow in ((), merge.sources[:1], merge.sources[1:]):
        done = execute(made, VEK280, [{"x": x[::-1].copy()}, {"x": x}], slow=slow)
        np.testing.assert_array_equal(done.tensor(wanted, run=1), wanted)


def test_headers_put_packets_in_order():
    """Whatever row and column of the source are in them."""
    rng = np.random.default_rng(0)
    state = rng.integers(0, 2**32, (5, 3), np.uint32)
    packets = np.stack([[header((30 - at, at), at), *units] for at, units in enumerate(state)])
    came = packets[[3, 0, 4, 2, 1]].astype(np.uint32).reshape(-1).view(np.uint8)
    np.testing.assert_array_equal(in_order(came, 5), state.reshape(-1).view(np.uint8))
    assert all(int(word).bit_count() % 2 for word in packets[:, 0])


@pytest.mark.parametrize(
    ("made_of", "units", "tiles"), [(layer, 16, 4), (layer, 16, 8), (layer8, 32, 4)]
)
def test_a_step_takes_what_is_modelled(made_of, units, tiles):
    """Each packet's words pass one after the other, which assumptions do not touch."""
    workload, constants, _ = made_of("gru", True, 64, 32, units * tiles)
    plan, made = program(workload, constants, tiles)
    result = simulate_program(made, VEK280)
    assert result.steady
    assert result.latency == pytest.approx(plan.cycles, rel=0.1)
    assert simulate_program(made, VEK280, assumed=Assumed().scaled(2)).interval > result.interval
    longer = replace(made, merges=(replace(made.merges[0], bytes=32 + 4 * 10),))
    more = simulate_program(longer, VEK280).interval - result.interval
    assert more == pytest.approx(64 * 10 * tiles, rel=0.05)


def test_rules_hold_ways_through_switches():
    """A connection that lacks, one that is there twice, and a core that others' streams lead to."""
    workload, constants, _ = layer("gru", True, 4, 8, 64)
    _, made = program(workload, constants, 4)
    (merge,) = made.merges
    core = next(hop for hop in merge.hops if hop.master == ("core", 0))
    for hops in (
        tuple(hop for hop in merge.hops if hop != core),
        (*merge.hops, replace(core, slave=("dma", 1))),
        tuple(replace(hop, master=("core", 1)) if hop == core else hop for hop in merge.hops),
    ):
        broken = replace(made, merges=(replace(merge, hops=hops),))
        assert {rule for rule, _ in violations(broken, VEK280)} & {"routes", "ports"}
    # Headers of two merged streams have the same identifiers.
    both = replace(made, merges=(merge, replace(merge, name="packets 1")))
    shared = [v for rule, v in violations(both, VEK280) if rule == "ports"]
    assert len(shared) == len({(hop.tile, hop.master) for hop in merge.hops})
