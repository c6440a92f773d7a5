"""What is known about the chip.

Sources: "paper" is MATCH (M. Risso et al., arXiv:2410.08855), whose DIANA target these figures are;
"DORY" is its DIANA back end (github.com/pulp-platform/dory@be3d6dd). None was measured by us.
Of the analog array: "JSSC" is P. Houshmand et al., "DIANA: An End-to-End Hybrid DIgital and ANAlog
Neural Network SoC for the Edge", JSSC 58(1), 2023, abstract (inputs of 7, weights of 1.5, outputs
of 6 bits); "ISSCC" "DIANA: An End-to-End Energy-Efficient DIgital and ANAlog Hybrid Neural Network
SoC", ISSCC 2022, abstract (1152 x 512 cells); "HTVM" the compiler that runs layers on it
(github.com/KULeuven-MICAS/htvm@132018d).
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Facts:
    """Bytes, bytes per cycle, cycles.

    Attributes:
        lanes: output channels, and output columns, of the array (paper: 16 x 16, K x OX).
        depthwise_channels: of a block of depthwise weights (MATCH's sources).
        activation_bytes: of the memory of activations (paper; DORY uses 256,000 or 128,000).
        weight_bytes: of the memory of weights and offsets (paper).
        l2_bytes: of L2 (paper).
        activation_rate: bytes per cycle from the activation memory (MATCH's sources).
        weight_rate: bytes per cycle from the weight memory: 128 bits (MATCH's sources).
        dma_rate: bytes per cycle between L2 and both (MATCH's sources).
        chunk_cycles: of every contiguous piece that the DMA moves (paper).
        filters: sizes of a filter, square (MATCH's patterns).
        strides: of a convolution (MATCH's patterns).
        most_shift: of the requantisation (MATCH's patterns).
        frequency_hz: that the paper uses; DORY 100 MHz.
        analog_rows: products of one sum of the analog array (ISSCC).
        analog_columns: sums at a time (ISSCC).
        row_block: rows are filled up to a multiple of it (DORY).
        column_block: columns likewise (DORY).
        analog_input_bits: sign and magnitude, so inputs are -63 .. 63 (JSSC; that it is sign and
            magnitude is from an account of the talk at ISSCC, velog.io/@ojy0216).
        converter_bits: of a converted sum (JSSC); HTVM takes clips to -32 .. 31 only.
        analog_register_bits: of what follows the converter: multiplier and addend of each channel,
            then a shift (HTVM).
        conversion_cycles: of one input vector, for all columns. No source that we read says it:
            None.
        converter_gains: sums that a step of the converter may stand for. No source that we read
            says which: None; HTVM takes any constant, and so do we (ASSUMPTION: any whole number).
    """

    lanes: int = 16
    depthwise_channels: int = 4
    activation_bytes: int = 262_144
    weight_bytes: int = 65_536
    l2_bytes: int = 524_288
    activation_rate: float = 64.0
    weight_rate: float = 16.0
    dma_rate: float = 16.0
    chunk_cycles: float = 70.0
    filters: tuple[int, ...] = (1, 3, 5, 7)
    strides: tuple[int, ...] = (1, 2)
    most_shift: int = 31
    frequency_hz: float = 260e6
    analog_rows: int = 1152
    analog_columns: int = 512
    row_block: int = 288
    column_block: int = 128
    analog_input_bits: int = 7
    converter_bits: int = 6
    analog_register_bits: int = 16
    conversion_cycles: float | None = None
    converter_gains: tuple[int, ...] | None = None

    @property
    def cell_bytes(self) -> int:
        """Of all cells, two bits each, and of 512 multipliers and addends in 4 bytes each."""
        return self.analog_rows * self.analog_columns // 4 + 2 * 4 * self.analog_columns


FACTS = Facts()
