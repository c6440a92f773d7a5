"""How a product of two activations can be cut, and what a cut costs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import cached_property

from match_aie.errors import Infeasible, TargetError
from match_aie.targets.aie_ml.array.assumed import RUNTIME_BYTES
from match_aie.targets.aie_ml.array.local import Demand, logical_banks
from match_aie.targets.aie_ml.array.shapes import FLAT, TALL, counts
from match_aie.targets.aie_ml.graph.layer import zeros_of
from match_aie.targets.aie_ml.graph.matrix_cuts import MatrixCuts, Moved, Parts
from match_aie.targets.aie_ml.graph.product import ProductCut, ProductGraph
from match_aie.targets.aie_ml.kernels.fit import check_kernel
from match_aie.targets.aie_ml.kernels.spec import BYTES
from match_aie.targets.aie_ml.schedule.product import product_schedule
from match_aie.workload import Operand


class ProductCuts(MatrixCuts[ProductCut]):
    """A product of two activations as the search sees it."""

    dims = ("B", "OY", "K", "OY", "K", "C")
    rows_by_columns = (("OY", "K"),)
    made = ProductGraph
    tries = 12
    levers = ("smaller matrices", "run the layer on the Arm core")

    @cached_property
    def _base(self) -> ProductCut:
        """The product on one tile."""
        sizes, (x, x1) = self.workload.sizes, self.workload.inputs
        found = self.device.architecture.core.tilings_of(x.dtype, x1.dtype)
        shapes = [t for t in found if t.native]
        if not shapes:
            raise TargetError(
                f"{self.device.name} has no native product of {x.dtype} by {x1.dtype}"
            )
        best = max(shapes, key=lambda t: t.macs)
        return ProductCut(sizes["B"], (sizes["OY"], sizes["C"], sizes["K"]), best, 1, 1, 1)

    def cut(self, parts: Parts) -> ProductCut:
        """In parts of the batch, of rows and of columns."""
        batch, rows, columns = parts
        return replace(self._base, batch_parts=batch, row_parts=rows, column_parts=columns)

    def splits(self, most: int) -> Iterator[Parts]:
        """Parts of the batch that divide it, then of rows and of columns."""
        base = self._base
        (m, _, n), t = base.sizes, base.tiling
        for batch in (b for b in range(1, min(base.batch, most) + 1) if base.batch % b == 0):
            alone = most // batch if batch == base.batch else 1
            for rows in counts(-(-m // t.m), alone):
                for columns in counts(-(-n // t.n), most // (batch * rows)):
                    yield batch, rows, columns

    def kernels(self, cut: ProductCut) -> Iterator[tuple[int, ProductCut]]:
        """Blocks of accumulators that divide a call, with and without an inner loop."""
        rows, columns = cut.call[0] // cut.tiling.m, cut.call[2] // cut.tiling.n
        for block in (*TALL, *FLAT):
            if rows % block[0] or columns % block[1]:
                continue
            for flat in (True, False):
                made = replace(cut, block=block, flat=flat)
                body = self._body(made)
                if body is not None:
                    yield body, made

    def _tile(self, cut: ProductCut) -> ProductGraph:
        """What says a tile's kernel."""
        return ProductGraph("tile", cut, self.device, self.workload, zeros_of(self.workload))

    def _body(self, cut: ProductCut) -> int | None:
        """Cycles of a call; None where registers or program memory do not suffice."""
        try:
            spec = self._tile(cut).spec
            check_kernel(spec, self.device)
            schedule = product_schedule(spec, self.device.architecture)
        except TargetError:
            return None
        room = self.device.architecture.core.program_memory_bytes - RUNTIME_BYTES
        return schedule.body if schedule.program_bytes <= room else None

    def products(self, cut: ProductCut) -> int:
        """Of all rows with all columns."""
        m, k, n = cut.call
        return m * k * n

    def refuses(self, cut: ProductCut) -> Infeasible | None:
        """What a tile or a memory tile has too little of; nothing where both hold their part."""
        mem = self.device.architecture.mem
        levers = ("more columns for a layer (columns_per_layer)", "run the layer on the Arm core")
        held = tuple((o.name, size) for o, size in zip(self._whole, self._bytes(cut), strict=True))
        most = mem.bytes if mem is not None else 0
        which = max(held, key=lambda each: each[1])
        if which[1] > most:
            what = f"a memory tile for {which[0]}"
            return Infeasible(what, which[1], most, "bytes", levers, held)
        need, (banks, size) = self._demand(cut), logical_banks(self.device)
        if need.plan(banks, size) is not None:
            return None
        parts = (
            ("x, twice", -(-2 * need.inputs // size)),
            ("x1, twice", -(-2 * need.streamed // size)),
            ("y, twice, sums and stack", -(-need.others() // size)),
        )
        taken = sum(much for _, much in parts)
        unit = f"banks of {size} bytes"
        return Infeasible("memory banks of a tile", taken, banks, unit, levers, parts)

    @property
    def _whole(self) -> tuple[Operand, ...]:
        return *self.workload.inputs, self.workload.output

    def _bytes(self, cut: ProductCut, *, call: bool = False) -> tuple[int, int, int]:
        """Of x, x1 and y: all of them as they are padded, or what a call takes."""
        (m, k, n), batch = (cut.call, 1) if call else (cut.padded, cut.batch)
        x, x1, y = (batch * BYTES[o.dtype] for o in self._whole)
        return m * k * x, k * n * x1, m * n * y

    def _demand(self, cut: ProductCut) -> Demand:
        """Bytes of a tile's buffers, as they are laid out."""
        call = self._tile(cut).call
        core = self.device.architecture.core
        numbers = self.device.need(core.stack_default_bytes, "default stack")
        numbers += call.stack_bytes + sum(4 * p.size for p in call.parameters)
        x, x1, y = self._bytes(cut, call=True)
        return Demand(x, 0, x1, y, numbers)

    def moved(self, cut: ProductCut) -> Moved:
        """What a memory tile gathers before it hands it on, where it has too few channels, too."""
        x, x1, y = self._bytes(cut)
        a, b, out = self._bytes(cut, call=True)
        whole = ProductGraph("layer", cut, self.region(cut), self.workload, zeros_of(self.workload))
        around = self.assumed.call(3) + self._demand(cut).stall(self.device)
        return Moved(around, max(a, b), out, max(x, x1), y, whole.handed)

    def ways(self, cut: ProductCut) -> tuple[int, int]:
        """One for each operand."""
        del cut
        return 2, 1
