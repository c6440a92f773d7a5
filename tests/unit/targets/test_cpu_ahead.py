"""Recurrent layers whose inputs are multiplied beside their state, and in what slices."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from match_aie.targets.cpu.float_ahead import MOST_BESIDE, SPARE, ahead
from match_aie.targets.cpu.float_recurrent import gates_of
from match_aie.targets.cpu.machine import machine
from match_aie.workload import recurrent

FACTS = machine("x86-64-v4")


def way(facts=FACTS, kind="gru", **sizes):
    given = {"steps": 100, "batch": 1, "inputs": 400, "hidden": 400} | sizes
    workload = recurrent(kind, **given)
    return ahead(workload, facts, gates_of(workload))


@given(
    st.sampled_from(["gru", "lstm"]),
    st.integers(2, 120),
    st.integers(1, 900),
    st.integers(60, 600),
)
def test_a_block_has_panels_for_all_slices(kind, steps, inputs, hidden):
    found = way(kind=kind, steps=steps, inputs=inputs, hidden=hidden)
    if found is None:
        return
    tile, gates = found.tile, {"gru": 3, "lstm": 4}[kind]
    assert 2 * found.rows <= steps
    assert found.calls <= found.rows * (hidden // tile.lanes)
    assert (found.slices - 1) * found.length < inputs <= found.slices * found.length
    assert found.length * found.beside <= hidden
    assert 1 <= found.beside <= MOST_BESIDE
    assert found.columns % tile.width == 0
    assert 0 <= gates * hidden - found.columns < tile.width
    registers = tile.mr * tile.vectors + tile.vectors + gates + 2
    assert registers + SPARE <= FACTS.vector_registers


def test_where_reading_the_states_weights_takes_longest():
    assert way() is not None
    assert way(kind="lstm", hidden=256, inputs=128) is not None


def test_elsewhere_inputs_go_before():
    fast = replace(FACTS.caches[1], bytes_per_cycle=64.0)
    assert way(replace(FACTS, caches=(FACTS.caches[0], fast, FACTS.caches[2]))) is None
    assert way(replace(FACTS, cores=2)) is None
    assert way(machine("x86-64-v3")) is None
    assert way(batch=2) is None
    assert way(hidden=52) is None  # in the first cache
    assert way(steps=3) is None
    assert way(steps=4) is None  # two rows at a time read the inputs' weights too often
    assert way(steps=8) is not None
    assert way(linear_before_reset=False) is None
