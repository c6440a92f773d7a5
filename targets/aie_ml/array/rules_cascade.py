"""Rules about cascades: which tiles they join, and the order of the words that both ends mean."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from itertools import product, zip_longest

from match_aie.targets.aie_ml.array.program import ArrayProgram, Tile
from match_aie.targets.aie_ml.array.violation import Violation
from match_aie.targets.aie_ml.devices import Device
from match_aie.targets.aie_ml.graph.plan import Call
from match_aie.targets.aie_ml.kernels.nest import Nest
from match_aie.targets.aie_ml.kernels.spec import KernelSpec

#: Cascades along rows, every other one the other way round.
SERPENTINE = "horizontal, serpentine by row"


def cascades(program: ArrayProgram, device: Device) -> Iterator[Violation]:
    """Cascades go to a neighbour in a direction that the array has, one in and one out."""
    steps = {"W->E": (1, 0), "N->S": (0, -1)}
    known = device.architecture.core.cascade_directions
    fixed = {steps[d] for d in known if d in steps}
    sources: set[Tile] = set()
    sinks: set[Tile] = set()
    cores = program.core_at
    for link in program.cascades:
        step = link.sink[0] - link.source[0], link.sink[1] - link.source[1]
        where = f"cascade {link.source} to {link.sink}"
        legal = fixed
        if (
            SERPENTINE in known
        ):  # UG1079: it turns with each row; that the first goes east is recalled
            odd = (link.source[1] - device.shim_rows - device.mem_rows) % 2
            legal = {(-1, 0) if odd else (1, 0)}
        if step not in legal or link.sink not in cores or link.source not in cores:
            yield Violation(where, "links between tiles that have none", 1, 0, "the tile east")
        if link.source in sources or link.sink in sinks:
            yield Violation(where, "cascades at one end of a tile", 2, 1, "another chain")
        sources.add(link.source)
        sinks.add(link.sink)


def cascade_order(program: ArrayProgram, device: Device) -> Iterator[Violation]:
    """A matrix kernel reads each tile of sums from the cascade when the one before it sends that.

    Kernels drain a block's accumulators, and start them, row after row, and so blocks. Functions
    of other kinds have an order of their own, which is not looked at.
    """
    del device
    cores = program.core_at
    for link in program.cascades:
        ends = [cores[tile].function for tile in (link.source, link.sink) if tile in cores]
        if len(ends) < 2 or None in ends:
            continue
        where = f"cascade {link.source} to {link.sink}"
        sent, read = _words(ends[0], sends=True), _words(ends[1], sends=False)
        if sent is None or read is None:
            if sent != read:
                remedy = "first, middle and last tiles in the order of their chain"
                yield Violation(where, "ends that take no sums", 1, 0, remedy)
            continue
        wrong = sum(a != b for a, b in zip_longest(sent, read))
        if wrong:
            remedy = "the same blocks of accumulators, and loops, at both ends"
            yield Violation(where, "tiles of sums that are read for others", wrong, 0, remedy)


def _words(call: Call | None, *, sends: bool) -> tuple[tuple[object, ...], ...] | None:
    """What a function sends in a call of each tile, or reads; None where it does not."""
    specs = [each for each in call.headers if isinstance(each, KernelSpec)] if call else []
    spec = next((s for s in specs if (not s.stores if sends else s.receives)), None)
    if spec is None:
        return None
    loops = tuple(each for each in call.outer if each[1] > 1) if isinstance(call, Nest) else ()
    return (loops, (spec.accumulator, spec.tiling.m, spec.tiling.n), *_tiles(spec))


@lru_cache(maxsize=1024)
def _tiles(spec: KernelSpec) -> tuple[tuple[int, int], ...]:
    """Row and column of each tile of sums, in the order in which a kernel goes through them."""
    m_blocks, n_blocks = spec.blocks
    return tuple(
        (m * spec.rows + i, n * spec.columns + j)
        for m, n, i, j in product(
            range(m_blocks), range(n_blocks), range(spec.rows), range(spec.columns)
        )
    )
