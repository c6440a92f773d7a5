"""A matrix that arrives at run time: how it is packed, and what sums of its products lack.

Where the processor multiplies bytes, x' = x - s and b' = b - t are multiplied, with whatever s and
t bring them to the types that it takes. Of the C products of a sum,

    sum (x' - p) * (b' - q) = sum x' * b' - p * sum b' - q * sum x' + C * p * q

with p and q the zero points of x' and b': the second and the last term are a column's, which its
sums start from, and the third is a row's. All of it is exact modulo 2^32.
"""

from __future__ import annotations

from dataclasses import dataclass

from match_aie.workload import ITEMSIZE, Workload

#: Bytes behind packed data that loads may touch, and what parts of scratch are rounded up to.
SLACK = 64


@dataclass(frozen=True)
class Columns:
    """A matrix packed at run time, of one tile.

    Attributes:
        element: type of packed elements.
        elements: packed.
        subtract: what is subtracted from an element of x1 to pack it.
        zero: what the zero point of x1 becomes.
        x_zero: what the zero point of x becomes; sums of columns are needed where it is not 0.
        starts: columns that sums start from; 0 where they start from 0.
        rows: rows whose sums are added; 0 where none are.
    """

    element: str
    elements: int
    subtract: int
    zero: int
    x_zero: int
    starts: int
    rows: int

    @property
    def starts_at(self) -> int:
        """Bytes from packed elements to what columns start from."""
        return -(-(ITEMSIZE[self.element] * self.elements) // SLACK) * SLACK

    @property
    def rows_at(self) -> int:
        """Bytes from packed elements to what rows add."""
        return self.starts_at + -(-4 * self.starts // SLACK) * SLACK

    @property
    def nbytes(self) -> int:
        """Scratch."""
        if not self.starts and not self.rows:
            return ITEMSIZE[self.element] * self.elements + SLACK
        return self.rows_at + 4 * self.rows + SLACK


def in_bytes(workload: Workload) -> bool:
    """Whether the second matrix of a product is multiplied as signed bytes where x is in bytes."""
    second = workload.operands[1]
    return second.dtype == "int8" or (workload.kind == "matmul" and second.dtype == "uint8")


def columns_of(
    workload: Workload, element: str, x_zero: int, columns: int, steps: int, images: int, rows: int
) -> Columns:
    """How x1 of a matmul is packed.

    Args:
        workload: the matmul.
        element: type of prepared data of x.
        x_zero: what the zero point of x becomes in them.
        columns: of a matrix, rounded up to whole vectors.
        steps: elements of a column, rounded up to whole groups.
        images: matrices of a tile.
        rows: of x, of all images of a tile.
    """
    x1 = workload.operands[1]
    if element == "int16":
        return Columns("int16", columns * steps * images, x1.zero_point, 0, 0, 0, 0)
    subtract = 128 if x1.dtype == "uint8" else 0
    zero = x1.zero_point - subtract
    return Columns(
        element="int8",
        elements=columns * steps * images,
        subtract=subtract,
        zero=zero,
        x_zero=x_zero,
        starts=columns * images if x_zero else 0,
        rows=rows if zero else 0,
    )
