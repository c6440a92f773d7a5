"""The schedule of attention: a product, loops of a softmax over tiles, a product."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

from match_aie.targets.aie_ml.devices import Architecture
from match_aie.targets.aie_ml.kernels.attention import LANES, PAIR, TILE_ROWS, AttentionCall
from match_aie.targets.aie_ml.kernels.product import OperandSums
from match_aie.targets.aie_ml.schedule.call import BUNDLE_BYTES, FRAME_BUNDLES, ArchitectureKey
from match_aie.targets.aie_ml.schedule.generated import schedule_of
from match_aie.targets.aie_ml.schedule.loops import LoopSchedule, RowSchedule, loop_schedule
from match_aie.targets.aie_ml.schedule.machine import (
    LOAD_A,
    LOAD_B,
    MOVE,
    STORE,
    VECTOR,
    Machine,
)
from match_aie.targets.aie_ml.schedule.operation import WORD, Operation
from match_aie.targets.aie_ml.schedule.rows import looked_up
from match_aie.targets.aie_ml.schedule.words_moved import (
    LOCAL,
    in_turn,
    loaded,
    moved,
    quotient,
    stored,
)

#: Cycles of four rows beside their loops: these are set up three times, four factors loaded,
#: multiplied, shifted and spread over lanes. ASSUMPTION: no document states them.
GROUP_CYCLES = 32

#: Likewise of rows whose sums are divided together.
BLOCK_CYCLES = 16

#: Steps in which a sum divides.
STEPS = 15

#: Turns and a loop, one after the other.
Loops = tuple[tuple[int, LoopSchedule], ...]


def attention_schedules(
    call: AttentionCall, arch: Architecture
) -> tuple[RowSchedule, RowSchedule, RowSchedule]:
    """Modelled cycles of a head's first product, of its softmax, and of its second product.

    Raises:
        TargetError: registers do not suffice for a product, or facts are missing.
    """
    key = ArchitectureKey(arch)
    first, second = (schedule_of(product.spec, arch) for product in call.products)
    sums = [_sums(key, each) if each is not None else (0, ()) for each in call.sums]
    row = _group(key, call.scores.spec.n, call.columns)
    block = _divided(key, call.unknown)
    groups = call.scores.spec.m // TILE_ROWS
    blocks = -(-call.scores.spec.m // call.divided)
    inside = sum(loop.body(turns) for turns, loop in row) + GROUP_CYCLES
    each = sum(loop.body(turns) for turns, loop in block) + BLOCK_CYCLES
    loops = tuple((groups * turns, loop) for turns, loop in row)
    loops += tuple((blocks * turns, loop) for turns, loop in block)
    bundles = bundles_of((*row, *block)) + GROUP_CYCLES + BLOCK_CYCLES
    # Kernels stand in program memory once where both products have the same.
    alike = call.scores.spec.family == call.values.spec.family
    families = {each.family for each in call.sums if each is not None}
    shared = max(
        _code_of_sums(loops_of, each) if each is not None else 0
        for (_, loops_of), each in zip(sums, call.sums, strict=True)
    )
    bundles += FRAME_BUNDLES + len(families) * shared
    empty = arch.latency("l1_kernel_call_loop_overhead")
    return (
        RowSchedule(sums[0][0] + first.body, first.program_bytes, empty, sums[0][1]),
        RowSchedule(
            groups * inside + blocks * each,
            bundles * BUNDLE_BYTES + (0 if alike else second.program_bytes),
            empty,
            loops,
        ),
        # All but its frame, which all three share, is counted before it.
        RowSchedule(sums[1][0] + second.body, FRAME_BUNDLES * BUNDLE_BYTES, empty, sums[1][1]),
    )


def bundles_of(loops: Loops) -> int:
    """Of loops: turns that begin before the one that is repeated, and that end after it."""
    return sum(loop.span + (loop.span - loop.interval) * (turns > 1) for turns, loop in loops)


def loop_of(core: Machine, turns: int, body: Iterator[Operation], chain: int) -> Loops:
    """A loop in which a turn's last value comes `chain` moves after that of the turn before.

    Args:
        core: that runs it.
        turns: of the loop.
        body: operations of one.
        chain: moves between values of turns.
    """
    return ((turns, loop_schedule(tuple(body), chain * core.move)),)


@lru_cache(maxsize=1024)
def _group(key: ArchitectureKey, held: int, columns: int) -> Loops:
    """Loops of four rows of `held` columns, of which `columns` are keys."""
    core = key.core
    pairs = held // PAIR
    filled = 2 * (pairs * 2 - columns // 8)
    behind = loop_of(core, filled, _filled(core), 1) if filled else ()
    return (
        *behind,
        *loop_of(core, pairs, maxima(core), 1),
        *loop_of(core, 1, folded_maximum(core), 1),
        *loop_of(core, pairs, _pair(core), 1),
        *loop_of(core, 4, kept(core), 1),
        *loop_of(core, pairs, _scaled(core), 1),
    )


@lru_cache(maxsize=256)
def _divided(key: ArchitectureKey, unknown: int) -> Loops:
    return divided(key.core, unknown)


def divided(core: Machine, unknown: int) -> Loops:
    """Loops of sixteen rows, whose sums differ by so many bits."""
    return (
        *loop_of(core, LANES - 1, _folded(core), 1),
        *loop_of(core, unknown, _normalised(core), 2),
        *loop_of(core, STEPS, quotient(core), 4),
    )


@lru_cache(maxsize=1024)
def _sums(key: ArchitectureKey, spec: OperandSums) -> tuple[int, Loops]:
    """Cycles of sums over rows of a and columns of b, some tiles together, and their loops."""
    core = key.core
    cycles, loops = 0, list[tuple[int, LoopSchedule]]()
    # Bytes lie in tiles of 4 x 8 and 8 x 8: a vector, and two.
    for tiles, together, words, parts in (
        (spec.m // spec.tiling.m, spec.rows, 1, 2),
        (spec.n // spec.tiling.n, spec.columns, 2, 1),
    ):
        blocks = tiles // together
        body = tuple(_products_with_ones(core, together, words))
        steps = loop_schedule(body, core.product_distance)
        addends = loop_schedule(tuple(_addends(core, parts)), core.move)
        cycles += blocks * (steps.body(spec.k_steps) + addends.body(together))
        loops += [(blocks * spec.k_steps, steps), (tiles, addends)]
    return cycles, tuple(loops)


def _code_of_sums(loops: Loops, spec: OperandSums) -> int:
    """Bundles of these loops; by single tiles both step with loops of one kind, counted once."""
    single = spec.rows == spec.columns == 1
    return bundles_of(loops[1:] if single else loops)


def _filled(core: Machine) -> Iterator[Operation]:
    """A tile with what lies behind the keys."""
    yield loaded(core, "x")
    yield moved(core, "select", ("x",))
    yield stored("y", "select")


def maxima(core: Machine, bank: str = LOCAL) -> Iterator[Operation]:
    """Two tiles compared with the greatest so far, each with its own."""
    for half in range(2):
        yield loaded(core, f"x{half}", bank)
        yield Operation("compare", f"most{half}", (MOVE,), (f"x{half}",), f"most{half}", core.move)


def folded_maximum(core: Machine) -> Iterator[Operation]:
    """Eight columns into one, and that eight times: two transposes around three halvings."""
    return in_turn(core, ("join", "turn", "s0", "m0", "s1", "m1", "s2", "m2", "back"))


def distances(core: Machine, bank: str = LOCAL) -> Iterator[Operation]:
    """Two tiles: distances of four rows of sixteen, which tables are read by."""
    for half in range(2):
        yield loaded(core, f"x{half}", bank)
        yield moved(core, f"distance{half}", (f"x{half}",))
    for half in range(2):
        yield moved(core, f"rows{half}", ("distance0", "distance1"))


def _pair(core: Machine) -> Iterator[Operation]:
    """Two tiles: distances looked up, summed, kept."""
    yield from distances(core)
    for row in range(4):
        yield from looked_up(f"rows{row // 2}", f"e{row}", core)
        for half in range(2):
            name = f"sum{row}{half}"
            yield Operation("multiply", name, (VECTOR,), (f"e{row}",), f"s{row}", core.product)
        for word in range(2):
            yield stored(f"e{row}{word}", f"e{row}")


def kept(core: Machine, bank: str = LOCAL) -> Iterator[Operation]:
    """A row's sums as 32 bits."""
    for word in range(2):
        yield Operation("srs", f"sum{word}", (STORE,), (), f"sum{word}", core.srs)
        yield stored(f"y{word}", f"sum{word}", bank)


def _folded(core: Machine) -> Iterator[Operation]:
    """Two rows' sums in turns, halved; each row's are loaded once, two words."""
    for word in range(2):
        yield loaded(core, f"x{word}")
    for half in ("low", "high"):
        yield moved(core, half, ("x0", "x1"))
    yield moved(core, "add", ("low", "high"))


def _normalised(core: Machine) -> Iterator[Operation]:
    """One bit less where there are more than fifteen."""
    yield moved(core, "over", ())
    yield moved(core, "half", ())
    yield moved(core, "kept", ("over", "half"))
    yield moved(core, "more", ())
    yield moved(core, "shift", ("over", "more"))


def _scaled(core: Machine) -> Iterator[Operation]:
    """Sixteen exponentials of four rows, each times its row's factor, stored as two tiles."""
    for row in range(4):
        words = tuple(f"e{row}{word}" for word in range(2))
        for word in words:  # load A shares a port with what rounds
            yield Operation("load", word, (LOAD_B, LOAD_A), (), word, core.load, LOCAL, WORD)
        product = f"product{row}"
        for half in range(2):
            yield Operation("multiply", f"p{row}{half}", (VECTOR,), words, product, core.product)
        yield Operation("srs", f"round{row}", (STORE,), (product,), f"steps{row}", core.srs)
        yield moved(core, f"moved{row}", (f"steps{row}",))
    for half in range(2):
        both = f"moved{2 * half}", f"moved{2 * half + 1}"
        yield Operation("copy", f"pack{half}", (STORE,), both, f"packed{half}", core.move)
    for half in range(2):
        yield moved(core, f"tile{half}", ("packed0", "packed1"))
        yield stored(f"y{half}", f"tile{half}")


def _products_with_ones(core: Machine, tiles: int, words: int) -> Iterator[Operation]:
    """A step of so many tiles' sums, each of so many vectors."""
    for tile in range(tiles):
        names = tuple(f"x{tile}{word}" for word in range(words))
        for name in names:
            yield loaded(core, name, "A")
        yield Operation("product", f"sum{tile}", (VECTOR,), names, f"sum{tile}", core.product)


def _addends(core: Machine, parts: int) -> Iterator[Operation]:
    """Sums times a zero point, sixteen at a time: a product of 32 by 16 bits is two."""
    for part in range(parts):
        yield moved(core, f"sum{part}", ())
        for piece in range(2):
            name = f"p{part}{piece}"
            yield Operation(
                "multiply", name, (VECTOR,), (f"sum{part}",), f"wide{part}", core.product
            )
        for word in range(2):
            name = f"y{part}{word}"
            yield Operation("srs", name, (STORE,), (f"wide{part}",), name, core.srs)
            yield stored(f"{name}.store", name)
