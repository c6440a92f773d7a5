"""A matrix as the array moves it: rows in passes, columns in blocks, blocks one after the other."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Blocks:
    """Blocks of columns of a matrix, those of one pass after those of the other.

    Carried is [passes][blocks][rows][width], of the matrix rows from `row` + pass * `row_step` on
    and columns from `column` + block * `column_step` on. What lies beyond the matrix is 0 on the
    way in and means nothing on the way out. The processor gathers and spreads it.

    Attributes:
        operand: of the workload: "x", "y".
        matrix: rows and columns of the operand, or of some of its rows.
        rows: of a block.
        width: columns of a block.
        row: first one.
        row_step: from pass to pass.
        passes: of the layer.
        column: first one.
        column_step: from block to block.
        blocks: of a pass.
        first: row of the operand where the matrix begins.
    """

    operand: str
    matrix: tuple[int, int]
    rows: int
    width: int
    row: int = 0
    row_step: int = 0
    passes: int = 1
    column: int = 0
    column_step: int = 0
    blocks: int = 1
    first: int = 0

    @property
    def elements(self) -> int:
        """Carried, what lies beyond the matrix included."""
        return self.passes * self.blocks * self.rows * self.width

    @property
    def contiguous(self) -> bool:
        """Whether it is a piece of the matrix as it lies in memory."""
        whole = self.column == 0 and self.width == self.matrix[1] and self.blocks == 1
        follow = self.passes == 1 or self.row_step == self.rows
        return whole and follow and self.row + self.passes * self.rows <= self.matrix[0]

    @property
    def begin(self) -> int:
        """Element of the operand where a contiguous piece begins."""
        return (self.first + self.row) * self.matrix[1]

    def cut(self, tensor: np.ndarray) -> np.ndarray:
        """What goes in, flat, of a tensor of any shape with the same elements."""
        carried = np.zeros((self.passes, self.blocks, self.rows, self.width), tensor.dtype)
        matrix = self._matrix(tensor)
        for at in np.ndindex(self.passes, self.blocks):
            piece = self._piece(matrix, *at)
            carried[at][: piece.shape[0], : piece.shape[1]] = piece
        return carried.reshape(-1)

    def paste(self, carried: np.ndarray, tensor: np.ndarray) -> None:
        """What came out, flat, into `tensor`."""
        blocks = carried.reshape(self.passes, self.blocks, self.rows, self.width)
        matrix = self._matrix(tensor)
        for at in np.ndindex(self.passes, self.blocks):
            piece = self._piece(matrix, *at)
            piece[...] = blocks[at][: piece.shape[0], : piece.shape[1]]

    def _matrix(self, tensor: np.ndarray) -> np.ndarray:
        """The matrix in the operand, a view."""
        rows, columns = self.matrix
        return tensor.reshape(-1, columns)[self.first : self.first + rows]

    def _piece(self, matrix: np.ndarray, number: int, block: int) -> np.ndarray:
        """The matrix's own part of a block, a view."""
        row = self.row + number * self.row_step
        column = self.column + block * self.column_step
        return matrix[row : row + self.rows, column : column + self.width]
