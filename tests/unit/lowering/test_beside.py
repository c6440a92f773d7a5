"""Layers at the same time: who waits for whom, in which order, and what lies apart."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from match_aie.lowering import Alias, Argument, Schedule, Step, Tensor
from match_aie.lowering.lanes import Beside, members
from match_aie.lowering.pairs import Pair, arranged, dependencies
from match_aie.lowering.plan import plan
from match_aie.lowering.turns import Span, turns, turns_between, with_turns


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


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.sampled_from("jxab"), st.sampled_from("jcd")), min_size=1, max_size=8))
def test_a_step_waits_for_what_it_shares_bytes_with(calls):
    """a, b, c and d lie in j, some of them over each other."""
    at = {"a": (0, 64), "b": (64, 32), "c": (32, 64), "d": (96, 32)}
    views = [Alias(name, "j", offset) for name, (offset, _) in at.items()]
    sizes = {name: size for name, (_, size) in at.items()} | {"j": 128}
    steps = [step(read, written) for read, written in calls]

    def bytes_of(name):
        begin, size = at.get(name, (0, 128))
        return {(name == "x", byte) for byte in range(begin, begin + size)}

    wanted = [
        {
            other
            for other, (before, made) in enumerate(calls[:index])
            if bytes_of(made) & (bytes_of(read) | bytes_of(written))
            or bytes_of(before) & bytes_of(written)
        }
        for index, (read, written) in enumerate(calls)
    ]
    assert dependencies(schedule([*steps, step("x", "y")], views, sizes))[:-1] == wanted


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


#: Two lanes of three layers each, by turns; then the last two of one lane.
TURNS, BEHIND = Beside(2, lanes=(0, 1, 1, 0, 1, 0)), Beside(0, lanes=(0, 1, 1))


def test_a_step_runs_until_the_next_one_of_its_lane_is_entered():
    assert [TURNS.span(step) for step in TURNS.steps] == [
        *((2, 4), (2, 3), (4, 5), (5, 6), (6, 7), (7, 7))
    ]
    assert [BEHIND.span(step) for step in BEHIND.steps] == [(0, 2), (0, 1), (2, 2)]
    assert members((BEHIND, TURNS)) == {
        **dict.fromkeys(range(3), BEHIND),
        **dict.fromkeys(range(2, 8), TURNS),
    }


def test_what_lives_while_one_lane_goes_on():
    """c and d are made in turns beside b: d may lie where a's copy e is no longer needed."""
    steps = [step("x", "a"), step("x", "b"), step("a", "c"), step("c", "d"), step("bd", "y")]
    found = placements(plan(schedule(steps, beside=[Beside(1, lanes=(0, 1, 1))])))
    assert {name: (p.first, p.last) for name, p in found.items()} == {
        **{"a": (0, 2), "b": (1, 4), "c": (1, 3), "d": (3, 4)}
    }
    assert len({found[name].offset for name in "abc"}) == 3
    assert found["d"].offset == found["a"].offset


def test_each_of_several_gets_its_turn_when_the_one_before_it_is_left():
    """A layer is entered at the moment in which the one before it in its lane ends."""
    times = [(0.0, 9.0), (1.0, 5.0), (5.0, 8.0), (9.0, 12.0)]
    spans = [Span(begin, begin, end, end) for begin, end in times]
    assert turns_between([1, 2, 1, 1], spans) == (0, 1, 1, 1, 2, 2, 0, 3, 3)
