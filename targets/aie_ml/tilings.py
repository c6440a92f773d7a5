"""Tiles of a product that a core computes: the vendor's `mmul` shapes, and tiles lane by lane."""

from __future__ import annotations

from dataclasses import dataclass

from match_aie.errors import TargetError

#: Products of one instruction of a tile made lane by lane (aie_api, detail/aie2p: `mac_elem_64`).
LANES = 64


@dataclass(frozen=True)
class Tiling:
    """One `aie::mmul` shape: M x K by K x N; or a tile that is made lane by lane.

    Attributes:
        m: rows of A and C.
        k: columns of A, rows of B.
        n: columns of B and C.
        native: whether one instruction computes it.
        lane_bits: of one sum in the accumulator that the vendor's headers give the shape.
        tag_bits: of the accumulator tag by which the headers know the shape; that of int16 by
            int8 in 4x8x4 says 32 where sums have 64.
        lanes: columns of one product where it is no `mmul` but products lane by lane, else 0:
            parts of rows of B times elements of A, of as many rows of A as fill 64 lanes.
        blocks: whether operands are made block floating point before they are multiplied.
    """

    m: int
    k: int
    n: int
    native: bool
    lane_bits: int = 32
    tag_bits: int = 32
    lanes: int = 0
    blocks: bool = False

    def __post_init__(self) -> None:
        """Refuse what is no shape."""
        if min(self.m, self.k, self.n) < 1:
            raise TargetError(f"mmul shape {self.m}x{self.k}x{self.n} is empty")
        if {self.lane_bits, self.tag_bits} - {32, 48, 64, 80}:
            raise TargetError(f"no accumulator has {self.lane_bits} or {self.tag_bits} bits")
        if self.lanes and (LANES % self.lanes or self.n % self.lanes or self.m % self.high):
            raise TargetError(f"{self.m} rows of {self.n} columns are no vectors of {LANES} lanes")

    @property
    def waits(self) -> bool:
        """Whether its sums take so many registers that a block ends before the next one begins."""
        return self.lanes > 0 or self.blocks

    @property
    def high(self) -> int:
        """Rows of A in one product lane by lane."""
        return LANES // self.lanes

    @property
    def groups(self) -> tuple[int, int]:
        """Accumulators along the rows and the columns of a tile that is made lane by lane."""
        return self.m // self.high, self.n // self.lanes

    @property
    def macs(self) -> int:
        """Multiply-accumulates of one `mmul`."""
        return self.m * self.k * self.n
