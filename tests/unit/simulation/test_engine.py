"""The event engine: order, waiting, deadlock, determinism."""

import json
from collections.abc import Iterator

import pytest

from match_aie.simulation import (
    Acquire,
    Channel,
    Command,
    DeadlockError,
    Delay,
    Event,
    Fire,
    Get,
    Put,
    Release,
    Resource,
    Signal,
    Simulator,
    Timeline,
    Wait,
    extrapolate,
    find_steady,
)


def test_a_resource_serves_in_the_order_of_asking() -> None:
    sim, port = Simulator(), Resource("port")

    def user(name: str, start: int) -> Iterator[Command]:
        yield Delay(start)
        yield Acquire(port, stalled="who waits")
        yield Delay(10, "port", name)
        yield Release(port)

    for name, start in (("late", 3), ("early", 0), ("middle", 2)):
        sim.spawn(name, user(name, start))
    timeline = sim.run()
    worked = [(e.name, e.start) for e in timeline.events if e.resource == "port"]
    assert worked == [("early", 0), ("middle", 10), ("late", 20)]
    stalls = [(e.start, e.end) for e in timeline.events if e.category == "stall"]
    assert stalls == [(2, 10), (3, 20)]
    assert timeline.cycles == 30
    assert timeline.utilisation()["port"] == 1.0


def test_large_requests_are_not_overtaken() -> None:
    sim, pool, got = Simulator(), Resource("pool", 2), []

    def user(name: str, amount: int, hold: int) -> Iterator[Command]:
        yield Acquire(pool, amount)
        got.append((name, sim.now))
        yield Delay(hold)
        yield Release(pool, amount)

    for row in (("a", 1, 10), ("both", 2, 5), ("c", 1, 1)):
        sim.spawn(row[0], user(*row))
    sim.run()
    assert got == [("a", 0), ("both", 10), ("c", 15)]


def test_a_bounded_channel_holds_the_producer_back() -> None:
    sim, channel, seen = Simulator(), Channel("fifo", 2), []

    def producer() -> Iterator[Command]:
        for item in range(6):
            yield Put(channel, item)
            yield Delay(1)

    def consumer() -> Iterator[Command]:
        for _ in range(6):
            item = yield Get(channel)
            seen.append((item, sim.now))
            yield Delay(5)

    sim.spawn("producer", producer())
    sim.spawn("consumer", consumer())
    sim.run()
    assert seen == [(n, 5 * n) for n in range(6)]


def test_signals_and_joins_carry_values() -> None:
    sim, go, result = Simulator(), Signal("go"), []

    def worker() -> Iterator[Command]:
        value = yield Wait(go)
        yield Delay(2)
        return value * 2

    def boss() -> Iterator[Command]:
        task = sim.spawn("worker", worker())
        yield Delay(7)
        yield Fire(go, 21)
        result.append((yield Wait(task)))
        result.append((yield Wait(task)))

    sim.spawn("boss", boss())
    assert sim.run().cycles == 9
    assert result == [42, 42]


def test_deadlock_says_who_waits_for_what() -> None:
    sim = Simulator()
    a, b = Resource("lock a"), Resource("lock b")

    def taker(first: Resource, second: Resource) -> Iterator[Command]:
        yield Acquire(first)
        yield Delay(1)
        yield Acquire(second)

    sim.spawn("one", taker(a, b))
    sim.spawn("two", taker(b, a))
    with pytest.raises(DeadlockError, match="one waits for lock b; two waits for lock a"):
        sim.run()


def test_daemons_may_wait_for_ever() -> None:
    sim, never = Simulator(), Channel("never")

    def server() -> Iterator[Command]:
        while True:
            yield Get(never)

    sim.spawn("server", server(), daemon=True)
    assert sim.run().cycles == 0


def test_a_run_can_stop_and_go_on() -> None:
    sim, ticks = Simulator(), []

    def clock() -> Iterator[Command]:
        for _ in range(10):
            yield Delay(10)
            ticks.append(sim.now)

    sim.spawn("clock", clock())
    assert sim.run(until=35).cycles == 35
    assert ticks == [10, 20, 30]
    assert sim.run().cycles == 100


@pytest.mark.parametrize(
    "bad",
    [
        lambda r: Delay(-1),
        lambda r: Release(r),
        lambda r: Acquire(r, 2),
    ],
)
def test_nonsense_is_refused(bad: object) -> None:
    sim, resource = Simulator(), Resource("r")

    def process() -> Iterator[Command]:
        yield bad(resource)

    sim.spawn("p", process())
    with pytest.raises(ValueError, match=r"p: "):
        sim.run()


def test_the_same_run_gives_the_same_events() -> None:
    def once() -> tuple[Event, ...]:
        sim = Simulator()
        pool, fifo = Resource("pool", 3), Channel("fifo", 4)

        def worker(n: int) -> Iterator[Command]:
            for step in range(5):
                yield Acquire(pool, 1 + n % 2)
                yield Delay(1 + (n * step) % 7, "pool", f"{n}.{step}")
                yield Release(pool, 1 + n % 2)
                yield Put(fifo, n)

        def drain() -> Iterator[Command]:
            for _ in range(40):
                yield Get(fifo)
                yield Delay(2)

        for n in range(8):
            sim.spawn(str(n), worker(n))
        sim.spawn("drain", drain())
        return sim.run().events

    assert once() == once()


def test_overlapping_events_count_once_and_stalls_do_not() -> None:
    events = (
        Event("r", "a", 0, 10),
        Event("r", "b", 5, 15),
        Event("r", "c", 30, 40, "stall"),
        Event("s", "d", 90, 100),
    )
    timeline = Timeline(events, 100)
    assert timeline.busy() == {"r": 15, "s": 10}
    assert timeline.utilisation(without=()) == {"r": 0.25, "s": 0.1}


def test_the_trace_is_in_microseconds() -> None:
    trace = json.loads(Timeline((Event("r", "a", 125, 250, "k"),), 250).to_trace_json(1.25e9))
    (row,) = [row for row in trace["traceEvents"] if row["ph"] == "X"]
    assert (row["ts"], row["dur"], row["cat"]) == (0.1, 0.1, "k")
    (name,) = [row for row in trace["traceEvents"] if row["ph"] == "M"]
    assert (name["tid"], name["args"]) == (row["tid"], {"name": "r"})


def test_steady_state_is_found_and_extended() -> None:
    times = [5.0, 40.0]
    for gap in (10, 20, 10, 20, 10, 20):
        times.append(times[-1] + gap)
    steady = find_steady(times)
    assert steady is not None
    assert (steady.period, steady.cycles, steady.interval) == (2, 30, 15)
    longer = list(times)
    for gap in (10, 20, 10, 20, 10):
        longer.append(longer[-1] + gap)
    for count, time in enumerate(longer, start=1):
        assert extrapolate(times, steady, count) == time
    assert find_steady([0, 1, 3, 7, 15, 31]) is None
