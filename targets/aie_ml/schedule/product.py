"""The schedule of a product of two activations, with the sums that its zero points need."""

from __future__ import annotations

from dataclasses import dataclass

from match_aie.targets.aie_ml.devices import Architecture
from match_aie.targets.aie_ml.kernels.spec import KernelSpec
from match_aie.targets.aie_ml.schedule.call import schedule_call
from match_aie.targets.aie_ml.schedule.generated import schedule_of
from match_aie.targets.aie_ml.schedule.kernel import ELEMENT_BYTES, Kernel
from match_aie.targets.aie_ml.schedule.scheduled import Scheduled


@dataclass(frozen=True)
class ProductSchedule:
    """The product after the sums of its operands, in one function; cycles are modelled.

    Attributes:
        body: cycles from the first load to the last store.
        program_bytes: estimate of the program memory taken.
    """

    body: int
    program_bytes: int
    reads: tuple[int, ...] = ()
    writes: tuple[int, ...] = ()


def product_schedule(spec: KernelSpec, arch: Architecture) -> Scheduled:
    """Modelled cycles of one call of `kernels.product.ProductCall`.

    A sum over an operand is a product with ones, its results multiplied by a zero point and stored
    with 32 bits, of which the schedule has 16: the others are counted beside it. The ones stay in
    registers; the schedule loads them, which makes it no shorter than the source's.

    Raises:
        TargetError: registers do not suffice, or facts are missing.
    """
    product, t = schedule_of(spec, arch), spec.tiling
    if not spec.row_bias:
        return product
    sums = Kernel(
        spec.a,
        spec.b,
        "int16",
        t,
        rows=spec.rows,
        columns=1,
        bias=False,
        relu=False,
        # Zero points of bytes have 16 bits.
        requantise="narrow" if ELEMENT_BYTES[spec.a] == 1 else "multiplier",
    )
    rows = schedule_call(sums, arch, spec.m, spec.k, t.n)
    columns = schedule_call(sums.block(1, spec.columns), arch, t.m, spec.k, spec.n)
    parts = (rows, columns, product)
    stores = -(-2 * (spec.m * t.n + spec.n) // product.core.store_bytes)
    body = sum(part.body for part in parts) + stores
    return ProductSchedule(body, sum(part.program_bytes for part in parts))
