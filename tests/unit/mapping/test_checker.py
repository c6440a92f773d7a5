"""The checker accepts what the engines find, and nothing else."""

from dataclasses import replace

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from match_aie.errors import Infeasible
from match_aie.hardware import Cut, Loop, Mapping
from match_aie.mapping import SearchOptions, check, search
from tests.unit.mapping.machines import (
    Machine,
    addition,
    conv,
    fully_connected,
    pooling,
    product,
)

WORK = fully_connected(rows=2, inputs=4, outputs=5)
MACHINE = Machine((80,), reductions=("C",))
VALID = Mapping(
    (),
    (Loop("K", 3, 2), Loop("C", 2, 2), Loop("B", 2), Loop("K", 2), Loop("C", 2)),
    2,
    (
        Cut("x", "L1", 2), Cut("weight", "L1", 2), Cut("bias", "L1", 2), Cut("scale", "L1", 2),
        Cut("y", "L1", 1),
    ),
)  # fmt: skip


def kinds(mapping, machine=MACHINE, work=WORK):
    return {violation.kind for violation in check(work, machine, mapping)}


def with_loops(*loops):
    return replace(VALID, temporal=loops)


def with_cut(operand, index):
    cuts = tuple(replace(c, index=index) if c.operand == operand else c for c in VALID.cuts)
    return replace(VALID, cuts=cuts)


def test_a_valid_mapping():
    assert kinds(VALID) == set()


@pytest.mark.parametrize(
    ("broken", "kind"),
    [
        (replace(VALID, temporal=VALID.temporal[:-1]), "coverage"),
        (with_loops(*VALID.temporal[:3], Loop("C", 2)), "coverage"),
        (replace(VALID, spatial=(Loop("C", 4),)), None),
        (with_loops(Loop("K", 2, 2), *VALID.temporal[1:]), "nest"),
        (replace(VALID, cuts=VALID.cuts[1:]), "nest"),
        (with_loops(Loop("K", 2, 3), Loop("K", 2, 2), *VALID.temporal[2:], Loop("C", 4)), "nest"),
        (with_cut("y", 2), "dependence"),
        (with_cut("weight", 0), "capacity"),
    ],
)
def test_what_is_wrong_is_found(broken, kind):
    assert kinds(broken) == ({kind} if kind else set())


def test_the_kernel_needs_its_reduction_whole():
    assert kinds(VALID, Machine((80,))) == {"dependence"}


def test_partial_sums_are_wide():
    whole = with_cut("y", 0)
    need = 2 * (2 * 2 + 2 * 2 + 2 * 4 + 2 * 4) + 10 * 4
    assert kinds(whole, Machine((need,), reductions=("C",))) == set()
    assert kinds(whole, Machine((need - 1,), reductions=("C",))) == {"capacity"}


def test_two_memories_out_of_order():
    cuts = (*VALID.cuts, *(replace(c, memory="L2", index=2) for c in VALID.cuts))
    machine = Machine((60, 200), reductions=("C",), spills=True)
    assert "nest" in kinds(replace(VALID, cuts=cuts), machine)


WORKLOADS = st.one_of(
    st.builds(
        conv, oy=st.integers(1, 9), ox=st.integers(2, 9), k=st.integers(1, 8), c=st.integers(1, 4),
        f=st.sampled_from([1, 3]), stride=st.integers(1, 3), pad=st.just(0),
        dilation=st.integers(1, 2), batch=st.integers(1, 2),
    ),
    st.builds(conv, oy=st.integers(2, 9), ox=st.integers(2, 9), k=st.integers(1, 8)),
    st.builds(
        conv, oy=st.integers(2, 9), ox=st.integers(2, 9), k=st.integers(1, 2),
        c=st.integers(1, 2), groups=st.integers(2, 9),
    ),
    st.builds(fully_connected, st.integers(1, 4), st.integers(1, 24), st.integers(1, 24)),
    st.builds(product, st.integers(1, 2), st.integers(1, 12), st.integers(1, 9),
              st.integers(1, 12)),
    st.builds(addition, st.integers(1, 9), st.integers(1, 9), st.integers(1, 9)),
    st.builds(pooling, st.integers(1, 6), st.integers(1, 6), st.integers(1, 9)),
)  # fmt: skip


def machines(*sizes):
    return st.builds(
        Machine,
        st.sampled_from(sizes),
        st.sampled_from(["sum", "max", "pipelined"]),
        unroll=st.sampled_from([(), (Loop("K", 4), Loop("OY", 2)), (Loop("G", 4),)]),
        double=st.sampled_from([None, (), ("x", "y")]),
        scratch=st.sampled_from([0, 3]),
        reductions=st.sampled_from([(), ("C",)]),
        spills=st.booleans(),
        sums=st.booleans(),
        legal=st.sampled_from([None, {"K": 4}]),
        align=st.sampled_from([1, 4]),
        padded=st.booleans(),
    )


@settings(max_examples=40, deadline=None)
@given(WORKLOADS, machines((64,), (150,), (400,)), st.sampled_from(["divisor", "ragged"]))
def test_engines_agree_and_pass(workload, machine, tiles):
    agree_and_pass(workload, machine, tiles)


@pytest.mark.slow
@settings(max_examples=8, deadline=None)
@given(WORKLOADS, machines((80, 300), (200, 400)), st.just("divisor"))
def test_engines_agree_and_pass_with_three_levels(workload, machine, tiles):
    agree_and_pass(workload, machine, tiles)


def agree_and_pass(workload, machine, tiles):
    """`loma` is never better than `exact` and never infeasible where that is not."""
    exact = search(workload, machine, SearchOptions("exact", tiles, runners_up=1))
    loma = search(workload, machine, SearchOptions("loma", tiles, runners_up=1))
    assert isinstance(exact, Infeasible) == isinstance(loma, Infeasible)
    assume(not isinstance(exact, Infeasible))
    assert loma[0].cost.cycles >= exact[0].cost.cycles * (1 - 1e-9)
    for found in (*exact, *loma):
        assert check(workload, machine, found.mapping) == ()
        assert found.cost.cycles >= exact[0].bound * (1 - 1e-9)
    costs = [found.cost.cycles for found in exact]
    assert costs == sorted(costs)
    assert len({found.mapping for found in exact}) == len(exact)


@settings(max_examples=10, deadline=None)
@given(WORKLOADS, machines((16,), (30,), (20, 40)))
def test_infeasible_says_what_is_missing(workload, machine):
    found = search(workload, machine, SearchOptions("exact"))
    assume(isinstance(found, Infeasible))
    assert found.demand > found.bound
    assert found.resource in {memory.name for memory in machine.memories}
    assert sum(nbytes for _, nbytes in found.breakdown) == found.demand
    assert found.levers
