"""Calls one after the other: by hand, and that skipping rounds changes nothing."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from match_aie.cost_models.walk import BlockingWalk, Controller, Jobs, Move, QueuedWalk
from match_aie.hardware import Call, Repeat

CORE = Controller(
    layer=100.0, visit=20.0, many=(300.0, 50.0), listed=3, one_tile=40.0, wait=1.0, code=0.0
)
LOAD, STORE = Move(2.0, 30.0), Move(3.0, 50.0)


def call(run, loads=(LOAD,), *, opens=True, count=1, program=10.0):
    return Call((Jobs(program, run, count),), tuple(loads), STORE, opens)


def test_one_tile_overlaps_nothing():
    # Enter, start a load and wait for it, work, start the store and wait for it.
    expected = 40 + 2 + 30 + (10 + 200) + 3 + 50
    assert BlockingWalk(CORE).cycles([call(200.0)]) == expected


def test_a_job_is_programmed_while_its_tile_is_loaded():
    expected = 40 + 2 + 30 + 200 + 3 + 50
    assert QueuedWalk(CORE).cycles([call(200.0)]) == expected


def test_transfers_hide_behind_long_kernels():
    begin = 100 + max(2 + 30, 2 + 20 + 1)
    middle = 2 + (10 + 200) + 3 + 20 + 1
    end = (10 + 200) + 3 + 50
    assert BlockingWalk(CORE).cycles([call(200.0)] * 2) == begin + middle + end


def test_kernels_hide_behind_long_transfers():
    """The engine is idle only while the second load is started: its stores queue up too.

    Of three stores the last one takes the first place, and the second is waited for after it.
    """
    long = [call(5.0, [Move(2.0, 1000.0)])] * 3
    assert BlockingWalk(CORE).cycles(long) == 100 + 2 + 1000 + 2 + 1000 + 50 + 1000 + 50 + 50 + 1


def test_jobs_wait_for_one_of_two_slots():
    """Three long jobs of one tile: one runs, the next is programmed meanwhile."""
    expected = 40 + 2 + 30 + 3 * 200 + 3 + 50
    assert QueuedWalk(CORE).cycles([call(200.0, count=3)]) == expected


def test_many_tiles_are_walked_another_way():
    few, many = ([call(200.0)] * n for n in (3, 4))
    grown = BlockingWalk(CORE).cycles(many) - BlockingWalk(CORE).cycles(few)
    # What another tile takes, and what the other way takes more (one walk hides behind loads).
    more = (300 - 100) + 2 * (50 - 20) + (50 + 2 + 1 - (2 + 30))
    assert grown == (2 + 210 + 3 + 50 + 1) + more


TIMES = st.integers(0, 60).map(float)
MOVES = st.builds(Move, st.integers(1, 30).map(float), st.integers(0, 400).map(float))
CALLS = st.builds(
    Call,
    st.lists(
        st.builds(Jobs, TIMES, st.integers(1, 400).map(float), st.integers(1, 9)),
        min_size=1,
        max_size=3,
    ).map(tuple),
    st.lists(MOVES, max_size=3).map(tuple),
    MOVES,
    st.booleans(),
)
SEQUENCES = st.recursive(
    CALLS,
    lambda inside: st.builds(
        Repeat, st.lists(inside, min_size=1, max_size=3).map(tuple), st.integers(1, 25)
    ),
    max_leaves=4,
)


def unrolled(items):
    for item in items:
        if isinstance(item, Repeat):
            for _ in range(item.times):
                yield from unrolled(item.body)
        else:
            jobs = tuple(Jobs(j.program, j.run) for j in item.work for _ in range(j.count))
            yield Call(jobs, item.loads, item.store, item.opens)


@pytest.mark.parametrize("walk", [BlockingWalk, QueuedWalk])
@settings(deadline=None, max_examples=40)
@given(items=st.lists(SEQUENCES, min_size=1, max_size=3))
def test_rounds_that_are_skipped_are_counted(walk, items):
    flat = list(unrolled(items))
    if len(flat) > 2000:
        return
    assert walk(CORE).cycles(items) == pytest.approx(walk(CORE).cycles(flat), abs=1e-6)
