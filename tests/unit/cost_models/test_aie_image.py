"""Stages of a layer that memory tiles hand out band by band."""

from dataclasses import replace

from match_aie.cost_models.aie_image import BandWork, Handed, band_cost

WORK = BandWork(
    bands=4,
    body=100,
    around=10,
    start=60,
    input_bytes=160,
    output_bytes=80,
    entering=4000,
    leaving=2000,
    handed=(),
    skew=0,
    rate=4,
    way_rate=4,
    descriptor=8,
    hops=40,
)


def test_stages_follow_each_other() -> None:
    cost = band_cost(WORK)
    fetch, store, call = 8 + 160 / 4, 8 + 80 / 4, 110
    assert cost.gathered == 1000 + fetch + call + store + 3 * call + 60 + 2 * 40
    assert cost.latency == cost.gathered + 500 + 2 * 40
    assert (cost.interval, cost.bound) == (1000, "way in")


def test_ways_through_interface_tiles_have_a_rate_of_their_own() -> None:
    """Those of AIE-MLv2 are half as fast as its other DMAs."""
    faster, base = band_cost(replace(WORK, rate=8)), band_cost(WORK)
    assert faster.legs == base.legs
    assert base.latency - faster.latency == (160 + 80) / 8  # once: calls are slower than streams


def test_requests_are_waited_for_and_kernels_start_meanwhile() -> None:
    asked, base = band_cost(replace(WORK, request=200)), band_cost(WORK)
    assert asked.requests == (200 - 60, 200)
    assert asked.latency == base.latency + 2 * 200 - 60
    assert (asked.legs, asked.interval, base.requests) == (base.legs, base.interval, (0, 0))


def test_the_first_of_several_starts_passes_during_the_request() -> None:
    anew = replace(WORK, start=0, around=10 + 60, restart=60, request=200)
    assert band_cost(anew).latency == band_cost(WORK).latency + 3 * 60 + 2 * 200 - 60
    assert band_cost(anew).starting == 60


def test_the_slowest_stage_repeats() -> None:
    slow = band_cost(replace(WORK, input_bytes=4000))
    assert slow.bound == "input streams"
    assert slow.interval == 4 * 1008
    base = band_cost(replace(WORK, input_bytes=4000, bands=1))
    assert slow.gathered - base.gathered == 3 * 1008


def test_results_that_are_handed_on_take_their_time() -> None:
    handed = band_cost(replace(WORK, handed=(Handed(4, 800),), handing=30, skew=5))
    assert handed.latency == band_cost(WORK).latency + 235
    assert handed.gathered == band_cost(WORK).gathered + 5
    assert handed.interval == band_cost(WORK).interval


def test_a_group_with_fewer_bands_hands_on_while_others_work() -> None:
    base, call = band_cost(WORK).latency, 110
    sooner = replace(WORK, handed=(Handed(3, 800),), handing=30)
    assert band_cost(sooner).latency == base + 230 - call
    assert band_cost(replace(WORK, handed=(Handed(1, 800),), handing=30)).latency == base


def test_groups_hand_on_one_after_the_other() -> None:
    """A group in the middle waits for its own bands, or for what the one behind it hands on."""
    base, call = band_cost(WORK).latency, 110
    waits = replace(WORK, handed=(Handed(1, 400), Handed(4, 800)), handing=30)
    assert band_cost(waits).latency == base + 230
    late = replace(waits, handed=(Handed(3, 400), Handed(3, 800)))
    assert band_cost(late).latency == base + 130 + 230 - call
