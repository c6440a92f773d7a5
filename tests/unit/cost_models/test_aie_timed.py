"""Cycles of passes whose operands share the chip's memory."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from match_aie.cost_models.aie_timed import PassWork, timed_cycles

ONE = PassWork(
    passes=1,
    inside=1000,
    through=0,
    inputs=(40_000,),
    double=False,
    weights=(400_000, 400_000),
    first_weights=8000,
    outputs=(),
    last_output=0,
    way_rate=4,
    memory_rate=100,
)


def test_what_comes_before_the_first_call_comes_once():
    """Two ways of 4 bytes a cycle and a third for activations; the last call follows the last word.

    Weights of two calls come with the activations, all others behind them.
    """
    behind = (400_000 - 2 * 8000) / 4 + 1000 * 8000 / 400_000
    assert timed_cycles(ONE) == pytest.approx(40_000 / 4 + behind)
    beside = replace(ONE, inside=150_000)
    assert timed_cycles(beside) == 40_000 / 4 + 150_000


def test_ways_share_what_the_memory_gives():
    """Three ways at 6 bytes a cycle have 2 each, until one is done; two have 3."""
    slow = replace(ONE, memory_rate=6, inside=10_000_000)
    brought = min(2 * 8000, 40_000)
    alone = 40_000 - brought
    assert timed_cycles(slow) == pytest.approx(brought / 2 + alone / 4 + 10_000_000)


def test_results_slow_weights_down_unless_they_have_a_memory_rate_of_their_own():
    """Weights then have 2 bytes a cycle of 4 for as long as results leave."""
    apart = replace(ONE, weights=(400_000,), memory_rate=4, duplex=True, outputs=(40_000,))
    assert timed_cycles(replace(apart, duplex=False)) > timed_cycles(apart) + 8000


def test_each_request_takes_its_time():
    """One before anything comes, one before the last results leave, one for each call's results."""
    bound = replace(ONE, weights=(), first_weights=0, outputs=(40_000,), inside=1, results=5)
    asked = replace(bound, request=200)
    assert timed_cycles(asked) == timed_cycles(bound) + 200 * (1 + 5 + 1)


@given(
    st.integers(1, 9),
    st.booleans(),
    st.booleans(),
    st.lists(st.integers(1, 10**6), min_size=1, max_size=6),
    st.lists(st.integers(1, 10**6), max_size=6),
    st.lists(st.integers(1, 10**6), min_size=1, max_size=6),
    st.integers(1, 10**6),
)
def test_no_run_is_faster_than_tiles_ways_or_memory(
    passes, double, duplex, inputs, weights, outputs, inside
):
    """Whatever else there is to do."""
    work = PassWork(
        passes, inside, 0, tuple(inputs), double, tuple(weights), min([*weights, 10**4]) // 2,
        tuple(outputs), 0, 4, 15, duplex=duplex,
    )  # fmt: skip
    read, written = sum(inputs) + sum(weights), sum(outputs)
    moved = max(read, written) if duplex else read + written
    least = max(inside, moved / 15, max([*inputs, *weights, *outputs]) / 4)
    assert timed_cycles(work) >= passes * least * (1 - 1e-9)
