"""The analog array as an execution module: ternary weights, inputs of 7 bits, a converter of 6.

A layer's meaning is in `match_aie.workload.analog`. Its noise is not in it: the chip's results vary
around these. So it runs only what a user has asked for, of networks that were made for it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar, Literal

import numpy as np

from match_aie.cost_models.diana_analog import DianaAnalog, sums
from match_aie.hardware import (
    Any,
    Array,
    Blocked,
    Const,
    Constants,
    Converted,
    ExecModule,
    Loop,
    Memory,
    Op,
    OwnArithmetic,
    Packed,
    Pattern,
    Tile,
    Tiled,
    clipped,
    real,
)
from match_aie.targets.diana.facts import FACTS
from match_aie.targets.diana.module import START, WAIT
from match_aie.targets.diana.packing import swap_words
from match_aie.targets.diana.patterns import refuses_filter
from match_aie.workload import Converter, Kind, Workload, to_converter

#: Largest magnitude of an input.
MOST = (1 << FACTS.analog_input_bits - 1) - 1

#: What the array reads and converts.
CONVERTER = Converter(MOST, FACTS.converter_bits, FACTS.analog_register_bits)


def refuses(workload: Workload) -> str | None:
    """Why the array cannot run `workload`, in a sentence; None where it can.

    That weights are ternary is seen later, and inputs are bound by the patterns.
    """
    d, tail = workload.sizes, workload.tail
    types = {operand.dtype for operand in (*workload.data, workload.output)}
    if types != {"int8"} or workload.operand("weight").dtype != "int8":
        return "its tensors and weights are not all int8"
    if workload.operand("x").zero_point:
        return "its input has a zero point; the array reads sign and magnitude, and pads with 0"
    if tail is None or tail.lo not in (-MOST, 0) or tail.hi != MOST:
        bounds = "not" if tail is None else f"to {tail.lo} .. {tail.hi}"
        return f"it clips {bounds}; the array stores -{MOST} .. {MOST} or, as a ReLU, 0 .. {MOST}"
    if workload.kind == "conv2d" and d["G"] > 1:
        return f"it has {d['G']} groups; the array takes one"
    if sums(workload) > FACTS.analog_rows:
        return (
            f"a sum has {sums(workload)} products; the array has {FACTS.analog_rows} rows, and "
            "converts whole sums"
        )
    return refuses_filter(workload)


def _patterns(kind: Kind, operator: str) -> tuple[Pattern, ...]:
    """Layers whose input was clipped to 7 bits, with bias and without."""
    x = Any("x", ("int8",), within=(-MOST, MOST))
    product = Op(operator, real(x), real(Const("weight")))
    biased = Op("quantize", Op("add", product, real(Const("bias"))))
    both = (("_bias", biased), ("", Op("quantize", product)))
    return tuple(p for name, s in both for p in clipped(f"analog_{kind}{name}", kind, s, refuses))


PATTERNS = (*_patterns("conv2d", "nn.conv2d"), *_patterns("dense", "matmul"))


class AnalogArray(ExecModule, Packed, Tiled, OwnArithmetic):
    """Convolutions and dense layers of one group, whose sums are converted to 6 bits."""

    name = "analog"
    arithmetic: ClassVar[Literal["model", "module"]] = "module"

    def __init__(self, conversion_cycles: float, activation_bytes: int) -> None:
        """Cells beside the memory of activations, and L2 behind a DMA that blocks.

        Cells are written at the DMA's rate, an assumption.
        """
        self.memories = (
            Memory(
                "activations",
                activation_bytes,
                FACTS.activation_rate,
                operands=("x", "y"),
                alignment=16,
            ),
            Memory(
                "cells",
                FACTS.cell_bytes,
                FACTS.weight_rate,
                operands=("weight", "multiplier", "offset"),
                alignment=16,
            ),
            Memory(
                "L2",
                FACTS.l2_bytes,
                FACTS.dma_rate,
                transfer_cycles=WAIT,
                chunk_cycles=FACTS.chunk_cycles,
            ),
        )
        columns, rows = FACTS.column_block, FACTS.row_block
        self._cost = DianaAnalog(conversion_cycles, columns, rows, START)

    def patterns(self) -> Sequence[Pattern]:
        """Layers whose input was clipped to 7 bits."""
        return PATTERNS

    def convert(self, workload: Workload, constants: Constants) -> Converted | str:
        """The layer behind a converter of 6 bits, and how far that may be off."""
        return to_converter(workload, constants, CONVERTER)

    def spatial(self, workload: Workload) -> Sequence[Loop]:
        """A block of columns."""
        return self._cost.spatial(workload)

    def cost_model(self, workload: Workload) -> DianaAnalog:
        """Conversions; see `match_aie.cost_models.diana_analog`."""
        del workload
        return self._cost

    def constrain(self, workload: Workload, tile: Tile) -> Array:
        """No more output channels than there are columns."""
        del workload
        return np.asarray(tile["K"] <= FACTS.analog_columns)

    def template(self, workload: Workload) -> str:
        """One for all."""
        del workload
        return "diana/analog.c.mako"

    def kernel(self, workload: Workload, mapping: object) -> int:
        """Sums that a step of the converter stands for."""
        del mapping
        return int(workload.parameter("gain"))

    def layouts(self, workload: Workload) -> Mapping[str, Blocked]:
        """Blocks of columns."""
        return {
            o.name: Blocked.rows(o, self._cost.block_bytes(workload, o.name), FACTS.column_block)
            for o in workload.constants
        }

    def pack(self, workload: Workload, constants: Constants) -> Constants:
        """As `pack_ternary` and `pack_numbers` say."""
        del workload
        return {
            "weight": pack_ternary(constants["weight"]),
            **{name: pack_numbers(constants[name]) for name in ("multiplier", "offset")},
        }


def _blocks(values: np.ndarray) -> np.ndarray:
    """[channels, ...] as [blocks, columns, ...], zeros behind the last channel."""
    short = -len(values) % FACTS.column_block
    filled = np.pad(values, ((0, short), *[(0, 0)] * (values.ndim - 1)))
    return filled.reshape(-1, FACTS.column_block, *values.shape[1:])


def pack_ternary(weight: np.ndarray) -> np.ndarray:
    """Weights of -1, 0, 1, [K, ...], as [blocks, bytes]: rows of two planes of bits.

    A row of cells holds what a product of each sum is multiplied by, in the order of the filter's
    rows, columns and input channels: first a bit for every column with 1, then one for every column
    with -1, the first column's the highest of a 32-bit word. Rows are filled up with zeros. From
    DORY's sources, read there, not tried on a chip; it also reverses rows and changes signs of some
    columns, as the cells are wired, which a binding to the chip would have to do.
    """
    blocks = _blocks(weight.reshape(len(weight), -1))
    short = -blocks.shape[2] % FACTS.row_block
    rows = np.pad(blocks, ((0, 0), (0, 0), (0, short))).transpose(0, 2, 1)
    planes = np.stack([rows == 1, rows == -1], axis=2)
    bits = np.packbits(planes, axis=-1).view(np.int8)
    return swap_words(bits.reshape(len(bits), -1))


def pack_numbers(numbers: np.ndarray) -> np.ndarray:
    """int32 [K] as int8 [blocks, bytes]: a little-endian word each."""
    words = np.ascontiguousarray(_blocks(numbers), "<i4")
    return words.view(np.int8).reshape(len(words), -1)
