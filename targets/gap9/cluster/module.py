"""The cluster as an execution module."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import ClassVar, Literal

import numpy as np

from match_aie.cost_models.pulp_half import is_half
from match_aie.cost_models.pulp_nn import PulpNN
from match_aie.cost_models.pulp_plain import InstructionSet
from match_aie.hardware import (
    Array,
    Blocked,
    Company,
    Concurrent,
    Constants,
    ExecModule,
    Loop,
    Memory,
    OwnArithmetic,
    Packed,
    Pattern,
    Priced,
    Roof,
    Tile,
    TileCostModel,
    Tiled,
)
from match_aie.targets.gap9.cluster.float_patterns import FLOAT_PATTERNS
from match_aie.targets.gap9.cluster.kernels import is_real, kernel_of, template_of
from match_aie.targets.gap9.cluster.packing import pack, scratch_bytes, weight_row_bytes
from match_aie.targets.gap9.cluster.patterns import PATTERNS, RECURRENT_PATTERNS
from match_aie.targets.gap9.cluster.recurrent import recurrent_layouts, whole_layer
from match_aie.targets.gap9.facts import facts
from match_aie.workload import (
    BFLOAT16,
    FLOAT16,
    RECURRENT,
    Converted,
    FixedPoint,
    ShortFloat,
    Workload,
    fixed_norm,
    fixed_softmax,
    in_8_bits,
    refuses_short_products,
    short_float,
    to_fixed_point,
)

#: What layers of float32 are: left to the core; kernels of float32; of these, convolutions and
#: dense layers with products of floats of 16 bits; and recurrent ones of quantised inputs with
#: products of 8 bits.
Floats = Literal["core", "float32", "fp16", "bf16", "int8"]

#: By that word: what these products are of.
SHORT: Mapping[str, ShortFloat] = {"fp16": FLOAT16, "bf16": BFLOAT16}

#: Requantisation in 32-bit registers: the multiplier is an int32, products wrap around, shifts
#: round down. Zero points stay with the inputs (padding is the zero point); `pack` folds them.
ARITHMETIC = FixedPoint(multiplier_bits=31, inputs="centred")

#: Of layers of 16 bits: a sum with its bias, times an unsigned number of 31 bits, in 64; halves go
#: up.
WIDE_ARITHMETIC = FixedPoint(
    multiplier_bits=31,
    max_shift=62,
    bits=64,
    rounding="half_up",
    offset=False,
    inputs="centred",
)

_UNCOUNTED = "its kernel of 16-bit inputs was not counted for plain rv32imc"

#: Kernels keep the upper half of such a product, and shift it once at least.
LEAST_SHIFT = 33

#: A softmax whose bound with products of 32 bits is larger has products of 64.
NARROW_ERROR_LSB = 0.5


class Cluster(ExecModule, Packed, Tiled, OwnArithmetic, Concurrent, Priced):
    """Eight RISC-V cores with 8-bit SIMD, own kernels."""

    name = "cluster"
    arithmetic: ClassVar[Literal["model", "module"]] = "module"

    def __init__(
        self,
        l1_bytes: int | None = None,
        beside: Company | None = None,
        floats: Floats = "core",
        instruction_set: InstructionSet = "xpulp",
    ) -> None:
        """A cluster of GAP9.

        By default it runs no layers of float32: a network's quantised layers might become some,
        where that is modelled faster.

        Args:
            l1_bytes: of L1 for tiles; all that is usable where None.
            beside: as `ExecModule` says.
            floats: which float layers it runs.
            instruction_set: that its cores are modelled with.
        """
        self.beside = beside
        self.floats = floats
        self._plain = instruction_set == "rv32imc"
        known = facts()
        self.memories = (
            Memory(
                "L1",
                l1_bytes or known.memory.l1_usable_bytes,
                bytes_per_cycle=known.dma.bytes_per_cycle,
                double_buffered=None,
                alignment=16,
            ),
            Memory("L2", None, bytes_per_cycle=known.dma.bytes_per_cycle),
        )
        self._cost = PulpNN(
            cores=known.cores.workers,
            banks=known.memory.l1_banks,
            charges=known.energy.charges("cluster"),
            instruction_set=instruction_set,
        )

    def patterns(self) -> Sequence[Pattern]:
        """Every layer kind that there is a kernel for."""
        if self.floats == "core":
            return PATTERNS
        recurrent = RECURRENT_PATTERNS if self.floats == "int8" else ()
        return (*recurrent, *PATTERNS, *FLOAT_PATTERNS)

    def convert(self, workload: Workload, constants: Constants) -> Converted | str:
        """Into 32-bit fixed point; averages that it cannot divide stay in the model's float32.

        Layer norms and softmaxes become integers, with a bound of how far these are from the model.
        """
        if is_real(workload):
            return Converted(_shortened(self.floats, workload, constants), constants, None)
        if workload.kind == "layer_norm":
            return fixed_norm(workload, constants)
        if workload.kind == "softmax":
            return _softmax(workload, constants)
        if workload.kind in RECURRENT:
            return in_8_bits(workload, constants)
        if is_half(workload):
            return _UNCOUNTED if self._plain else _half(workload, constants)
        found = to_fixed_point(workload, constants, ARITHMETIC)
        if isinstance(found, str) and workload.kind == "avg_pool2d":
            return Converted(workload, constants)
        return found

    def shorter(self, workload: Workload) -> Mapping[str, str]:
        """Inputs and results of products of 16 bits in these."""
        short = short_float(workload)
        return {} if short is None else {"x": short.dtype, "y": short.dtype}

    def spatial(self, workload: Workload) -> Sequence[Loop]:
        """Four channels at a time."""
        return self._cost.spatial(workload)

    def cost_model(self, workload: Workload) -> TileCostModel:
        """The kernels' loops in closed form."""
        return self._cost.of(workload)

    def roof(self, workload: Workload) -> Roof | None:
        """All workers' 8-bit dot products, and the DMA between L2 and L1.

        Nothing published says what its FPUs do at most.
        """
        if is_real(workload):
            return None
        known = facts()
        peak = float(known.cluster.peak_macs_per_cycle)
        source = "products: DORY's description of GAP9; DMA: counted on GVSoC"
        return Roof(peak, float(known.dma.bytes_per_cycle), "L2", workload.nbytes, source)

    def template(self, workload: Workload) -> str:
        """By the kernels' argument structures."""
        return template_of(workload)

    def kernel(self, workload: Workload, mapping: object) -> object:
        """What templates cannot read in the layer."""
        del mapping
        return kernel_of(workload)

    def constrain(self, workload: Workload, tile: Tile) -> Array:
        """Recurrent layers are whole: their steps need all of the one before."""
        return whole_layer(workload, tile)

    def reserved_bytes(self, workload: Workload, memory: Memory, tile: Tile) -> Array:
        """im2col scratch of every core."""
        if memory.name != self.memories[0].name:
            return np.zeros_like(next(iter(tile.values())))
        return scratch_bytes(workload, tile)

    def layouts(self, workload: Workload) -> Mapping[str, Blocked]:
        """Weights of an output channel are whole words."""
        if workload.kind in RECURRENT:
            return recurrent_layouts(workload)
        row = weight_row_bytes(workload)
        return {"weight": Blocked.rows(workload.operand("weight"), row)} if row else {}

    def pack(self, workload: Workload, constants: Constants) -> Constants:
        """As `packing.pack` says."""
        return pack(workload, constants)


def _softmax(workload: Workload, constants: Constants) -> Converted:
    """In integers, with products of 32 bits where these are precise enough.

    What integers do not hold (results that are clipped, or finer than a row's integers) stays in
    the model's float32.
    """
    narrow = fixed_softmax(workload, 32, "half_up")
    if isinstance(narrow, Converted) and (narrow.error_lsb or 0.0) < NARROW_ERROR_LSB:
        return narrow
    wide = fixed_softmax(workload, 64, "half_up")
    return Converted(workload, constants) if isinstance(wide, str) else wide


def _shortened(floats: Floats, workload: Workload, constants: Constants) -> Workload:
    """With products of 16 bits, unless a weight is beyond their largest number, or NaN.

    Weights are rounded where they are packed.
    """
    short = SHORT.get(floats)
    if short is None or workload.real is None or refuses_short_products(workload) is not None:
        return workload
    if not np.all(np.abs(constants["weight"]) <= short.largest):
        return workload
    return replace(workload, real=replace(workload.real, precision=short.precision))


def _half(workload: Workload, constants: Constants) -> Converted | str:
    """A product with inputs of 16 bits, or why not.

    Multipliers that need few bits are moved up, with the shift: what they stand for is the same.
    """
    found = to_fixed_point(workload, constants, WIDE_ARITHMETIC)
    if isinstance(found, str):
        return found
    tail, multiplier = found.workload.tail, found.constants["multiplier"].astype(np.int64)
    assert tail is not None
    assert tail.shift is not None
    more = max(0, LEAST_SHIFT - tail.shift)
    if int(multiplier.max()) << more >= 1 << WIDE_ARITHMETIC.multiplier_bits:
        return f"its scales are too large; products are shifted by {LEAST_SHIFT} bits at least"
    changed = replace(found.workload, tail=replace(tail, shift=tail.shift + more))
    fresh = {**found.constants, "multiplier": (multiplier << more).astype(np.int32)}
    return replace(found, workload=changed, constants=fresh)
