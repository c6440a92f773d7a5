"""Schedules of kernels that walk rows: loops whose turns overlap, one after the other."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from match_aie.targets.aie_ml.devices import Architecture
from match_aie.targets.aie_ml.kernels.bands import AddCall
from match_aie.targets.aie_ml.kernels.floats import FloatCall
from match_aie.targets.aie_ml.kernels.lookup import KEYS, TableCall
from match_aie.targets.aie_ml.kernels.multiplied import MultipliedCall
from match_aie.targets.aie_ml.kernels.norm import NormCall
from match_aie.targets.aie_ml.kernels.softmax import SoftmaxCall
from match_aie.targets.aie_ml.kernels.turned import TurnedCall
from match_aie.targets.aie_ml.schedule.call import BUNDLE_BYTES, FRAME_BUNDLES, CallSchedule
from match_aie.targets.aie_ml.schedule.float_rows import (
    FLOAT_ROW_CYCLES,
    float_loops,
    walks_rows,
)
from match_aie.targets.aie_ml.schedule.generated import add_schedule
from match_aie.targets.aie_ml.schedule.loops import LoopSchedule, RowSchedule, loop_schedule
from match_aie.targets.aie_ml.schedule.machine import (
    LOAD_A,
    LOAD_B,
    MOVE,
    STORE,
    VECTOR,
    Machine,
    machine,
)
from match_aie.targets.aie_ml.schedule.norm import norm_schedule
from match_aie.targets.aie_ml.schedule.operation import WORD, Operation

#: Functions that walk rows.
RowCall = AddCall | MultipliedCall | TableCall | SoftmaxCall | NormCall | TurnedCall | FloatCall

#: A loop's operations on a core.
_Body = Callable[[Machine], Iterator[Operation]]

#: Cycles of a row beside its loops: a maximum and a sum over lanes, a division of 32-bit integers,
#: set-up of loops. ASSUMPTION: no document states them.
ROW_CYCLES = 100

#: Words that one gather reads of both arrays of a table; results lie in a bank of one of them.
_TABLE = "T"


def row_schedule(call: RowCall, arch: Architecture) -> CallSchedule | RowSchedule:
    """Modelled cycles of one call.

    Raises:
        TargetError: facts are missing.
    """
    if isinstance(call, AddCall):
        return add_schedule(call.spec, arch, call.rows)
    if isinstance(call, NormCall):
        return norm_schedule(call, arch)
    core = machine(arch)
    if isinstance(call, FloatCall):
        return _float_schedule(call, arch)
    bodies: tuple[tuple[int, _Body], ...] = ((call.rows, _table),)
    if isinstance(call, TurnedCall):
        bodies = ((call.rows, _turned),)
    if isinstance(call, MultipliedCall):
        bodies = ((call.rows, _multiplied),)
    times, around = 1, 0
    if isinstance(call, SoftmaxCall):
        short, long = call.width // (2 * KEYS), call.width // KEYS
        bodies = ((short, _maximum), (long, _summed), (long, _scaled))
        times, around = call.rows, ROW_CYCLES
    loops = tuple((turns, loop_schedule(tuple(body(core)), core.move)) for turns, body in bodies)
    return _walked(loops, times, around, arch)


def _float_schedule(call: FloatCall, arch: Architecture) -> RowSchedule:
    """Of floats: what a turn adds to waits for the turn before it as long as products take."""
    core, rows = machine(arch), walks_rows(call)
    loops = tuple(
        (loop.turns, loop_schedule(loop.body(core), core.float_product, overlaps=loop.overlaps))
        for loop in float_loops(call)
    )
    return _walked(loops, call.rows if rows else 1, FLOAT_ROW_CYCLES if rows else 0, arch)


def _walked(
    loops: tuple[tuple[int, LoopSchedule], ...], times: int, around: int, arch: Architecture
) -> RowSchedule:
    """So many times these loops one after the other, with cycles around them."""
    bundles = FRAME_BUNDLES + around + sum(loop.bundles for _, loop in loops)
    return RowSchedule(
        times * (around + sum(loop.body(turns) for turns, loop in loops)),
        bundles * BUNDLE_BYTES,
        arch.latency("l1_kernel_call_loop_overhead"),
        tuple((times * turns, loop) for turns, loop in loops),
    )


def _table(core: Machine) -> Iterator[Operation]:
    """A vector of keys, both halves of it looked up, joined, packed and stored."""
    yield Operation("load", "x", (LOAD_A, LOAD_B), (), "x", core.load, "A", WORD)
    yield Operation("shuffle", "unpack", (MOVE,), ("x",), "keys", core.move)
    for half in range(2):
        yield from looked_up("keys", f"v{half}", core)
    yield Operation("shuffle", "join", (MOVE,), ("v0", "v1"), "joined", core.move)
    yield Operation("copy", "pack", (STORE,), ("joined",), "y", core.move)
    yield Operation("store", "y", (STORE,), ("y",), "", 0, _TABLE, WORD)


def _turned(core: Machine) -> Iterator[Operation]:
    """A tile of two vectors, turned by one shuffle for each half of the result."""
    for half in range(2):
        yield Operation("load", f"x{half}", (LOAD_A, LOAD_B), (), f"x{half}", core.load, "A", WORD)
    for half in range(2):
        both = ("x0", "x1")
        yield Operation("shuffle", f"turn{half}", (MOVE,), both, f"y{half}", core.move)
        yield Operation("store", f"y{half}", (STORE,), (f"y{half}",), "", 0, _TABLE, WORD)


def _multiplied(core: Machine) -> Iterator[Operation]:
    """A vector of each input, widened, centred and multiplied; halves times a 16-bit factor."""
    for side, bank in zip("ab", "AW", strict=True):
        yield Operation("load", side, (LOAD_A, LOAD_B), (), side, core.load, bank, WORD)
        yield Operation("shuffle", f"unpack_{side}", (MOVE,), (side,), f"{side}.wide", core.move)
        wide = f"{side}.wide"
        yield Operation("shuffle", f"centre_{side}", (MOVE,), (wide,), f"{side}.at", core.move)
    yield Operation("multiply", "product", (VECTOR,), ("a.at", "b.at"), "sums", core.product)
    for half in range(2):
        yield Operation("copy", f"wide{half}", (STORE,), ("sums",), f"s{half}", core.srs)
        for part in range(2):
            name = f"part{half}{part}"
            yield Operation("shuffle", name, (MOVE,), (f"s{half}",), name, core.move)
        parts = f"part{half}0", f"part{half}1"
        for part in range(2):
            name = f"scale{half}{part}"
            yield Operation("multiply", name, (VECTOR,), parts, f"t{half}", core.product)
        yield Operation("srs", f"round{half}", (STORE,), (f"t{half}",), f"y{half}", core.srs)
    yield Operation("shuffle", "join", (MOVE,), ("y0", "y1"), "y", core.move)
    yield Operation("store", "y", (STORE,), ("y",), "", 0, _TABLE, WORD)


def _maximum(core: Machine) -> Iterator[Operation]:
    """A vector compared with the greatest so far."""
    yield Operation("load", "x", (LOAD_A, LOAD_B), (), "x", core.load, "A", WORD)
    yield Operation("compare", "most", (MOVE,), ("x",), "most", core.move)


def _exponentials(core: Machine) -> Iterator[Operation]:
    """Distances from the row's largest element, looked up."""
    yield Operation("load", "x", (LOAD_A, LOAD_B), (), "x", core.load, "A", KEYS)
    yield Operation("shuffle", "distance", (MOVE,), ("x",), "keys", core.move)
    yield from looked_up("keys", "e", core)


def _summed(core: Machine) -> Iterator[Operation]:
    """Sixteen exponentials added to the sums."""
    yield from _exponentials(core)
    yield Operation("shuffle", "add", (MOVE,), ("e",), "sums", core.move)


def _scaled(core: Machine) -> Iterator[Operation]:
    """Sixteen exponentials times the row's factor: 32 bits by 16 are two products."""
    yield from _exponentials(core)
    for half in range(2):
        yield Operation("multiply", f"p{half}", (VECTOR,), ("e",), "product", core.product)
    yield Operation("srs", "round", (STORE,), ("product",), "steps", core.srs)
    yield Operation("shuffle", "zero_point", (MOVE,), ("steps",), "moved", core.move)
    yield Operation("copy", "pack", (STORE,), ("moved",), "y", core.move)
    yield Operation("store", "y", (STORE,), ("y",), "", 0, _TABLE, KEYS)


def looked_up(keys: str, result: str, core: Machine) -> Iterator[Operation]:
    """Sixteen keys: through an accumulator to addresses, four gathers, and what is kept of them.

    A gather issues in load B alone (`VLDB.4x`, llvm-aie) and reads a bank of each array.
    """
    yield Operation("copy", "ups", (MOVE,), (keys,), f"{result}.wide", core.move)
    for word in range(4 * KEYS // WORD):
        name = f"{result}.i{word}"
        yield Operation("srs", f"index{word}", (STORE,), (f"{result}.wide",), name, core.srs)
    indices = tuple(f"{result}.i{word}" for word in range(4 * KEYS // WORD))
    yield Operation("shuffle", "base", (MOVE,), indices, f"{result}.at", core.move)
    for part in range(KEYS // 4):
        at = (f"{result}.at",)
        yield Operation("load", f"g{part}", (LOAD_B,), at, f"{result}.g", core.load, _TABLE, WORD)
    yield Operation("shuffle", "kept", (MOVE,), (f"{result}.g",), result, core.move)
