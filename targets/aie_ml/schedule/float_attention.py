"""Schedules of attention in bfloat16 whose keys and values go by: products, and loops between them.

Scores, weights and queries lie in one bank. Floats are loaded as accumulators; what adds to a
constant takes a copy of it first, in the move slot. Sums of floats take as long as products, as in
`schedule.float_rows`.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from match_aie.targets.aie_ml.devices import Architecture
from match_aie.targets.aie_ml.kernels.attention_parts import Phase
from match_aie.targets.aie_ml.kernels.blocked_attention import BlockedAttention
from match_aie.targets.aie_ml.kernels.float_attention import (
    KEYS,
    PAIR,
    QUERIES,
    TILE,
    FloatAttention,
)
from match_aie.targets.aie_ml.schedule.attention import BLOCK_CYCLES, Loops, bundles_of
from match_aie.targets.aie_ml.schedule.attention_weights import weights
from match_aie.targets.aie_ml.schedule.blocked_attention import (
    apart_bodies,
    blocked_bodies,
    blocked_times,
)
from match_aie.targets.aie_ml.schedule.call import BUNDLE_BYTES, FRAME_BUNDLES
from match_aie.targets.aie_ml.schedule.generated import schedule_of
from match_aie.targets.aie_ml.schedule.laned_attention import STEPS, laned_bodies, rounded
from match_aie.targets.aie_ml.schedule.loops import RowSchedule, loop_schedule
from match_aie.targets.aie_ml.schedule.machine import (
    LOAD_A,
    STORE,
    VECTOR,
    Machine,
    machine,
)
from match_aie.targets.aie_ml.schedule.operation import WORD, Operation
from match_aie.targets.aie_ml.schedule.streamed_attention import (
    LOOP_CYCLES,
    PhaseSchedules,
    called,
    turns_apart,
)
from match_aie.targets.aie_ml.schedule.words_moved import in_turn, loaded, moved, stored

#: Banks of queries, scores and weights; of sums; of results; of what belongs to single rows.
_SCORES, _SUMS, _RESULTS, _ROWS = "T", "S", "W", "A"

#: Floats that an accumulator has, and words of them.
_LANES, _WORDS = 16, 2


def float_schedules(call: FloatAttention, arch: Architecture) -> PhaseSchedules:
    """Modelled cycles of every kind of call.

    Raises:
        TargetError: registers do not suffice for a product, or facts are missing.
    """
    core, empty = machine(arch), arch.latency("l1_kernel_call_loop_overhead")
    scores, adds = (schedule_of(spec, arch) for spec in (call.scores.spec, call.adds))
    loops = _loops_of(core, call)

    def rows(name: str, times: int, around: int) -> int:
        return times * (sum(loop.body(many) for many, loop in loops[name]) + around)

    made = partial(called, loops, empty)
    times = _times_of(call)
    hidden = rows("hidden", times["hidden"], LOOP_CYCLES)
    weighed = scores.body + rows("counting", 1, LOOP_CYCLES) + adds.body
    weighed += rows("weighed", times["weighed"], LOOP_CYCLES)
    ended = rows("inverse", times.get("inverse", times["ended"]), BLOCK_CYCLES)
    ended += rows("ended", times["ended"], LOOP_CYCLES)
    started, weighing = rows("started", 1, 0), ("hidden", "counting", "weighed", "inverse", "ended")
    rounds: dict[Phase, tuple[RowSchedule, RowSchedule]] = {}
    if call.spec.shifted:
        compared = scores.body + rows("compared", times["compared"], LOOP_CYCLES)
        settled = rows("settled", times["settled"], LOOP_CYCLES) + started
        rounds["largest"] = (
            made(compared, "compared"),
            made(compared + hidden + settled, "hidden", "compared", "settled", "started"),
        )
        rounds["values"] = (
            made(weighed, "counting", "weighed"),
            made(weighed + hidden + ended, *weighing),
        )
    else:
        # Sums begin with the first part; which of the calls has these cycles changes no sum.
        rounds["values"] = (
            made(weighed, "counting", "weighed"),
            made(weighed + hidden + ended + started, *weighing, "started"),
        )
    bundles = bundles_of(tuple(one for some in loops.values() for one in some))
    bundles += len(loops) * LOOP_CYCLES + BLOCK_CYCLES + FRAME_BUNDLES
    code = bundles * BUNDLE_BYTES + sum(k.program_bytes for k in (scores, adds))
    first = RowSchedule(rows("copied", 1, LOOP_CYCLES), code, empty, loops["copied"])
    passed = RowSchedule(0, 0, empty, ())
    return PhaseSchedules(first, rounds, code, passed)


def _times_of(call: FloatAttention) -> dict[str, int]:
    """How often a call goes through each loop.

    Where rows lie in lanes, loops over them have 32 or sixteen at a time, and those over keys begin
    anew for each key (weights) or not (what is hidden).
    """
    if isinstance(call, BlockedAttention):
        return blocked_times(call)
    if call.laned:
        many, few = call.rows // STEPS, call.rows // _LANES
        return {"hidden": 1, "compared": many, "weighed": 1, "ended": few, "settled": 1}
    groups = call.rows // QUERIES
    pairs = call.part // PAIR
    return {"hidden": groups, "compared": pairs, "weighed": 1, "ended": groups, "settled": groups}


def _loops_of(core: Machine, call: FloatAttention) -> dict[str, Loops]:
    """Loops by what they do: of a piece of queries, of four rows, or of a block."""
    inverse = {"inverse": turns_apart(call.spec.inverse_steps, tuple(_better(core)))}
    if isinstance(call, BlockedAttention):
        bodies = blocked_bodies(core, call)
        made = {name: _loop(turns, tuple(body), core) for name, (turns, body) in bodies.items()}
        turned = {name: turns_apart(*each) for name, each in apart_bodies(core, call).items()}
        inverse["inverse"] += turned.pop("folded")
        return {"hidden": ()} | made | turned | inverse
    if call.laned:
        bodies = laned_bodies(core, call)
        made = {name: _loop(turns, tuple(body), core) for name, (turns, body) in bodies.items()}
        return {"counting": ()} | made | inverse
    pairs, groups = call.part // PAIR, call.rows // QUERIES
    filled = (call.part - call.last) // QUERIES
    filled += (call.part - call.last) % QUERIES > 0
    tiles = call.width // QUERIES
    found: dict[str, tuple[int, Iterator[Operation]]] = {
        "hidden": (filled, _hidden(core)),
        "weighed": (groups * pairs, _weighed(core, shifted=call.spec.shifted)),
        "started": (call.rows * (call.width + KEYS * call.spec.sums) // _LANES, _started()),
        "ended": (tiles, _ended(core)),
    }
    if call.spec.shifted:
        found |= {"compared": (groups, _compared(core)), "settled": (1, _settled(core))}
    made = {name: _loop(turns, tuple(body), core) for name, (turns, body) in found.items()}
    # Newton's steps wait for each other; others are short, and turns apart keep their code so.
    apart = {
        "copied": (call.piece // TILE, _copied(core)),
        "counting": (pairs, _counting(core)),
    }
    turned = {name: turns_apart(turns, tuple(body)) for name, (turns, body) in apart.items()}
    return made | turned | inverse


def _loop(turns: int, body: tuple[Operation, ...], core: Machine) -> Loops:
    """A loop whose turns wait for nothing of each other."""
    return ((turns, loop_schedule(body, core.move)),) if turns else ()


def _vector(core: Machine, name: str, reads: tuple[str, ...], writes: str = "") -> Operation:
    """A product lane by lane, or a sum, of sixteen floats."""
    return Operation(
        "multiply", name, (VECTOR,), reads, writes or name, core.float_product, bytes=WORD
    )


def _floats(core: Machine, name: str, bank: str) -> Iterator[Operation]:
    """Sixteen floats as an accumulator."""
    for word in range(_WORDS):
        label = f"{name}{word}"
        yield Operation("load_accumulator", label, (LOAD_A,), (), name, core.load, bank, bytes=WORD)


def _copied(core: Machine) -> Iterator[Operation]:
    """A tile of queries, times a factor of two parts, turned."""
    for half in range(2):
        yield loaded(core, f"x{half}", _RESULTS)
        for part in range(2):
            yield _vector(core, f"p{half}{part}", (f"x{half}",), f"p{half}")
        yield rounded(core, f"q{half}", f"p{half}")
    yield moved(core, "turned", ("q0", "q1"))
    for half in range(2):
        yield stored(f"y{half}", "turned", _SCORES)


def _hidden(core: Machine) -> Iterator[Operation]:
    """A tile of scores, of which some are kept."""
    for word in range(_WORDS):
        yield loaded(core, f"x{word}", _SCORES)
    yield moved(core, "kept", ("x0", "x1"))
    for word in range(_WORDS):
        yield stored(f"y{word}", "kept", _SCORES)


def _counted(core: Machine) -> Iterator[Operation]:
    """Two tiles of scores in steps: a sum, a difference, rounded."""
    for half in range(2):
        yield from _floats(core, f"x{half}", _SCORES)
        yield _vector(core, f"shifted{half}", (f"x{half}",))
        yield _vector(core, f"bits{half}", (f"shifted{half}",))
        yield rounded(core, f"steps{half}", f"bits{half}")


def _compared(core: Machine) -> Iterator[Operation]:
    """Two tiles compared with the greatest so far, which other turns do not touch."""
    yield from _counted(core)
    for word in range(2):
        yield loaded(core, f"before{word}", _ROWS)
    yield moved(core, "most", ("steps0", "steps1", "before0", "before1"))
    for word in range(2):
        yield stored(f"y{word}", "most", _ROWS)


def _settled(core: Machine) -> Iterator[Operation]:
    """Eight keys into one, three halvings."""
    yield loaded(core, "x0", _ROWS)
    yield loaded(core, "x1", _ROWS)
    yield from in_turn(core, ("s0", "m0", "s1", "m1", "s2", "m2", "least", "below"), ("x0", "x1"))
    for word in range(2):
        yield stored(f"y{word}", "below", _ROWS)


def _counting(core: Machine) -> Iterator[Operation]:
    """What eight keys count."""
    yield from in_turn(core, ("mask", "kept"))
    for word in range(2):
        yield stored(f"y{word}", "kept", _ROWS)


def _weighed(core: Machine, *, shifted: bool) -> Iterator[Operation]:
    """Two tiles of scores become one of weights, which joins the sums of its rows."""
    yield from _counted(core)
    if shifted:
        for word in range(2):
            yield loaded(core, f"floor{word}", _ROWS)
        yield moved(core, "above", ("steps0", "steps1", "floor0", "floor1"))
    else:
        yield from in_turn(core, ("within", "above"), ("steps0", "steps1"))
    yield from weights(core, _vector, rounded)
    yield from in_turn(core, ("whole", "weights"), ("outer0", "outer1", "exponent"))
    for word in range(2):
        yield loaded(core, f"ones{word}", _ROWS)
    yield from _floats(core, "total", _ROWS)
    counts = "weights", "ones0", "ones1", "total"
    yield Operation("multiply", "sum", (VECTOR,), counts, "sum", core.float_product)
    for half in range(2):
        yield stored(f"sum{half}", "sum", _ROWS)
        yield stored(f"y{half}", "weights", _SCORES)


def _started() -> Iterator[Operation]:
    """Sixteen sums of results."""
    for word in range(_WORDS):
        yield stored(f"y{word}", "", _SUMS)


def _times(core: Machine, name: str, reads: tuple[str, ...], many: int = 4) -> Iterator[Operation]:
    """Four products of halves, or three where that of the lower ones does not matter."""
    for part in range(many):
        yield _vector(core, f"{name}{part}", reads, name)


def _split(core: Machine, name: str, reads: str) -> Iterator[Operation]:
    """A float's two halves, called alike."""
    yield rounded(core, f"{name}high", reads)
    yield moved(core, f"{name}wide", (f"{name}high",))
    yield _vector(core, f"{name}rest", (reads, f"{name}wide"))
    yield Operation("srs", f"{name}low", (STORE,), (f"{name}rest",), name, core.srs, bytes=WORD)


def _better(core: Machine) -> Iterator[Operation]:
    """Newton's step towards a reciprocal."""
    yield from _times(core, "product", ())
    yield _vector(core, "less", ("product",))
    yield from _split(core, "left", "less")
    yield from _times(core, "guess", ("left",))
    yield from _split(core, "next", "guess")


def _ended(core: Machine) -> Iterator[Operation]:
    """Sixteen sums times one over that of their rows' weights."""
    yield from _floats(core, "x", _SUMS)
    yield from _split(core, "parts", "x")
    yield from _times(core, "share", ("parts",), 3)
    yield rounded(core, "y", "share")
    yield stored("result", "y", _RESULTS)
