"""Operations of kernels that work lane by lane, and of tiles that lie where a table says.

Tiles of x that need not be aligned are read as one word more than they have, and shifted into
place (two vectors of 512 bits give one). The table's entry is a scalar load a step. What aie_api
does for `load_unaligned_v` on a core is not documented: this is the least that it can be.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from math import ceil

from match_aie.targets.aie_ml.schedule.kernel import ELEMENT_BYTES, Kernel
from match_aie.targets.aie_ml.schedule.machine import LOAD_A, LOAD_B, MOVE, STORE, VECTOR, Machine
from match_aie.targets.aie_ml.schedule.operation import WORD, Operation
from match_aie.targets.aie_ml.tilings import LANES

#: Bytes of one shift's result.
SHIFTED = 64


def load(name: str, bank: str, core: Machine, size: int, reads: tuple[str, ...] = ()) -> Operation:
    """Through load B where it is free.

    Load A is also the only way in for accumulators, and shares its write port with the rounding of
    the store slot.
    """
    return Operation("load", name, (LOAD_B, LOAD_A), reads, name, core.load, bank, size)


def table_entry(core: Machine) -> Operation:
    """Where the tiles of a step lie, from their origins."""
    return Operation("scalar_load", "entry", (LOAD_B, LOAD_A), (), "o", core.load, "S", 4)


def gathered(tile: str, size: int, core: Machine) -> Iterator[Operation]:
    """Loads of one tile of x that lies anywhere, and the shifts that put it into vectors."""
    words = ceil(size / core.load_bytes) + 1
    loaded = tuple(f"{tile}.u{part}" for part in range(words))
    for name in loaded:
        yield load(name, "A", core, core.load_bytes, ("o",))
    for part, name in enumerate(_shifted(tile, size)):
        wanted = loaded[2 * part : 2 * part + 3]
        yield Operation("shuffle", f"shift{part}", (MOVE,), wanted, name, core.move)


def _shifted(tile: str, size: int) -> tuple[str, ...]:
    """Vectors that shifts give: of 512 bits ("d") where the tile has as many."""
    letter = "d" if size >= SHIFTED else "a"
    return tuple(f"{letter}{tile[1:]}.{part}" for part in range(ceil(size / SHIFTED)))


def vectors(tile: str, size: int, kernel: Kernel, core: Machine) -> tuple[str, ...]:
    """Names under which a tile of x is read."""
    if kernel.gathered:
        return _shifted(tile, size)
    return tuple(f"{tile}.{part}" for part in range(ceil(size / core.load_bytes)))


def lane_step(kernel: Kernel, core: Machine) -> tuple[Operation, ...]:
    """One tap of a depthwise convolution, an average or a maximum."""
    t = kernel.tiling
    a_bytes = t.m * t.n * ELEMENT_BYTES[kernel.a]
    w_bytes = t.m * t.n * ELEMENT_BYTES[kernel.w]
    ops = [table_entry(core)]
    for i in range(kernel.rows):
        for j in range(kernel.columns):
            ops += gathered(f"a{i}_{j}", a_bytes, core)
    weights: dict[int, tuple[str, ...]] = {j: () for j in range(kernel.columns)}
    if kernel.operation == "multiply":
        for j in weights:
            names = tuple(f"w{j}.{part}" for part in range(ceil(w_bytes / core.load_bytes)))
            weights[j] = names
            ops += [load(name, "W", core, min(core.load_bytes, w_bytes)) for name in names]
    pieces = ceil(t.m * t.n * kernel.accumulator_bits / 1024)
    for part in range(pieces if kernel.operation != "pool" else ceil(a_bytes / SHIFTED)):
        for i in range(kernel.rows):
            for j in range(kernel.columns):
                reads = (*vectors(f"a{i}_{j}", a_bytes, kernel, core), *weights[j])
                ops.append(_lane(f"p{part}", reads, f"c{i}.{j}", kernel, core))
    return tuple(ops)


def _lane(
    name: str, reads: tuple[str, ...], target: str, kernel: Kernel, core: Machine
) -> Operation:
    if kernel.operation == "pool":
        return Operation("compare", name, (MOVE,), reads, target, core.move)
    return Operation("product", name, (VECTOR,), reads, target, core.product, "", WORD)


def add_step(kernel: Kernel, core: Machine) -> tuple[Operation, ...]:
    """Two vectors, each widened where it is narrow, times their factors."""
    size = kernel.tiling.n * ELEMENT_BYTES[kernel.a]
    ops = []
    for number, (letter, bank) in enumerate((("a", "A"), ("w", "W"))):
        names = tuple(f"{letter}0.{part}" for part in range(ceil(size / core.load_bytes)))
        ops += [load(name, bank, core, min(core.load_bytes, size)) for name in names]
        if ELEMENT_BYTES[kernel.a] == 1:
            wide = f"d{letter}.wide"
            ops.append(Operation("shuffle", "unpack", (MOVE,), names, wide, core.move))
            names = (wide,)
        name = f"p{number}"
        ops.append(Operation("product", name, (VECTOR,), names, "c0.0", core.product, "", WORD))
    return tuple(ops)


def kept(name: str, kernel: Kernel, core: Machine) -> Iterator[Operation]:
    """Stores of a maximum, which is a vector already."""
    whole = kernel.tiling.m * kernel.tiling.n * ELEMENT_BYTES[kernel.out]
    piece = min(whole, core.store_bytes)
    for part in range(ceil(whole / core.store_bytes)):
        yield Operation("store", f"st{part}", (STORE,), (name,), "", 0, "S", piece)


def laned(kernel: Kernel) -> Kernel:
    """Tiles made lane by lane as tiles of one accumulator each; others as they are."""
    t = kernel.tiling
    if not t.lanes:
        return kernel
    rows, columns = t.groups
    one = replace(t, m=t.high, n=t.lanes)
    return replace(kernel, tiling=one, rows=kernel.rows * rows, columns=kernel.columns * columns)


def laned_step(kernel: Kernel, core: Machine) -> tuple[Operation, ...]:
    """Products of 64 lanes: rows of w, each loaded until lanes are full, times repeated elements.

    An element of x is extracted and repeated in 32 lanes by one operation of the move slot
    (llvm-aie, aie2p: VEXTBCST.16), for all columns.
    """
    t = kernel.tiling
    size = t.m * t.k * ELEMENT_BYTES[kernel.a]
    width = min(core.load_bytes, t.lanes * ELEMENT_BYTES[kernel.w])
    halves = range(LANES * ELEMENT_BYTES[kernel.a] // core.load_bytes)
    rows, columns = t.groups
    ops: list[Operation] = []
    for i in range(0 if kernel.upright else kernel.rows):
        for name in vectors(f"a{i}", size, kernel, core):
            ops.append(load(name, "A", core, min(core.load_bytes, size)))
    for at in range(t.k):
        if kernel.upright:
            ops.append(load(f"a{at}.row", "A", core, core.load_bytes))
        weights = [
            tuple(f"w{j}.{at}.{half}" for half in halves) for j in range(kernel.columns * columns)
        ]
        bank = "W" if kernel.weight_banks == 1 else f"W{at % 2}"
        ops += [load(name, bank, core, width) for names in weights for name in names]
        for i in range(kernel.rows * rows):
            read = vectors(f"a{i // rows}", size, kernel, core)
            read = (f"a{at}.row",) if kernel.upright else read
            parts = tuple(f"a{i}.{at}.{half}.repeated" for half in halves)
            for name in parts:
                ops.append(Operation("shuffle", name, (MOVE,), read, name, core.move))
            for j, names in enumerate(weights):
                reads, latency = (*parts, *names), core.float_product
                ops.append(Operation("product", f"p{at}", (VECTOR,), reads, f"c{i}.{j}", latency))
    return tuple(ops)
