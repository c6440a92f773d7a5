"""The operations of a kernel's block: what is issued, what it reads and what it writes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from math import ceil, prod

from match_aie.errors import TargetError
from match_aie.targets.aie_ml.devices import pair_name
from match_aie.targets.aie_ml.schedule.blocks import WIDENED, blocked_step
from match_aie.targets.aie_ml.schedule.clips import bounds, clip
from match_aie.targets.aie_ml.schedule.kernel import BY_COLUMN, ELEMENT_BYTES, NARROW, Kernel
from match_aie.targets.aie_ml.schedule.lanes import (
    add_step,
    gathered,
    kept,
    lane_step,
    laned,
    laned_step,
    load,
    table_entry,
    vectors,
)
from match_aie.targets.aie_ml.schedule.machine import LOAD_A, MOVE, STORE, VECTOR, Machine
from match_aie.targets.aie_ml.schedule.operation import WORD, Operation


@dataclass(frozen=True)
class Block:
    """Operations of one block of accumulators.

    Attributes:
        step: of one step of the reduction; values "a..." and "w..." are of that step.
        start: that give the accumulators their first values.
        finish: that bring the sums out, in chains, one chain an accumulator tile.
        sums: names of the accumulators, in the order of their products in a step.
        first_adds: whether the first product adds to a started accumulator.
        width: registers that a value takes, in accumulators or vectors, by its name's first letter.
    """

    step: tuple[Operation, ...]
    start: tuple[Operation, ...]
    finish: tuple[tuple[Operation, ...], ...]
    sums: tuple[str, ...]
    first_adds: bool
    width: dict[str, float] = field(default_factory=dict)


def products_per_tile(kernel: Kernel, core: Machine) -> int:
    """Native products of one `mmul`: the best cover of its shape with native ones.

    Of integers without native ones as many as the rate of the pair says.

    Raises:
        TargetError: the pair has no native shape on this core, and no rate.
    """
    t, pair = kernel.tiling, pair_name(*kernel.pair)
    shapes = core.native.get(pair, ())
    if not shapes and pair in core.macs and not kernel.floating:
        return ceil(t.macs / core.macs[pair])
    covers = [
        prod(ceil(size / part) for size, part in zip((t.m, t.k, t.n), shape, strict=True))
        for shape in shapes
    ]
    if not covers:
        raise TargetError(f"{core.name} has no native product of {kernel.a} by {kernel.w}")
    return min(covers)


def block_operations(kernel: Kernel, core: Machine) -> Block:
    """All operations of a block of `kernel` on `core`."""
    step, kernel = _step(kernel, core), laned(kernel)
    sums = tuple(f"c{i}.{j}" for i in range(kernel.rows) for j in range(kernel.columns))
    bits = kernel.tiling.m * kernel.tiling.n * kernel.accumulator_bits
    return Block(
        step=step,
        start=tuple(op for name in sums for op in _start(name, kernel, core)),
        finish=tuple(tuple(_finish(name, kernel, core)) for name in sums),
        sums=sums,
        first_adds=kernel.starts,
        width={"c": bits / core.accumulator_bits, "t": 1.0, WIDENED: 1.0},
    )


def _step(kernel: Kernel, core: Machine) -> tuple[Operation, ...]:
    if kernel.operation == "add":
        return add_step(kernel, core)
    if kernel.operation != "mmul":
        return lane_step(kernel, core)
    if kernel.tiling.lanes:
        return laned_step(kernel, core)
    if kernel.tiling.blocks:
        return blocked_step(kernel, core)
    return (*_loads(kernel, core), *_products(kernel, core))


def _loads(kernel: Kernel, core: Machine) -> Iterator[Operation]:
    t = kernel.tiling
    a_bytes = t.m * t.k * ELEMENT_BYTES[kernel.a]
    w_bytes = t.k * t.n * ELEMENT_BYTES[kernel.w]
    if kernel.gathered:
        yield table_entry(core)
    for i in range(kernel.rows):
        if kernel.gathered:
            yield from gathered(f"a{i}", a_bytes, core)
            continue
        for name in vectors(f"a{i}", a_bytes, kernel, core):
            yield load(name, "A", core, min(core.load_bytes, a_bytes))
    for j in range(kernel.columns):
        for part in range(ceil(w_bytes / core.load_bytes)):
            name = f"w{j}.{part}"
            bank = "W" if kernel.weight_banks == 1 else f"W{(part + j) % 2}"
            yield load(name, bank, core, min(core.load_bytes, w_bytes))
        if kernel.halved:
            loaded = tuple(f"w{j}.{part}" for part in range(ceil(w_bytes / core.load_bytes)))
            for half in HALVES:
                yield Operation("shuffle", half, (MOVE,), loaded, f"d{j}.{half}", core.move)


def _products(kernel: Kernel, core: Machine) -> Iterator[Operation]:
    t = kernel.tiling
    parts = products_per_tile(kernel, core)
    a_bytes = t.m * t.k * ELEMENT_BYTES[kernel.a]
    loads_w = ceil(t.k * t.n * ELEMENT_BYTES[kernel.w] / core.load_bytes)
    latency = core.float_product if kernel.floating else core.product
    for part in range(parts):
        for i in range(kernel.rows):
            for j in range(kernel.columns):
                weights = tuple(f"w{j}.{n}" for n in range(loads_w))
                if kernel.halved:
                    weights = (f"d{j}.{HALVES[part % 2]}",)
                reads = *vectors(f"a{i}", a_bytes, kernel, core), *weights
                yield Operation("product", f"p{part}", (VECTOR,), reads, f"c{i}.{j}", latency)


#: What shuffles tell apart of 32-bit weights, for products of 16 bits.
HALVES = ("high", "low")

#: Bits of sums that are begun at once; wider accumulators repeat them.
WIDEST_START = 1024


def _start(name: str, kernel: Kernel, core: Machine) -> Iterator[Operation]:
    """Bias a row at a time, the same row for all rows of a tile; earlier or the cascade's sums."""
    t = kernel.tiling
    size = t.m * t.n * kernel.accumulator_bits // 8
    if kernel.cascade_in:
        for part in range(ceil(size / core.cascade_bytes)):
            yield Operation(
                "cascade_read", f"in{part}", (LOAD_A,), (), name, core.cascade_read, "", size
            )
    elif kernel.resumes or kernel.adds:
        waiting = ELEMENT_BYTES[kernel.out] if kernel.adds or kernel.rounded else 4
        latency = _resume_latency(8 * waiting, kernel, core)
        for part in range(ceil(t.m * t.n * waiting / core.load_bytes)):
            where = latency, "S", core.load_bytes
            yield Operation("load_accumulator", f"sum{part}", (LOAD_A,), (), name, *where)
    elif kernel.operation == "add":
        yield Operation("copy", "bias", (MOVE,), (), name, core.move)
    elif kernel.bias and kernel.variant == "exposed":
        yield from _copied_bias(name, kernel, core)
    elif kernel.bias and core.widens is not None:
        for part in range(_bias_words(kernel, core)):
            row = f"fb{name[1:]}.{part}"
            yield load(row, kernel.numbers_bank, core, WORD)
            yield Operation("copy", f"bias{part}", (MOVE,), (row,), name, core.widens)
    elif kernel.bias:
        for part in range(_bias_words(kernel, core)):
            where = core.load, kernel.numbers_bank, min(core.load_bytes, 4 * t.n)
            yield Operation("load_accumulator", f"bias{part}", (LOAD_A,), (), name, *where)


def _copied_bias(name: str, kernel: Kernel, core: Machine) -> Iterator[Operation]:
    """One row of bias a column of tiles, repeated in a register and copied to each accumulator.

    What loads do that are not of accumulators: a row is doubled until it fills a vector of 512
    bits, which is a half of the sums of 32 bits, or is widened to sums of 64.
    """
    t, column = kernel.tiling, name.partition(".")[2]
    row, vector = t.n * 4, 2 * core.load_bytes
    value = f"fb{column}"
    if name.startswith("c0."):
        yield load(value, "S", core, min(row, WORD))
    while row < min(vector, t.m * t.n * 4):
        row *= 2
        doubled = f"fb{column}.{row}"
        if name.startswith("c0."):
            yield Operation("shuffle", "double", (MOVE,), (value,), doubled, core.move)
        value = doubled
    for part in range(ceil(t.m * t.n * 4 / vector)):
        yield Operation("copy", f"bias{part}", (MOVE,), (value,), name, core.move)


def _bias_words(kernel: Kernel, core: Machine) -> int:
    """Words of bias of one tile: a row of it for every row, of the first part where all are alike.

    A bias by rows is loaded for all parts, and its addends beside it.
    """
    t = kernel.tiling
    if t.lanes:
        return ceil(4 * t.m * t.n / core.load_bytes)
    lanes = min(t.m * t.n, WIDEST_START // kernel.accumulator_bits)
    row = ceil(t.n * 4 / core.load_bytes)
    by_rows = kernel.row_bias or kernel.border_bias
    parts = t.m * t.n // lanes if by_rows else 1
    addends = ceil(lanes * 4 / core.load_bytes) if kernel.row_bias else 0
    return parts * (lanes // t.n * row + addends)


def _resume_latency(bits: int, kernel: Kernel, core: Machine) -> int:
    """Of sums that wait with so many bits; wider accumulators are filled through the up-shift."""
    if kernel.accumulator_bits == bits:
        return core.load
    if core.load_up is None:
        raise TargetError(f"latency of a load that widens is not known of {core.name}")
    return core.load_up


def _finish(name: str, kernel: Kernel, core: Machine) -> Iterator[Operation]:
    t, tag = kernel.tiling, name[1:]
    size = t.m * t.n * kernel.accumulator_bits // 8
    if kernel.cascade_out:
        for part in range(ceil(size / core.cascade_bytes)):
            yield Operation("cascade_write", f"out{part}", (STORE,), (name,), bytes=size)
        return
    if kernel.operation == "pool":
        yield from kept(name, kernel, core)
        return
    if kernel.requantise == "none":
        yield from _whole(name, kernel, core)
        return
    if kernel.requantise != "shift":
        yield from _multiply(name, kernel, core)
    whole = t.m * t.n * ELEMENT_BYTES[kernel.out]
    piece = min(whole, core.store_bytes)
    for part in range(ceil(whole / core.store_bytes)):
        result = f"v{tag}.{part}"
        if kernel.requantise == "shift":
            yield Operation("srs", f"srs{part}", (STORE,), (name,), result, core.srs, "", piece)
        for bound in bounds(kernel):
            clipped = tuple(clip(bound, tag, part, result, kernel, core))
            yield from clipped
            result = clipped[-1].writes
        yield Operation("store", f"st{part}", (STORE,), (result,), "", 0, "S", piece)


def _whole(name: str, kernel: Kernel, core: Machine) -> Iterator[Operation]:
    """Sums stored with 32 bits; wider ones are rounded to them, and ReLU needs a vector."""
    tag = name[1:]
    whole = kernel.tiling.m * kernel.tiling.n * 4
    piece = min(whole, core.store_bytes)
    for part in range(ceil(whole / core.store_bytes)):
        if kernel.accumulator_bits == 32 and not kernel.relu:
            yield Operation("store_accumulator", f"st{part}", (STORE,), (name,), "", 0, "S", piece)
            continue
        result = f"v{tag}.{part}"
        if kernel.accumulator_bits == 32:
            yield Operation("copy", f"move{part}", (MOVE,), (name,), result, core.move)
        else:
            yield Operation("srs", f"srs{part}", (STORE,), (name,), result, core.srs, "", piece)
        if kernel.relu:
            largest = f"x{tag}.{part}"
            yield Operation("maximum", "relu", (MOVE,), (result,), largest, core.move)
            result = largest
        yield Operation("store", f"st{part}", (STORE,), (result,), "", 0, "S", piece)


def _multiply(name: str, kernel: Kernel, core: Machine) -> Iterator[Operation]:
    """Sums as 32-bit vectors times a multiplier into 64-bit accumulators, then rounded.

    As many sums go together as 64-bit lanes fit an accumulator (16 on AIE-ML).
    """
    t = kernel.tiling
    tag = name[1:]
    lanes = core.accumulator_bits // 64
    parts = ceil(t.m * t.n / lanes)
    results = ceil(t.m * t.n * ELEMENT_BYTES[kernel.out] / core.store_bytes)
    for part in range(parts):
        # Sums of 32 bits only change registers; wider ones are rounded.
        narrowed = lanes * 4 if kernel.accumulator_bits == 64 else 0
        yield Operation(
            "srs", f"wide{part}", (STORE,), (name,), f"y{tag}.{part}", core.srs, "", narrowed
        )
    loaded: list[str] = []
    by_column = (kernel.requantise in BY_COLUMN, kernel.addends)
    words = max(1, 16 // t.n) * ceil(t.n * 4 / WORD)
    for what, wanted in zip("mb", by_column, strict=True):
        for part in range(words if wanted else 0):
            loaded.append(f"f{tag}.{what}{part}")
            yield load(loaded[-1], kernel.numbers_bank, core, WORD)
    factors = tuple(name for name in loaded if ".m" in name)
    addends = tuple(name for name in loaded if ".b" in name)
    halves: tuple[str, ...] = ("low",) if kernel.requantise in NARROW else ("high", "low")
    for end in halves:
        name = f"y{tag}.f.{end}"
        yield Operation("shuffle", f"f.{end}", (MOVE,), factors, name, core.move)
    for part in range(parts):
        scaled = f"t{tag}.{part}"
        yield from _wide_product(tag, part, halves, addends, lanes, core)
        half = f"h{tag}.{part}"
        narrow = WORD * ceil(lanes / 16 * ceil(16 * ELEMENT_BYTES[kernel.out] / WORD))
        yield Operation("srs", f"srs{part}", (STORE,), (scaled,), half, core.srs, "", narrow)
    for result in range(results):
        rounded = [f"h{tag}.{p}" for p in range(parts) if p * results // parts == result]
        target = f"v{tag}.{result}"
        yield Operation("shuffle", "join", (MOVE,), tuple(rounded), target, core.move)


def _wide_product(
    tag: str,
    part: int,
    halves: tuple[str, ...],
    addends: tuple[str, ...],
    lanes: int,
    core: Machine,
) -> Iterator[Operation]:
    """One product of 32-bit integers: of the halves of both, which shuffles tell apart.

    So does the vendor's `mul_elem_16_2` of int32 by int32 into acc64, which `aie::mac` calls. The
    factor is the same for all parts of a tile, and told apart once; one of 16 bits has one of the
    `halves`.
    """
    scaled = f"t{tag}.{part}"
    before: tuple[str, ...] = ()
    for first in ("high", "low"):
        half = f"y{tag}.{part}.{first}"
        yield Operation(
            "shuffle", f"s{part}.{first}", (MOVE,), (f"y{tag}.{part}",), half, core.move
        )
        for second in halves:
            last = (first, second) == ("low", "low")
            reads = (half, f"y{tag}.f.{second}", *before, *(addends if last else ()))
            target = scaled if last else f"{scaled}.{first}.{second}"
            latency = core.product if last else core.product_distance
            name = f"m{part}.{first}.{second}"
            yield Operation("multiply", name, (VECTOR,), reads, target, latency, "", 2 * lanes)
            before = (target,)
