"""Layers at the same time: who waits for whom, in which order, and what lies apart."""

import pytest

from match_aie.lowering import Alias, Argument, Schedule, Step, Tensor
from match_aie.lowering.pairs import Pair, arranged, dependencies
from match_aie.lowering.plan import plan
from match_aie.lowering.program import Beside
from match_aie.lowering.turns import turns, with_turns


def step(reads, writes, in_place=()):
    arguments = [Argument("tensor", name, "read") for name in reads]
    arguments += [Argument("tensor", name, "write") for name in writes]
    return Step(f"make {writes[0]}", f"f_{writes[0]}", tuple(arguments), None, tuple(in_place))


def schedule(steps, aliases=(), sizes=None, beside=()):
    names = {"x", *(name for one in steps for name in (*one.reads(), *one.writes()))}
    known = dict.fromkeys(sorted(names | {a.base for a in aliases}), 64) | (sizes or {})
    tensors = tuple(Tensor(name, "int8", (size,)) for name, size in known.items())
    return Schedule(
        "net", ("x",), ("y",), tensors, (), tuple(aliases), tuple(steps), (), beside=tuple(beside)
    )


#: x -> a -> c, x -> b -> d, and y of both.
DIAMOND = [step("x", "a"), step("a", "c"), step("x", "b"), step("b", "d"), step("cd", "y")]


def test_branches_do_not_wait_for_each_other():
    assert dependencies(schedule(DIAMOND)) == [set(), {0}, set(), {2}, {1, 3}]


def test_parts_of_a_concatenation_do_not_wait_for_each_other():
    steps = [step("x", "a"), step("x", "b"), step("j", "y")]
    views = (Alias("a", "j", 0), Alias("b", "j", 64))
    assert dependencies(schedule(steps, views, {"j": 128})) == [set(), set(), {0, 1}]
    same = (Alias("a", "j", 0), Alias("b", "j", 32))
    assert dependencies(schedule(steps, same, {"j": 128})) == [set(), {0}, {0, 1}]


def test_the_later_step_is_moved_to_its_partner():
    found = arranged(schedule(DIAMOND), [Pair(2, 0), Pair(1, 3)])
    assert [s.writes()[0] for s in found.steps] == ["b", "a", "c", "d", "y"]
    assert [pair.step for pair in found.beside] == [0, 2]


def test_what_a_step_waits_for_runs_before_it():
    """d needs b, whose own partner was given up: b is still behind."""
    assert arranged(schedule(DIAMOND), [Pair(1, 3)]) is None


@pytest.mark.parametrize(
    ("calls", "cycles", "order"),
    [
        ((1, 1), (10.0, 10.0), (0, 1, 0, 1)),
        ((1, 1), (20.0, 10.0), (0, 1, 1, 0)),
        ((1, 3), (30.0, 20.0), (0, 1, 1, 1, 1, 0)),
        ((2, 2), (10.0, 30.0), (0, 1, 0, 0, 1, 1)),
    ],
)
def test_each_gets_its_turn_when_it_would_if_alone(calls, cycles, order):
    assert turns(calls, cycles) == order


def test_a_layer_without_a_place_of_its_own_is_not_beside_another():
    assert with_turns(schedule(DIAMOND, beside=[Beside(0)])) is None


def placements(found):
    return {p.name: p for p in found.placements}


def test_what_two_steps_at_the_same_time_touch_is_apart():
    """a is read for the last time by the first of two, whose partner's result may not lie there."""
    steps = [step("x", "a"), step("a", "c", [("a", "c")]), step("x", "b"), step("cb", "y")]
    after = plan(schedule(steps))
    found = placements(after)
    assert found["a"].offset in (found["b"].offset, found["c"].offset)
    beside = plan(schedule(steps, beside=[Beside(1)]))
    found = placements(beside)
    offsets = {found[name].offset for name in "abc"}
    assert len(offsets) == 3
    assert not beside.in_place
    assert (found["a"].first, found["a"].last) == (0, 2)
    assert (found["b"].first, found["c"].first) == (1, 1)
