"""Loops between the products of attention in bfloat16 where rows of queries lie in lanes.

Operations are those of `templates/aie/float_parts_laned.hpp.mako`, one for one; a load or store is
of 64 bytes, sixteen floats or 32 elements of two bytes.
"""

from __future__ import annotations

from collections.abc import Iterator

from match_aie.targets.aie_ml.kernels.float_attention import TILE, FloatAttention
from match_aie.targets.aie_ml.schedule.attention_weights import weights
from match_aie.targets.aie_ml.schedule.lanes import load
from match_aie.targets.aie_ml.schedule.machine import LOAD_A, STORE, VECTOR, Machine
from match_aie.targets.aie_ml.schedule.operation import Operation
from match_aie.targets.aie_ml.schedule.words_moved import in_turn, moved

#: Banks of queries and scores; of sums; of results; of what belongs to single rows.
_SCORES, _SUMS, _RESULTS, _ROWS = "T", "S", "W", "A"

#: Floats that are handled at a time; rows of a vector of steps; rows of tiles that are turned.
FLOATS, STEPS, TURNED = 16, 32, 8

#: Bytes of a vector.
_VECTOR = 64


def laned_bodies(core: Machine, call: FloatAttention) -> dict[str, tuple[int, Iterator[Operation]]]:
    """Turns of a loop and what a turn does, by what it does: of a piece of queries, or of a block.

    Scores are compared for as many rows as a vector has, and divided for sixteen.
    """
    behind = call.part - call.last
    found: dict[str, tuple[int, Iterator[Operation]]] = {
        "copied": (call.piece // (2 * TILE), _copied(core)),
        "hidden": (behind * call.rows // FLOATS, iter((stored("y", "", _SCORES),))),
        "weighed": (call.part * call.rows // STEPS, _weighed(core, shifted=call.spec.shifted)),
        "started": (
            call.rows * (call.width + call.spec.sums) // FLOATS,
            iter((stored("y", "", _SUMS),)),
        ),
        "ended": (call.width, _ended(core)),
    }
    if call.spec.shifted:
        found |= {
            "compared": (call.part, _compared(core)),
            "settled": (call.rows // STEPS, _settled(core)),
        }
    return found


def stored(name: str, reads: str, bank: str) -> Operation:
    """A vector to memory."""
    return Operation("store", name, (STORE,), (reads,) if reads else (), "", 0, bank, _VECTOR)


def vector(core: Machine, name: str, reads: tuple[str, ...], writes: str = "") -> Operation:
    """A product lane by lane, or a sum."""
    latency = core.float_product
    return Operation("multiply", name, (VECTOR,), reads, writes or name, latency, bytes=_VECTOR)


def rounded(core: Machine, name: str, reads: str) -> Operation:
    """Sixteen sums as elements of two bytes."""
    return Operation("srs", name, (STORE,), (reads,), name, core.srs, bytes=32)


def _floats(core: Machine, name: str, bank: str) -> Operation:
    """Sixteen floats as an accumulator."""
    return Operation("load_accumulator", name, (LOAD_A,), (), name, core.load, bank, bytes=_VECTOR)


def _copied(core: Machine) -> Iterator[Operation]:
    """Two tiles of queries, times a factor of two parts, turned and stored in eight rows."""
    for half in range(4):
        yield load(f"x{half}", _RESULTS, core, 32)
        for part in range(2):
            yield vector(core, f"p{half}{part}", (f"x{half}",), f"p{half}")
        yield rounded(core, f"q{half}", f"p{half}")
    for half in range(2):
        yield moved(core, f"turned{half}", tuple(f"q{at}" for at in range(4)))
    for row in range(TURNED):
        yield moved(core, f"row{row}", (f"turned{row // 4}",))
        yield stored(f"y{row}", f"row{row}", _SCORES)


def _counted(core: Machine) -> Iterator[Operation]:
    """Scores of a key in steps: a sum, a difference, rounded, for both halves of the rows."""
    for half in range(2):
        yield _floats(core, f"x{half}", _SCORES)
        yield vector(core, f"shifted{half}", (f"x{half}",))
        yield vector(core, f"bits{half}", (f"shifted{half}",))
        yield rounded(core, f"steps{half}", f"bits{half}")


def _compared(core: Machine) -> Iterator[Operation]:
    """A key compared with the greatest so far, which stay in a register."""
    yield from _counted(core)
    yield moved(core, "most", ("steps0", "steps1"))


def _settled(core: Machine) -> Iterator[Operation]:
    """What is far below the largest scores."""
    yield load("x", _ROWS, core, _VECTOR)
    yield from in_turn(core, ("least", "below"), ("x",))
    yield stored("y", "below", _ROWS)


def _weighed(core: Machine, *, shifted: bool) -> Iterator[Operation]:
    """A key's scores become weights, which join the sums of their rows."""
    yield from _counted(core)
    if shifted:
        yield load("floor", _ROWS, core, _VECTOR)
        yield moved(core, "above", ("steps0", "steps1", "floor"))
    else:
        yield from in_turn(core, ("within", "above"), ("steps0", "steps1"))
    yield from weights(core, vector, rounded)
    yield moved(core, "weights", ("outer0", "outer1", "exponent"))
    yield moved(core, "counts", ())
    for half in range(2):
        yield _floats(core, f"total{half}", _ROWS)
    yield vector(core, "sum", ("weights", "counts", "total0", "total1"))
    for half in range(2):
        yield stored(f"sum{half}", "sum", _ROWS)
    yield stored("y", "weights", _SCORES)


def _ended(core: Machine) -> Iterator[Operation]:
    """Sixteen sums of a row times one over that of its weights, whose halves each row repeats."""
    yield _floats(core, "x", _SUMS)
    yield rounded(core, "high", "x")
    yield moved(core, "wide", ("high",))
    yield vector(core, "rest", ("x", "wide"))
    yield rounded(core, "low", "rest")
    for half in range(2):
        yield moved(core, f"share{half}", ())
    for part in range(3):
        yield vector(core, f"share{part}sum", ("high", "low", "share0", "share1"), "sums")
    yield rounded(core, "y", "sums")
    yield stored("result", "y", _RESULTS)
