"""Loops between the products of attention whose products are of block floating point.

Operations are those of `templates/aie/float_parts_blocked.hpp.mako`, one for one: 32 lanes at a
time, which are a vector of elements of two bytes and half of an accumulator (llvm-aie, AIE2P:
`VSRS_2x_mv_x_srs_cm`, `VCONV_bf16_fp32_mv_x_srs_bf`, `VSUB_f_vmac_cm2_add_reg`); a load or store is
of 64 bytes.
"""

from __future__ import annotations

from collections.abc import Iterator

from match_aie.targets.aie_ml.kernels.blocked_attention import FOUR, BlockedAttention
from match_aie.targets.aie_ml.schedule.laned_attention import stored, vector
from match_aie.targets.aie_ml.schedule.lanes import load
from match_aie.targets.aie_ml.schedule.machine import LOAD_A, STORE, Machine
from match_aie.targets.aie_ml.schedule.operation import Operation
from match_aie.targets.aie_ml.schedule.words_moved import in_turn, moved
from match_aie.workload.block_float import BLOCK

#: Banks of queries and scores; of sums; of results; of what belongs to single rows.
_SCORES, _SUMS, _RESULTS, _ROWS = "T", "S", "W", "A"

#: Elements, and floats, of a vector.
ELEMENTS, FLOATS = 32, 16

#: Rows whose sums of weights are divided at a time.
DIVIDED = 16

#: Bytes of a vector.
_VECTOR = 64


def blocked_bodies(
    core: Machine, call: BlockedAttention
) -> dict[str, tuple[int, Iterator[Operation]]]:
    """Turns of a loop and what a turn does, by what it does: of a piece of queries, or of a block.

    Every second turn loads and stores the same sums of weights.
    """
    return {
        "copied": (call.piece // ELEMENTS, _copied(core)),
        "weighed": (call.part * call.rows // ELEMENTS, _weighed(core)),
        "started": (
            call.rows * (call.width + BLOCK) // FLOATS,
            iter((stored("y", "", _SUMS),)),
        ),
        "ended": (call.width // BLOCK, _ended(core)),
    }


def apart_bodies(
    core: Machine, call: BlockedAttention
) -> dict[str, tuple[int, tuple[Operation, ...]]]:
    """The same of loops whose turns do not overlap: what a part's keys count, and folded sums."""
    return {
        "counting": (call.part // BLOCK, tuple(_counting(core))),
        "folded": (1, tuple(_folded(core))),
    }


def blocked_times(call: BlockedAttention) -> dict[str, int]:
    """How often a call goes through each loop."""
    return {
        "hidden": 0,
        "weighed": 1,
        "inverse": call.rows // DIVIDED,
        "ended": call.rows // FOUR,
    }


def _rounded(core: Machine, name: str, reads: str) -> Operation:
    """Sums as elements of two bytes."""
    return Operation("srs", name, (STORE,), (reads,), name, core.srs, bytes=_VECTOR)


def _floats(
    core: Machine, name: str, bank: str, behind: tuple[str, ...] = ()
) -> Iterator[Operation]:
    """Floats as an accumulator, loaded when what is `behind` is ready."""
    for half in range(2):
        where = (LOAD_A,), behind, name, core.load, bank
        yield Operation("load_accumulator", f"{name}{half}", *where, bytes=_VECTOR)


def _copied(core: Machine) -> Iterator[Operation]:
    """Elements of queries, times a factor of two parts."""
    yield load("x", _RESULTS, core, _VECTOR)
    for part in range(2):
        yield vector(core, f"p{part}", ("x",), "p")
    yield _rounded(core, "q", "p")
    yield stored("y", "q", _SCORES)


def _counting(core: Machine) -> Iterator[Operation]:
    """What eight keys count."""
    yield from in_turn(core, ("mask", "marks"))
    yield stored("y", "marks", _ROWS)


def _weighed(core: Machine) -> Iterator[Operation]:
    """Four rows of a tile of scores become weights, which join the sums of their rows."""
    yield from _floats(core, "x", _SCORES)
    yield vector(core, "shifted", ("x",))
    yield vector(core, "bits", ("shifted",))
    yield _rounded(core, "steps", "bits")
    yield from in_turn(core, ("within", "above", "fraction", "mantissa"), ("steps",))
    yield moved(core, "exponent", ("above",))
    near: tuple[str, ...] = ("mantissa",)
    for name in ("inner", "outer"):
        yield moved(core, f"constant_{name}", ())
        yield vector(core, f"{name}sum", (*near, f"constant_{name}"))
        yield _rounded(core, name, f"{name}sum")
        near = "mantissa", name
    yield load("marks", _ROWS, core, _VECTOR)
    yield moved(core, "whole", ("outer", "exponent"))
    yield moved(core, "weights", ("whole", "marks"))
    # Late: two turns later the same sums are loaded again.
    yield from _floats(core, "total", _ROWS, ("outer",))
    yield vector(core, "sum", ("weights", "total"))
    for half in range(2):
        yield stored(f"sum{half}", "sum", _ROWS)
    yield stored("y", "weights", _SCORES)


def _folded(core: Machine) -> Iterator[Operation]:
    """Sums of eight neighbours of sixteen rows: seven sums of even and odd ones."""
    waiting = []
    for at in range(4):
        for half in range(2):
            yield load(f"x{at}{half}", _ROWS, core, _VECTOR)
        waiting.append((f"x{at}0", f"x{at}1"))
    made = 0
    while waiting:
        reads, made = waiting.pop(0), made + 1
        for side in ("even", "odd"):
            yield moved(core, f"{side}{made}", reads)
            yield moved(core, f"float_{side}{made}", (f"{side}{made}",))
        yield vector(core, f"sum{made}", (f"float_even{made}", f"float_odd{made}"))
        yield moved(core, f"added{made}", (f"sum{made}",))
        if made % 2 == 0:
            waiting.append((f"added{made - 1}", f"added{made}"))


def _ended(core: Machine) -> Iterator[Operation]:
    """Four rows of a tile of sums times one over that of their rows' weights."""
    yield from _floats(core, "x", _SUMS)
    yield _rounded(core, "high", "x")
    yield moved(core, "wide", ("high",))
    yield vector(core, "rest", ("x", "wide"))
    yield _rounded(core, "low", "rest")
    for part in range(3):
        yield vector(core, f"share{part}", ("high", "low"), "sums")
    yield _rounded(core, "y", "sums")
    yield stored("result", "y", _RESULTS)
