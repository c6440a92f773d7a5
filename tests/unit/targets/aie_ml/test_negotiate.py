"""Streams that look for ways together: no two on a link, each from its source to all its sinks."""

import random
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from match_aie.targets.aie_ml.array.negotiate import negotiated
from match_aie.targets.aie_ml.array.program import Channel, Route
from match_aie.targets.aie_ml.array.router import ONE_BY_ONE, NoRoomError, routed, switches_of
from match_aie.targets.aie_ml.array.switches import Switches
from tests.aie_programs import VEK280

#: Seed, columns and numbers of streams where orders one by one fail.
HARD = 4, 5, 18, 22

#: Where a stream that leaves a tile by a side arrives.
SIDES = {"N": (0, 1, "S"), "S": (0, -1, "N"), "E": (1, 0, "W"), "W": (-1, 0, "E")}


def streams(seed, columns, down, up):
    """Streams of cores into memory tiles, and of memory tiles to some cores each, at random."""
    dice = random.Random(seed)
    cores = [(x, y) for x in range(columns) for y in range(3, 11)]
    tiles = [(x, y) for x in range(columns) for y in (1, 2)]
    into = dice.sample([Channel(t, "S2MM", n) for t in tiles for n in range(6)], down)
    out = dice.sample([Channel(t, "MM2S", n) for t in tiles for n in range(6)], up)
    ends = dice.sample([Channel(t, "S2MM", n) for t in cores for n in range(2)], 2 * up)
    begins = dice.sample([Channel(t, "MM2S", 0) for t in cores], down)
    pairs = [(source, (sink,)) for source, sink in zip(begins, into, strict=True)]
    pairs += [(source, tuple(ends[2 * at : 2 * at + 2])) for at, source in enumerate(out)]
    return [
        Route(f"stream {at}", source, sinks, (), 4, 1, False, "a", "x", "x")
        for at, (source, sinks) in enumerate(pairs)
    ]


def checked(routes, ways):
    """Every way is a tree from its source to its sinks; no link is in two."""
    links = Counter((hop.tile, hop.master) for way in ways for hop in way)
    assert set(links.values()) <= {1}
    for route, way in zip(routes, ways, strict=True):
        reached = {(route.source.tile, ("dma", route.source.index))}
        for hop in way:
            assert (hop.tile, hop.slave) in reached
            side, lane = hop.master
            if side == "dma":
                reached.add((hop.tile, ("sink", lane)))
                continue
            dx, dy, arrives = SIDES[side]
            reached.add(((hop.tile[0] + dx, hop.tile[1] + dy), (arrives, lane)))
        for sink in route.sinks:
            assert (sink.tile, ("sink", sink.index)) in reached


@given(st.integers(0, 1 << 20), st.integers(1, 11), st.integers(1, 6))
@settings(max_examples=20, deadline=None)
def test_ways_lead_where_streams_go_and_share_no_link(seed, down, up):
    routes = streams(seed, 3, down, up)
    ways = negotiated(routes, switches_of(VEK280), (0, 2))
    assert ways is not None
    checked(routes, ways)


def test_they_are_found_where_none_are_one_after_the_other():
    """Orders one by one fail; routed with as many orders asks for ways together."""
    routes = streams(*HARD)
    with pytest.raises(NoRoomError):
        routed(routes, VEK280, (0, HARD[1] - 1), ONE_BY_ONE - 1)
    found = routed(routes, VEK280, (0, HARD[1] - 1), ONE_BY_ONE)
    checked(routes, [route.hops for route in found])


def test_ways_are_the_same_whoever_looked_for_ways_before():
    """Numbers of places order what is equally dear: they follow from the place alone."""
    device = VEK280
    ports = device.architecture.switch_ports
    rows = device.shim_rows, device.mem_rows, device.core_rows
    fresh, used = (Switches(ports, rows, device.columns) for _ in range(2))
    for seed in (7, 8):
        negotiated(streams(seed, 4, 8, 4)[::-1], used, (0, 3))
    routes = streams(*HARD)
    ways = negotiated(routes, fresh, (0, HARD[1] - 1))
    assert ways is not None
    assert negotiated(routes, used, (0, HARD[1] - 1)) == ways


@given(st.integers(0, 37), st.integers(0, 10), st.sampled_from(["N", "S", "E", "W", "dma"]))
def test_a_number_says_tile_and_port(x, y, side):
    switches = switches_of(VEK280)
    tile, port = (x, y), (side, 1)
    assert switches.places[switches.number(tile, port)] == (tile, port)
    with pytest.raises(KeyError):
        switches.number(tile, (side, 9))


def test_what_no_ways_can_carry_is_refused():
    """Of one column's cores no more streams go down than there are links."""
    into = [Channel((0, 1), "S2MM", n) for n in range(5)]
    routes = [
        Route(f"{at}", Channel((0, 3 + at), "MM2S", 0), (sink,), (), 4, 1, False, "a", "x", "x")
        for at, sink in enumerate(into)
    ]
    assert negotiated(routes, switches_of(VEK280), (0, 0)) is None


def test_ways_keep_off_ports_that_others_use():
    routes = streams(1, 3, 6, 3)
    ways = negotiated(routes, switches_of(VEK280), (0, 2))
    assert ways is not None
    passed = {(hop.tile, hop.master) for way in ways for hop in way if hop.master[0] != "dma"}
    taken = sorted(passed)[::3]
    others = negotiated(routes, switches_of(VEK280), (0, 2), taken)
    assert others is not None
    checked(routes, others)
    assert not {(hop.tile, hop.master) for way in others for hop in way} & set(taken)
    ends = [(sink.tile, ("dma", sink.index)) for sink in routes[0].sinks]
    assert negotiated(routes, switches_of(VEK280), (0, 2), ends) is None
