"""Cascades word by word: exact against a model that steps cycle by cycle."""

from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from match_aie.errors import InternalError
from match_aie.simulation import Delay, Simulator
from match_aie.targets.aie_ml import Tiling, device
from match_aie.targets.aie_ml.array.handing import hand
from match_aie.targets.aie_ml.kernels.heads import heads, share
from match_aie.targets.aie_ml.schedule import CallSchedule, Kernel, Variant, schedule_call
from match_aie.targets.aie_ml.schedule.passes import loads_before, pass_schedule
from match_aie.targets.aie_ml.schedule.verify import Pause, verify
from match_aie.targets.aie_ml.simulate.cascade import Chain, Known, moments
from tests.cascade_reference import Call, ends

VEK280 = device("vek280").architecture
ROOM = 2 * VEK280.core.cascade_fifo
FLAT = Kernel("int8", "int8", "int8", Tiling(4, 8, 8, True), variant="flat")


def simulated(
    chain: list[list[Call]], room: int, transfer: int, known: Known | None = None, start: float = 0
) -> list[list[int]]:
    """As `ends` of the reference, on the event engine, counted from `start`."""
    sim = Simulator(record=False)
    known = known or Known()
    cores = Chain(len(chain), room, transfer, known)
    found: list[list[int]] = [[] for _ in chain]

    def core(at):
        yield Delay(start)
        for call in chain[at]:
            yield Delay(call.gap)
            begun = sim.now
            words = known.words(moments(call, reads=at > 0, writes=at < len(chain) - 1))
            late = (yield from cores.play(at, words, begun)) if words.cycles else 0
            yield Delay(begun + late + call.body - sim.now)
            found[at].append(sim.now - start)

    for at in reversed(range(len(chain))):
        sim.spawn(f"core {at}", core(at))
    sim.run()
    return found


@st.composite
def chains(draw):
    """Calls of up to four cores; as many words leave a core as the next one takes."""
    counts = draw(st.lists(st.integers(1, 12), min_size=1, max_size=3))
    cores = draw(st.integers(2, 4))
    chain = []
    for at in range(cores):
        calls = []
        for count in counts:
            body = draw(st.integers(24, 60))
            cycles = st.lists(
                st.integers(0, body), min_size=count, max_size=count, unique=True
            ).map(sorted)
            reads = tuple(draw(cycles)) if at else ()
            writes = tuple(draw(cycles)) if at < cores - 1 else ()
            calls.append(Call(draw(st.integers(0, 30)), reads, writes, body))
        chain.append(calls)
    return chain


@settings(max_examples=60, deadline=None)
@given(
    chain=chains(),
    room=st.integers(1, 5),
    transfer=st.sampled_from((0, 1, 2, 8, 16, 33)),
)
def test_words_are_timed_as_cycle_by_cycle(chain, room, transfer) -> None:
    """Times are exact, in whatever order words are read and written.

    Also where all of it was seen before, or the clock shows no whole cycles.
    """
    chain = [calls * 3 for calls in chain]
    wanted, known = ends(chain, room, transfer), Known()
    assert simulated(chain, room, transfer, known) == wanted
    learnt = len(known.after)
    assert simulated(chain, room, transfer, known, start=1000) == wanted
    assert len(known.after) == learnt > 0
    assert simulated(chain, room, transfer, start=0.5) == wanted


def tiles(length: int, rows: int = 16, kernel: Kernel = FLAT) -> list[CallSchedule]:
    """Calls of the tiles of a chain."""
    places = ["first", *["middle"] * (length - 2), "last"]
    return [
        schedule_call(replace(kernel, position=place, bias=place == "first"), VEK280, rows, 128, 64)
        for place in places
    ]


def repeated(calls: list[CallSchedule], many: int, around: int) -> list[list[Call]]:
    """So many calls of each tile, with cycles between them."""
    return [[Call(around, call.reads, call.writes, call.body)] * many for call in calls]


def test_schedules_and_simulation_agree_on_every_word() -> None:
    calls = tiles(3)
    for before, after in pairwise(calls):
        assert len(before.writes) == len(after.reads) == 16 * 64 * 4 // 64
        assert list(before.writes) == sorted(set(before.writes))
        assert list(after.reads) == sorted(set(after.reads))
    for transfer in (2, 16):
        chain = repeated(calls, 3, 60)
        assert simulated(chain, ROOM, transfer) == ends(chain, ROOM, transfer)


def test_words_are_spread_over_the_steps_of_a_block() -> None:
    """At 8 cycles a word, blocks in the middle of a call never wait; kernels that burst do."""

    def waits(variant: Variant, rows: int, transfer: int) -> float:
        return hand(tiles(4, rows, replace(FLAT, variant=variant)), ROOM, transfer, 60).waits

    for variant in ("flat", "overlapped"):
        assert waits(variant, 64, 8) == waits(variant, 128, 8) < 16
    assert waits("exposed", 128, 8) > waits("exposed", 64, 8) + 100
    assert waits("flat", 64, 16) < waits("overlapped", 64, 16)


@pytest.mark.parametrize(
    ("transfer", "rows", "reduction"), [(8, 8, 128), (16, 16, 128), (8, 16, 64)]
)
def test_the_cost_model_sees_what_the_reference_counts(transfer, rows, reduction) -> None:
    """Also where the first tile has less to do than the others: it does not end any later."""
    calls = tiles(4, rows)
    calls[0] = schedule_call(calls[0].kernel, VEK280, rows, reduction, 64)
    found = hand(calls, ROOM, transfer, 60)
    chain = ends(repeated(calls, 9, 60), ROOM, transfer)
    mean = (chain[3][-1] - chain[3][-4]) / 3
    slowest = max(call.body for call in calls)
    assert mean == pytest.approx(slowest + 60 + found.waits, abs=3)
    assert chain[3][-1] == pytest.approx(9 * mean + found.behind, abs=10)


def test_heads_are_early_drains_and_late_refills() -> None:
    assert heads(4, 4, 16, (True, True)) == (8, 8)
    assert heads(4, 4, 16, (False, False)) == (4, 4)
    assert heads(4, 4, 6, (True, True)) == (3, 3)
    assert share(2, 4, early=True) == ((0,), (), (1,), ())
    assert share(2, 4) == ((), (0,), (), (1,))
    assert heads(1, 1, 1, (True, True)) == (1, 0)
    assert share(1, 0) == ()
    assert share(4, 3) == share(4, 3, early=True) == ((0,), (1,), (2, 3))


def test_words_in_two_groups() -> None:
    """Those of kernels that go on; a block too short for them has them as ever."""
    assert heads(4, 4, 28, (True, True), grouped=True) == (11, 11)
    early = share(4, 11, early=True, grouped=True)
    assert [step for step, items in enumerate(early) if items] == [0, 2, 8, 10]
    assert share(4, 11, grouped=True) == early
    assert heads(4, 4, 21, (True, True), grouped=True) == heads(4, 4, 21, (True, True)) == (8, 8)
    assert heads(4, 4, 28, (False, True), grouped=True) == (4, 11)


@pytest.mark.parametrize("position", ["first", "middle", "last"])
def test_pauses_between_calls_keep_every_rule(position) -> None:
    """No operand is loaded before its buffer is there; all else is as it was proven without."""
    kernel = replace(FLAT, position=position, bias=position == "first", grouped=True)
    call = schedule_call(kernel, VEK280, 16, 224, 64)
    block = call.parts[0].schedule
    owned, second = loads_before(block)
    assert 0 < second < owned
    for step, cycles in ((0, owned), (1, second)):
        verify(block, kernel, call.core, pause=Pause(2, step, cycles))
        with pytest.raises(InternalError):
            verify(block, kernel, call.core, pause=Pause(2, step, cycles - 1))
    found, many = pass_schedule(call), 16 * 64 * 4 // 64
    stores = position == "last"
    parts = (found.begin, found.rest) if stores else (found.whole,)
    assert sum(len(part.reads) for part in parts) == (0 if position == "first" else many)
    assert sum(len(part.writes) for part in parts) == (0 if stores else many)
    run = [found.first, *parts, *((found.begin, found.last) if stores else (found.last,))]
    assert sum(len(part.reads) for part in run) == (0 if position == "first" else 3 * many)
    assert sum(len(part.writes) for part in run) == (0 if stores else 3 * many)
    pauses = owned + (second if stores else 0)
    assert sum(part.body for part in parts) == 8 * block.length + pauses
