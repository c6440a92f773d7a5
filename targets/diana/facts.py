"""What is known about the chip.

Sources: "paper" is MATCH (M. Risso et al., arXiv:2410.08855), whose DIANA target these figures are;
"DORY" is its DIANA back end (github.com/pulp-platform/dory). None was measured by us.
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


FACTS = Facts()
