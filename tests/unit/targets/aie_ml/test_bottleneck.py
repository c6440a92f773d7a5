"""Borders that too many streams cross, as a loop over regions counts them; none where ways are."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from match_aie.targets.aie_ml.array import router
from match_aie.targets.aie_ml.array.bottleneck import bottleneck
from match_aie.targets.aie_ml.array.negotiate import negotiated
from match_aie.targets.aie_ml.array.program import Channel, Route
from match_aie.targets.aie_ml.array.router import NoRoomError, routed, switches_of
from tests.aie_programs import VEK280
from tests.unit.targets.aie_ml.test_negotiate import streams

#: Links of the VEK280 down from a core, up into one, and between two interface tiles, each way.
DOWN, UP, ACROSS = 4, 6, 4

#: Of a route what does not matter here: hops, bytes and names.
REST = (), 4, 1, False, "a", "x", "x"


def down(columns, each):
    """Streams from the cores of `columns` into memory tiles of column 0, `each` per column."""
    into = [Channel((0, y), "S2MM", n) for y in (1, 2) for n in range(6)]
    begins = [Channel((x, 3 + n), "MM2S", 0) for x in columns for n in range(each)]
    return [
        Route(f"{at}", source, (sink,), *REST)
        for at, (source, sink) in enumerate(zip(begins, into, strict=False))
    ]


def lacking(routes, columns):
    """The largest lack of links over a border, region by region."""
    first, last = columns
    worst = 0
    for a in range(first, last + 1):
        for b in range(a, last + 1):
            inside = [
                (
                    a <= route.source.tile[0] <= b and route.source.tile[1] < 3,
                    [a <= sink.tile[0] <= b and sink.tile[1] < 3 for sink in route.sinks],
                )
                for route in routes
            ]
            into = sum(not source and any(sinks) for source, sinks in inside)
            out = sum(source and not all(sinks) for source, sinks in inside)
            side = ACROSS * ((a > first) + (b < last))
            width = b - a + 1
            worst = max(worst, into - side - DOWN * width, out - side - UP * width)
    return worst


@given(st.integers(0, 1 << 20), st.integers(1, 24), st.integers(1, 20), st.integers(1, 4))
@settings(max_examples=60, deadline=None)
def test_it_counts_what_crosses_each_border(seed, into, out, columns):
    routes = streams(seed, columns, min(into, 8 * columns), min(out, 8 * columns))
    found = bottleneck(routes, switches_of(VEK280), (0, columns - 1))
    assert lacking(routes, (0, columns - 1)) == (found.demand - found.bound if found else 0)


@given(st.integers(0, 1 << 20), st.integers(1, 14), st.integers(1, 6))
@settings(max_examples=15, deadline=None)
def test_where_ways_are_no_border_lacks_links(seed, into, out):
    routes = streams(seed, 3, into, out)
    if negotiated(routes, switches_of(VEK280), (0, 2)) is not None:
        assert bottleneck(routes, switches_of(VEK280), (0, 2)) is None


def test_into_a_column_lead_its_cores_and_its_neighbours_interface_tiles():
    switches = switches_of(VEK280)
    assert bottleneck(down((0, 1), 4), switches, (0, 1)) is None
    found = bottleneck(down((0, 1, 2), 3), switches, (0, 2))
    assert found is not None
    assert (found.demand, found.bound) == (9, DOWN + ACROSS)
    assert "into the interface and memory tiles of columns 0 to 0" in found.resource


def test_links_that_others_use_do_not_count():
    taken = [((0, 3), ("S", 0)), ((0, 3), ("N", 0))]
    found = bottleneck(down((0, 1), 4), switches_of(VEK280), (0, 1), taken)
    assert found is not None
    assert (found.demand, found.bound) == (8, DOWN + ACROSS - 1)


def test_streams_from_interface_tiles_beyond_the_columns_come_by_their_side():
    """Only they do: no core is beyond the columns, so links there carry no others."""
    outside = Channel((0, 0), "MM2S", 0)
    sink = (Channel((1, 1), "S2MM", 5),)
    beyond = Route("in", outside, sink, *REST)
    cores = [
        Route(f"{n}", Channel((1, 3 + n), "MM2S", 0), (Channel((1, 2), "S2MM", n),), *REST)
        for n in range(5)
    ]
    switches = switches_of(VEK280)
    assert bottleneck([*cores[:4], beyond], switches, (1, 1)) is None
    found = bottleneck([*cores, beyond], switches, (1, 1))
    assert found is not None
    assert (found.demand, found.bound) == (6, DOWN + 1)


def test_no_ways_are_looked_for_where_a_border_lacks_links(monkeypatch):
    """The second order and negotiation are not begun."""
    tried = []
    monkeypatch.setattr(router, "negotiated", lambda *_: tried.append("together"))
    made = router.Router

    def counted(*arguments):
        tried.append("order")
        return made(*arguments)

    monkeypatch.setattr(router, "Router", counted)
    with pytest.raises(NoRoomError, match="columns 0 to 0"):
        routed(down((0, 1, 2), 3), VEK280, (0, 2))
    assert tried == ["order"]
