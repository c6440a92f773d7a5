"""The cost model of the array: the slowest part sets the interval."""

from dataclasses import replace

from match_aie.cost_models.aie_array import Work, array_cost

WORK = Work(
    calls=10,
    body=1000,
    around=84,
    inputs=10,
    input_bytes=2000,
    weights=0,
    weight_bytes=0,
    outputs=10,
    output_bytes=1000,
    down_share=1,
    rate=4,
    descriptor=8,
    external_in=20_000,
    external_out=10_000,
    external_in_rate=448,
    external_out_rate=336,
    skew=50,
    hops=40,
    first_weights=0,
    first_inputs=4480,
)


def test_compute_bound() -> None:
    cost = array_cost(WORK)
    assert (cost.interval, cost.bound) == (10 * 1084, "compute")
    assert cost.latency == 10 + 2 * 40 + 508 + 50 + 10840 + 258


def test_each_part_can_be_the_slowest() -> None:
    for change, bound, cycles in (
        ({"input_bytes": 8000}, "activation streams", 10 * 2008),
        ({"weights": 10, "weight_bytes": 8000}, "weight streams", 10 * 2008),
        ({"output_bytes": 8000, "down_share": 2}, "result streams", 10 * 2008 * 2),
        ({"external_in": 448 * 20_000}, "way in", 20_000),
        ({"external_out": 336 * 20_000}, "way out", 20_000),
    ):
        cost = array_cost(replace(WORK, **change))
        assert (cost.bound, cost.interval) == (bound, cycles)


def test_weights_that_must_come_first_delay_a_single_run_only() -> None:
    loaded = array_cost(replace(WORK, first_weights=4000))
    assert loaded.interval == array_cost(WORK).interval
    assert loaded.latency == array_cost(WORK).latency + 1000
