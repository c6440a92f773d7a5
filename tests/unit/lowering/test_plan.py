"""The memory plan: liveness, sharing, packing."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from match_aie.errors import Infeasible, InternalError
from match_aie.hardware.first_fit import Block, greedy, height, lower_bound
from match_aie.lowering import Alias, Argument, MemoryPlan, Schedule, Step, Tensor, Workspace
from match_aie.lowering.packing import fits, pack
from match_aie.lowering.plan import plan


def step(reads, writes, in_place=(), workspaces=()):
    arguments = [Argument("tensor", name, "read") for name in reads]
    arguments += [Argument("workspace", w.name, "write") for w in workspaces]
    arguments += [Argument("tensor", name, "write") for name in writes]
    return Step(
        f"make {writes[0]}", f"f_{writes[0]}", tuple(arguments), None, in_place, tuple(workspaces)
    )


def schedule(sizes, steps, inputs=("x",), outputs=("y",), aliases=()):
    tensors = tuple(Tensor(name, "int8", (size,), f"user {name}") for name, size in sizes.items())
    return Schedule("net", inputs, outputs, tensors, (), aliases, tuple(steps), ())


def where(result):
    assert isinstance(result, MemoryPlan)
    return {p.name: p for p in result.placements}


def test_a_chain_needs_two_buffers_and_leaves_inputs_and_outputs_to_the_user():
    result = plan(
        schedule(
            dict(x=100, a=100, b=100, c=100, y=100),
            [step("x", "a"), step("a", "b"), step("b", "c"), step("c", "y")],
        )
    )
    assert set(where(result)) == {"a", "b", "c"}
    assert result.nbytes == result.lower_bound == 256
    assert where(result)["a"].offset == where(result)["c"].offset


def test_a_view_keeps_its_base_alive():
    steps = [step("x", "a"), step("a", "b"), step("bv", "y")]
    result = plan(
        schedule(
            dict(x=1, a=1, v=1, b=1, y=1),
            [*steps[:2], step(["v", "b"], "y")],
            aliases=(Alias("v", "a"),),
        )
    )
    a, b = where(result)["a"], where(result)["b"]
    assert (a.first, a.last) == (0, 2)
    assert a.offset != b.offset
    assert "v" not in where(result)


def test_an_output_may_be_read_again_and_a_view_of_an_input_is_not_placed():
    result = plan(
        schedule(
            dict(x=8, v=8, y=8, z=8),
            [step(["v"], ["y"]), step(["y"], ["z"])],
            outputs=("y", "z"),
            aliases=(Alias("v", "x"),),
        )
    )
    assert result.placements == ()
    assert result.nbytes == 0


def test_in_place_shares_storage_where_the_read_tensor_dies():
    steps = [step("x", "a"), step("a", "b", in_place=(("a", "b"),)), step("b", "y")]
    result = plan(schedule(dict(x=64, a=64, b=64, y=64), steps))
    assert result.in_place == (("a", "b"),)
    assert result.nbytes == 64
    assert where(result)["a"].offset == where(result)["b"].offset


@pytest.mark.parametrize(
    ("sizes", "steps", "aliases"),
    [
        pytest.param(
            dict(x=64, a=64, b=64, y=64),
            [step("x", "a"), step("a", "b", in_place=(("a", "b"),)), step("ab", "y")],
            (),
            id="read later",
        ),
        pytest.param(
            dict(x=64, a=64, v=64, b=64, y=64),
            [step("x", "a"), step("a", "b", in_place=(("a", "b"),)), step("vb", "y")],
            (Alias("v", "a"),),
            id="a view is read later",
        ),
        pytest.param(
            dict(x=64, a=64, b=64, y=64),
            [step("x", "a"), step("aa", "b", in_place=(("a", "b"),)), step("b", "y")],
            (),
            id="read through a second argument",
        ),
        pytest.param(
            dict(x=64, b=64, y=64),
            [step("x", "b", in_place=(("x", "b"),)), step("b", "y")],
            (),
            id="the user's input",
        ),
        pytest.param(
            dict(x=64, b=64, y=64),
            [step("x", "b"), step("b", "y", in_place=(("b", "y"),))],
            (),
            id="the user's output",
        ),
        pytest.param(
            dict(x=64, a=64, b=640, y=64),
            [step("x", "a"), step("a", "b", in_place=(("a", "b"),)), step("b", "y")],
            (),
            id="another size",
        ),
    ],
)
def test_in_place_is_refused_where_it_would_be_wrong(sizes, steps, aliases):
    assert plan(schedule(sizes, steps, aliases=aliases)).in_place == ()


def test_one_storage_is_taken_over_only_once():
    both = step("a", "bc", in_place=(("a", "b"), ("a", "c")))
    result = plan(
        schedule(dict(x=64, a=64, b=64, c=64, y=64), [step("x", "a"), both, step("bc", "y")])
    )
    assert result.in_place == (("a", "b"),)
    assert where(result)["b"].offset != where(result)["c"].offset


def test_a_workspace_lives_for_one_step():
    space = Workspace("scratch", 1000)
    result = plan(
        schedule(
            dict(x=64, a=1000, b=64, y=64),
            [step("x", "a"), step("a", "b"), step("b", "y", workspaces=[space])],
        )
    )
    assert (where(result)["scratch"].first, where(result)["scratch"].last) == (2, 2)
    assert result.nbytes == 1024 + 64


def test_a_limit_that_is_too_small_names_who_is_alive_at_the_peak():
    steps = [step("x", "a"), step("a", "b"), step("ab", "c"), step("c", "y")]
    sizes = dict(x=1, a=1000, b=2000, c=10, y=1)
    reason = plan(schedule(sizes, steps), limit=3000)
    assert isinstance(reason, Infeasible)
    assert reason.demand == 1024 + 2048 + 64
    assert reason.bound == 3000
    assert reason.breakdown == (("user b", 2000), ("user a", 1000), ("user c", 10))
    assert any("memory_limit" in lever for lever in reason.levers)
    assert isinstance(plan(schedule(sizes, steps), limit=3136), MemoryPlan)


@pytest.mark.parametrize(
    ("sizes", "steps", "kwargs"),
    [
        (dict(x=1, a=1, y=1), [step("a", "y")], {}),
        (dict(x=1, y=1), [step("y", "x")], {}),
        (dict(x=1, y=1), [step("x", "y")], dict(aliases=(Alias("y", "x"),))),
        (dict(x=1, a=2, y=1), [step("a", "y")], dict(aliases=(Alias("a", "x"),))),
    ],
)
def test_schedules_that_make_no_sense_are_refused(sizes, steps, kwargs):
    with pytest.raises(InternalError):
        plan(schedule(sizes, steps, **kwargs))


@st.composite
def schedules(draw):
    """Random networks: any earlier tensor may be read, some steps work in place or need scratch."""
    count = draw(st.integers(1, 12))
    sizes, steps, aliases, known = {"x": 40}, [], [], ["x"]
    for index in range(count):
        reads = draw(st.lists(st.sampled_from(known), min_size=1, max_size=3))
        name = f"t{index}"
        sizes[name] = draw(st.one_of(st.integers(1, 500), st.just(sizes[reads[0]])))
        pairs = ((reads[0], name),) if draw(st.booleans()) else ()
        spaces = [Workspace(f"w{index}", draw(st.integers(1, 300)))] if draw(st.booleans()) else []
        steps.append(step(reads, [name], pairs, spaces))
        known.append(name)
        if draw(st.booleans()):
            sizes[f"v{index}"] = sizes[name]
            aliases.append(Alias(f"v{index}", name))
            known.append(f"v{index}")
    sizes["y"] = 1
    steps.append(step([known[-1]], ["y"]))
    return schedule(sizes, steps, aliases=tuple(aliases))


@settings(max_examples=80, deadline=None)
@given(schedules(), st.sampled_from([1, 16, 64]))
def test_nothing_alive_at_the_same_time_overlaps(network, alignment):
    result = plan(network, alignment=alignment)
    assert isinstance(result, MemoryPlan)
    places = result.placements
    assert all(p.offset % alignment == 0 for p in places)
    assert result.lower_bound <= result.nbytes
    assert result.nbytes % alignment == 0
    assert all(p.offset + p.nbytes <= result.nbytes for p in places)
    for i, p in enumerate(places):
        for q in places[i + 1 :]:
            if p.first <= q.last and q.first <= p.last:
                apart = p.offset + p.nbytes <= q.offset or q.offset + q.nbytes <= p.offset
                handed_over = max(p.first, q.first) == min(p.last, q.last) and (
                    (p.name, q.name) in result.in_place or (q.name, p.name) in result.in_place
                )
                assert apart or handed_over


BLOCKS = st.lists(
    st.builds(
        lambda first, length, size: Block(first, first + length, size),
        st.integers(0, 12),
        st.integers(0, 6),
        st.integers(1, 30),
    ),
    max_size=14,
)


@settings(max_examples=60, deadline=None)
@given(BLOCKS)
def test_packing_lies_between_the_bound_and_the_greedy_start(blocks):
    offsets = pack(blocks)
    assert lower_bound(blocks)[0] <= height(blocks, offsets) <= height(blocks, greedy(blocks))
    for i, (block, at) in enumerate(zip(blocks, offsets, strict=True)):
        assert at >= 0
        for other, other_at in list(zip(blocks, offsets, strict=True))[i + 1 :]:
            if block.meets(other):
                assert at + block.size <= other_at or other_at + other.size <= at


@settings(max_examples=60, deadline=None)
@given(BLOCKS)
def test_what_fits_is_what_packing_finds(blocks):
    top = height(blocks, pack(blocks))
    rooms = {-1, lower_bound(blocks)[0] - 1, top - 1, top, height(blocks, greedy(blocks))}
    assert all(fits(blocks, room) is (top <= room) for room in rooms)


def test_what_only_the_solver_packs_fits():
    top = height(HARD, pack(HARD))
    assert top < height(HARD, greedy(HARD))
    assert fits(HARD, top)
    assert not fits(HARD, top - 1)


#: No first-fit order reaches the bound here, the solver does.
HARD = [
    Block(*row)
    for row in [(10, 12, 18), (6, 6, 14), (7, 12, 13), (4, 9, 12), (1, 1, 19), (2, 3, 18)]
]


def test_the_solver_improves_on_first_fit_where_it_can():
    assert height(HARD, greedy(HARD)) > lower_bound(HARD)[0]
    assert height(HARD, pack(HARD)) < height(HARD, greedy(HARD))


def test_packing_is_the_same_in_every_process():
    code = (
        "import json; from match_aie.hardware.first_fit import Block;"
        "from match_aie.lowering.packing import pack;"
        f"print(json.dumps(pack([Block(*b) for b in {[(b.first, b.last, b.size) for b in HARD]}])))"
    )
    answers = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONHASHSEED": seed},
            check=True,
            capture_output=True,
            text=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert answers == {json.dumps(pack(HARD)) + "\n"}


def test_the_solver_leaves_interrupts_to_python():
    """In a process of its own: with the solver's handler, the signal would end it.

    Where tests run in the background the shell has told them to ignore interrupts.
    """
    script = """
import signal
signal.signal(signal.SIGINT, signal.default_int_handler)
from match_aie.hardware.first_fit import Block
from match_aie.lowering.packing import _solve
blocks = (Block(0, 1, 2), Block(1, 2, 1))
_solve(blocks, (0, 2), 1)
try:
    signal.raise_signal(signal.SIGINT)
except KeyboardInterrupt:
    raise SystemExit(7)
"""
    done = subprocess.run([sys.executable, "-c", script], check=False)
    assert done.returncode == 7
