"""Banks of tiles whose calls take turns."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from match_aie.errors import InternalError
from match_aie.targets.aie_ml import device
from match_aie.targets.aie_ml.array.check import RULES
from match_aie.targets.aie_ml.array.packing import Turned, pack
from match_aie.targets.aie_ml.array.program import ArrayProgram, Buffer, Core, Work
from match_aie.targets.aie_ml.schedule import Kernel, schedule_call
from match_aie.targets.aie_ml.schedule.loads import loading

NPU1 = device("npu1")
BANK = 16384

#: A call of 64 x 112 x 64 of bytes, the last tile of a chain.
SQUARE = Turned(7168, 7168, 16384, 4096, 1024, 9, (0.5, 1.0))


def _pieces(turned: Turned, places: dict[str, tuple[int, ...]]) -> list[tuple[str, set[int], int]]:
    """Name, banks and bytes of each copy."""
    found = []
    sizes = {"a": turned.inputs, "w": turned.weights}
    for name, size in sizes.items():
        banks = places[name]
        half, odd = divmod(len(banks), 2)
        halves = [banks] * 2 if odd or not half else [banks[:half], banks[half:]]
        found += [(name, set(each), size) for each in halves if size]
    one = (("sums", turned.sums), ("out", turned.outputs), ("stack", turned.fixed))
    return found + [(name, set(places[name]), size) for name, size in one if size]


def _holds(pieces: list[tuple[str, set[int], int]], banks: int) -> bool:
    """Whether no set of banks is asked for more than it has."""
    for chosen in range(1, 2**banks):
        group = {bank for bank in range(banks) if chosen >> bank & 1}
        if sum(size for _, at, size in pieces if at <= group) > len(group) * BANK:
            return False
    return True


@given(
    st.integers(1, 600), st.integers(1, 600), st.integers(1, 1400), st.integers(0, 400),
    st.integers(2, 9), st.sampled_from([4, 8]),
)  # fmt: skip
def test_what_is_packed_fits_and_lies_apart(
    a: int, w: int, sums: int, out: int, turns: int, banks: int
) -> None:
    turned = Turned(32 * a, 32 * w, 32 * sums, 32 * out, 1024, turns, (0.5, 1.0))
    packed = pack(turned, banks, BANK)
    whole = 2 * (turned.inputs + turned.weights) + turned.outputs + turned.sums + 1024
    if packed is None:
        # Never refused where a bank for each copy, and for all else, is there.
        assert whole > (banks - 4) * BANK or max(turned.inputs, turned.weights) > BANK
        return
    assert whole <= banks * BANK
    pieces = _pieces(turned, dict(packed.places))
    assert _holds(pieces, banks)
    data = {name: set().union(*(at for n, at, _ in pieces if n == name)) for name in "aw"}
    assert not data["a"] & data["w"]
    waiting = set(dict(packed.places)["sums"])
    assert not waiting & (data["a"] | data["w"])
    assert set().union(*(at for _, at, _ in pieces)) <= set(range(banks))


def test_conflicts_are_those_of_the_copies_and_stores_that_share_a_bank() -> None:
    packed = pack(SQUARE, 4, BANK)
    assert packed is not None
    places = dict(packed.places)
    # Both copies of the activations in one bank: its loads take half of the cycles, the weights'
    # all. Results lie beside the weights: 128 stores in one turn of nine.
    assert places["a"] == (0,)
    assert places["w"] == (1, 2)
    assert places["sums"] == (3,)
    assert packed.shared == -(-(9 * 7168 // 2 + 128 * 16) // 9)
    busier = pack(replace(SQUARE, shares=(1.0, 0.5)), 4, BANK)
    assert busier is not None
    assert len(dict(busier.places)["w"]) == 1


def test_a_bank_for_each_copy_and_one_for_the_rest_has_no_conflict() -> None:
    packed = pack(SQUARE, 8, BANK)
    assert packed is not None
    assert packed.shared == 0


def test_loads_are_those_of_the_schedule() -> None:
    """Shares are of cycles of products: the schedule's own are no larger."""
    arch = NPU1.architecture
    tiling = arch.core.tilings_of("int8", "int8")[0]
    for rows, columns in ((2, 2), (4, 1)):
        kernel = Kernel("int8", "int8", "int8", tiling, rows, columns, variant="flat")
        call = schedule_call(kernel, arch, 64, 112, 64)
        a, w = loading(kernel, (64, 112, 64), NPU1)
        assert a == (1 / columns)
        assert w == min(1.0, 2 / rows)
        assert call.counts.loads_a / call.body <= a
        assert call.counts.loads_w / call.body <= w


def _tile(out: tuple[int, ...], shared: int) -> ArrayProgram:
    """A core of nine turns, its results in these banks."""
    tile, arch = (0, 2), NPU1.architecture
    tiling = arch.core.tilings_of("int8", "int8")[0]
    call = schedule_call(Kernel("int8", "int8", "int8", tiling), arch, 64, 112, 64)
    names = "in0", "in1"
    work = (*(Work(call, names, names),) * 8, Work(call, (*names, "out"), (*names, "out")))
    buffers = (
        Buffer("in0", tile, (0,), 7168, 2, "a"),
        Buffer("in1", tile, (1, 2), 7168, 2, "w"),
        Buffer("sums", tile, (3,), 16384, 1, "kept"),
        Buffer("out", tile, out, 4096, 1, "out"),
        Buffer("stack", tile, (0,), 1024, 1, "stack"),
    )
    core = Core(tile, work, 0, shared)
    return ArrayProgram("npu1", (core,), buffers, (), (), (), (), (), 0, 1)


def test_the_checker_wants_room_in_every_bank_and_conflicts_paid() -> None:
    rules = {rule.name: rule.check for rule in RULES}
    packed = pack(SQUARE, 4, BANK)
    assert packed is not None
    good = _tile(dict(packed.places)["out"], packed.shared)
    assert not [*rules["banks"](good, NPU1), *rules["apart"](good, NPU1)]
    (unpaid,) = rules["apart"](_tile((1, 2), 0), NPU1)
    assert "banks with both other and w" in str(unpaid)
    # Sums fill a bank.
    full = list(rules["banks"](_tile((3,), packed.shared), NPU1))
    assert [(v.demand, v.bound) for v in full] == [(16384 + 4096, BANK)]
    # Nor is there room beside them in banks of which each tuple by itself has enough.
    over = list(rules["banks"](_tile((0, 3), packed.shared), NPU1))
    assert [(v.demand, v.bound) for v in over] == [(2 * 7168 + 1024 + 16384 + 4096, 2 * BANK)]
    # Results are there once, since other turns go by while they leave.
    assert not list(rules["ping-pong"](good, NPU1))
    (work,) = {id(w): w for w in good.cores[0].work[-1:]}.values()
    always = replace(good.cores[0], work=(work,) * 9)
    assert list(rules["ping-pong"](replace(good, cores=(always,)), NPU1))


@pytest.mark.parametrize("block", [(2, 2), (4, 1)])
def test_numbers_behind_the_weights_are_loaded_from_their_bank(block: tuple[int, int]) -> None:
    """The schedule has them there: where weights fill their bank, every load takes a cycle more."""
    arch = NPU1.architecture
    tiling = arch.core.tilings_of("int8", "int8")[0]
    kernel = Kernel("int8", "int8", "int32", tiling, *block, requantise="none", relu=False)
    apart = schedule_call(kernel, arch, 64, 112, 64)
    beside = schedule_call(replace(kernel, beside=True), arch, 64, 112, 64)
    assert beside.counts == apart.counts
    more = (beside.body - apart.body) / apart.counts.loads_bias
    assert more > 0.8 if block == (2, 2) else more < 0.2


def test_the_checker_knows_what_calls_use_that_does_not_count():
    """What a core pays for may lie anywhere; what its tile has not is an error of this project."""
    rules = {rule.name: rule.check for rule in RULES}
    made = _tile((3,), 0)
    (core,) = made.cores
    for name, refused in (("stack", False), ("stuck", True)):
        uses = ("a", "in0"), ("w", "in1"), ("other", name)
        works = tuple(replace(work, uses=uses) for work in core.work)
        edited = replace(made, cores=(replace(core, work=works),))
        if refused:
            with pytest.raises(InternalError, match=name):
                list(rules["apart"](edited, NPU1))
        else:  # it shares a bank with what is loaded, and is not counted
            assert not list(rules["apart"](edited, NPU1))
