"""Register tiles of products on a core with vectors: how many cycles a tile takes.

Modelled, not measured: the least time that the core's ports leave (`Peaks`) for the operations of
the inner loop, or the latency of its chain of sums, whichever is more. This is the port-bound
analysis of K. Goto and R. van de Geijn, "Anatomy of high-performance matrix multiplication", ACM
TOMS 34(3), 2008, and of T. M. Low et al., "Analytical modeling is enough for high-performance
BLIS", ACM TOMS 43(2), 2016.
"""

from __future__ import annotations

from dataclasses import dataclass

from match_aie.cost_models.processor import Dot, Machine

#: Operations of two vectors of sums on their way to bytes: convert, multiply, bound, round (each
#: twice), narrow, add the zero point, saturate, order, store; and the two of different pixels.
REQUANTISE_PAIR = 15.0
REQUANTISE_APART = 18.0
#: Of four vectors side by side (`ma_store_steps4`): convert, multiply, bound, round (four times
#: each), narrow three times, add the zero point twice, saturate, store.
REQUANTISE_FOUR = 23.0
#: The same of two vectors each of two pixels, and of one each of four: with the parts taken out.
REQUANTISE_TWOS = 25.0
REQUANTISE_ONES = 30.0
#: Of a vector of sums that a product takes along, at most: bound and round the result before,
#: multiply, and of what is added load, widen, convert, multiply, add its offset; add.
SUMMED = 11.0
#: Cycles to start a tile: call, addresses, first loads, the end of the loop mispredicted at times.
START = 20.0
#: Share of cycles by which tiles may differ that are alike to the model, an assumption: of them the
#: one that reads the fewest weights from beyond the first cache is taken.
ALIKE = 0.01
#: Instructions of the inner loop beside its vector operations: two pointers, test, jump.
LOOP = 3.0


@dataclass(frozen=True)
class RegisterTile:
    """`rows` pixels by `vectors` of channels, summed in registers."""

    rows: int
    vectors: int


def registers(dot: Dot, tile: RegisterTile) -> int:
    """Vector registers that the inner loop needs: sums, weights, one element, one product."""
    temporary = 1 if dot in ("madd", "plain") else 0
    return tile.rows * tile.vectors + tile.vectors + 1 + temporary


def _fused(machine: Machine, dot: Dot) -> bool:
    """Whether one instruction multiplies and adds: RISC-V's VWMACC does where there are vectors."""
    return dot in ("dpbusd", "sdot") or (machine.family == "riscv64" and machine.lanes > 1)


def step_cycles(machine: Machine, dot: Dot, narrow: bool, tile: RegisterTile) -> float:
    """Cycles of one step of the inner loop: all dot products of the tile.

    Args:
        machine: the core.
        dot: how products are summed.
        narrow: whether weights are widened when they are loaded.
        tile: rows and vectors.
    """
    peaks = machine.peaks
    dots = tile.rows * tile.vectors
    widen = tile.vectors if narrow and dot in ("madd", "plain") else 0
    uops = dots * (1 if _fused(machine, dot) else 2) + widen
    loads = tile.rows + tile.vectors
    instructions = uops + loads - (widen or 0) + LOOP
    chain = peaks.fma_latency if dot in ("dpbusd", "sdot") else 1.0
    spilled = max(0, registers(dot, tile) - machine.vector_registers)
    return max(
        dots / peaks.dots,
        uops / peaks.operations,
        (loads + spilled) / peaks.loads,
        spilled / peaks.stores,
        instructions / peaks.issue,
        chain,
    )


def requantise_operations(machine: Machine, vectors: int) -> float:
    """Of a pixel's `vectors` of sums, four at a time where the processor narrows them so."""
    if machine.family != "x86-64" or machine.lanes == 1:
        pairs, single = divmod(vectors, 2)
        return pairs * REQUANTISE_PAIR + single * REQUANTISE_APART / 2
    fours, left = divmod(vectors, 4)
    pair, single = divmod(left, 2)
    return fours * REQUANTISE_FOUR + pair * REQUANTISE_TWOS / 2 + single * REQUANTISE_ONES / 4


def tile_cycles(
    machine: Machine, dot: Dot, narrow: bool, tile: RegisterTile, steps: float
) -> float:
    """Cycles of a tile of `steps` steps, requantised and stored."""
    inner = steps * step_cycles(machine, dot, narrow, tile)
    outer = tile.rows * requantise_operations(machine, tile.vectors)
    return START + inner + outer / machine.peaks.operations


def best_tile(
    machine: Machine,
    dot: Dot,
    narrow: bool,
    pixels: int,
    columns: int,
    steps: float,
    line_steps: float | None = None,
) -> RegisterTile:
    """The register tile that takes least for `pixels` by `columns` sums of `steps` steps.

    Tiles that overlap the end of a row compute some pixels twice; a last panel may be narrower. A
    panel of weights that takes more than half of the first cache comes from beyond it for every
    tile: where prices are alike, tiles of more rows read it less often.

    Args:
        machine: the core.
        dot: how products are summed.
        narrow: whether weights are widened when they are loaded.
        pixels: of a line, or rows of a matrix.
        columns: channels, or columns of a matrix.
        steps: of the inner loop for one sum.
        line_steps: in a tile of all pixels, where that takes less.
    """
    lanes = machine.lanes
    found = []
    for vectors in range(1, min(8, -(-columns // lanes)) + 1):
        for rows in range(1, min(16, pixels) + 1):
            tile = RegisterTile(rows, vectors)
            if registers(dot, tile) > machine.vector_registers:
                continue
            whole, left = divmod(columns, vectors * lanes)
            taken = steps if line_steps is None or rows < pixels else line_steps
            cycles = whole * tile_cycles(machine, dot, narrow, tile, taken)
            if left:
                last = RegisterTile(rows, -(-left // lanes))
                cycles += tile_cycles(machine, dot, narrow, last, taken)
            found.append((cycles * -(-pixels // rows), -rows * vectors, rows, vectors))
    alike = [one for one in found if one[0] <= min(found)[0] * (1.0 + ALIKE)]

    def far(one: tuple[float, int, int, int]) -> float:
        """Bytes of weights from beyond the first cache."""
        _, _, rows, vectors = one
        panel = steps * vectors * _step_bytes(machine, dot, narrow)
        if panel <= machine.caches[0].bytes / 2:
            return 0.0
        return panel * -(-columns // (vectors * lanes)) * -(-pixels // rows)

    return RegisterTile(*min((far(one), *one) for one in alike)[3:])


def _step_bytes(machine: Machine, dot: Dot, narrow: bool) -> int:
    """Of the weights of a vector of sums, for one step of the inner loop."""
    products = {"dpbusd": 4, "sdot": 4, "madd": 2}.get(dot, 1)
    return machine.lanes * products * (1 if narrow else 2)
