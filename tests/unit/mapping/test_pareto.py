"""Pareto fronts against all feasible placements, by brute force."""

import itertools
from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from match_aie.errors import Infeasible, OptionError
from match_aie.hardware import Loop
from match_aie.mapping import SearchOptions, check, overfull, search
from match_aie.mapping.evaluate import Evaluation
from tests.thinned import thinned
from tests.unit.mapping.machines import Machine, addition, conv, fully_connected, pooling, product
from tests.unit.mapping.oracle import MODES, OBJECTIVES, Oracle
from tests.unit.mapping.test_exact import CASES


@cache
def brute_force(workload, machine, tiles, memory):
    """By (mode, objective): (value, bytes) that nothing beats in both, least value first."""
    least = {key: {} for key in itertools.product(MODES, OBJECTIVES)}
    oracle = Oracle(workload, machine, tiles)
    for terms, used in oracle.points():
        nbytes = used[memory]
        for key, known in least.items():
            got = oracle.value(*key, *terms)
            known[nbytes] = min(got, known.get(nbytes, got))
    return {key: front(known) for key, known in least.items()}


def front(least):
    """Of the least values by bytes, those that no fewer bytes reach."""
    found = []
    for nbytes in sorted(least):
        if not found or least[nbytes] < found[-1][0] * (1 - 1e-9):
            found.append((least[nbytes], nbytes))
    return found[::-1]


@cache
def wanted(name, memory):
    workload, sizes, facts, tiles = CASES[name]
    return brute_force(workload, Machine(sizes, **facts), tiles, memory)


def value(cost, objective):
    energy = cost.picojoules or 0.0
    return {"latency": cost.cycles, "energy": energy, "edp": energy * cost.cycles}[objective]


def compare(expected, workload, machine, tiles, memory, objective="latency"):
    options = SearchOptions("exact", tiles, objective, pareto=memory)
    points = search(workload, machine, options)
    assert not isinstance(points, Infeasible)
    expected = expected[machine.model.mode, objective]
    assert [point.nbytes for point in points] == [nbytes for _, nbytes in expected]
    got = [value(point.cost, objective) for point in points]
    assert got == pytest.approx([least for least, _ in expected], rel=1e-9)
    assert [point.bound for point in points] == pytest.approx(got, rel=1e-9)
    for point in points:
        assert check(workload, machine, point.mapping) == ()
        assert overfull(workload, machine, machine.model, point.mapping) == {}
        uses = Evaluation(workload, machine, machine.model, point.mapping).uses()
        assert point.nbytes == sum(use.nbytes for use in uses if use.memory == memory)
    return points


def compare_case(name, mode, at=0, objective="latency"):
    workload, sizes, facts, tiles = CASES[name]
    machine = Machine(sizes, mode, **facts)
    memory = machine.memories[at].name
    return compare(wanted(name, memory), workload, machine, tiles, memory, objective)


@pytest.mark.parametrize("name", thinned((n for n, c in CASES.items() if len(c[1]) == 1), 3))
def test_two_levels(name):
    for mode in MODES:
        compare_case(name, mode)


def test_a_front_has_more_than_one_point():
    assert len(compare_case("conv, ragged", "sum")) > 2


@pytest.mark.parametrize("objective", ["energy", "edp"])
@pytest.mark.parametrize("name", ["conv", "dense, stored partial sums", "add"])
def test_other_objectives(name, objective):
    compare_case(name, "pipelined", objective=objective)


@pytest.mark.parametrize("at", [0, 1])
@pytest.mark.parametrize("name", ["three levels", "three levels, ragged"])
def test_three_levels(name, at):
    compare_case(name, "pipelined", at)


WORK = st.one_of(
    st.builds(
        fully_connected, rows=st.integers(1, 3), inputs=st.integers(1, 5), outputs=st.integers(1, 7)
    ),
    st.builds(product, rows=st.integers(1, 3), inner=st.integers(1, 4), columns=st.integers(1, 4)),
    st.builds(addition, oy=st.integers(1, 5), ox=st.just(1), k=st.integers(1, 7)),
    st.builds(pooling, oy=st.integers(1, 3), ox=st.just(1), channels=st.integers(1, 5)),
    st.builds(
        conv,
        oy=st.integers(2, 5),
        ox=st.just(1),
        k=st.integers(1, 5),
        f=st.just(1),
        pad=st.just(0),
        stride=st.integers(1, 2),
    ),
)


@settings(deadline=None, max_examples=25)
@given(
    WORK,
    st.sampled_from(["sum", "max", "pipelined"]),
    st.sampled_from([(), (Loop("K", 2),)]),
    st.sampled_from([(), None]),
    st.sampled_from(["divisor", "ragged"]),
)
def test_generated_layers(workload, mode, unroll, double, tiles):
    machine = Machine((200,), mode, unroll=unroll, double=double)
    compare(brute_force(workload, machine, tiles, "L1"), workload, machine, tiles, "L1")


@pytest.mark.parametrize("memory", ["home", "L7"])
def test_memories_that_cannot_be_traded(memory):
    with pytest.raises(OptionError, match=f"pareto '{memory}' is not an inner memory"):
        search(conv(), Machine((100,)), SearchOptions("exact", pareto=memory))


@pytest.mark.parametrize("wrong", [{"engine": "loma"}, {"engine": "exact", "tolerance": 0.1}])
def test_only_a_proof_makes_a_front(wrong):
    with pytest.raises(OptionError, match="only engine 'exact' without tolerance"):
        SearchOptions(**wrong, pareto="L1")


def test_nothing_fits():
    found = search(conv(batch=2), Machine((10,)), SearchOptions("exact", pareto="L1"))
    assert isinstance(found, Infeasible)
    assert found.resource == "L1"


def test_a_module_may_ask_for_the_front():
    class Wanting(Machine):
        pareto = "L1"

    asked = search(conv(), Wanting((150,)))
    assert asked == search(conv(), Machine((150,)), SearchOptions("exact", pareto="L1"))
    assert len(asked) > 1
    assert [p.nbytes for p in asked] == sorted((p.nbytes for p in asked), reverse=True)
