"""A matrix as the array moves it: rows in passes, columns in blocks, blocks one after the other."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Blocks:
    """Blocks of columns of a matrix, those of one pass after those of the other.

    Carried is [passes][blocks][rows][width], of the matrix rows from `row` + pass * `row_step` on
    and columns from `column` + block * `column_step` on. What lies beyond the matrix is 0 on the
    way in and means nothing on the way out. The processor gathers and spreads it, or a DMA goes
    through the operand itself, with steps (`memory`).

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
        memory: the tensor through which a DMA goes itself. What lies beyond the columns is then
            what follows in memory, and 0 behind the tensor. Empty where the processor gathers.
        turn: passes over the rows before they begin again in columns that are `turn_step` further;
            0 where they do not. No DMA goes so itself.
        turn_step: columns.
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
    memory: str = ""
    turn: int = 0
    turn_step: int = 0

    @property
    def inside(self) -> bool:
        """Whether nothing lies beyond the matrix."""
        last = self.row + ((self.turn or self.passes) - 1) * self.row_step + self.rows
        return last <= self.matrix[0] and self.within

    @property
    def within(self) -> bool:
        """Whether nothing lies beyond its columns."""
        turns = (self.passes - 1) // self.turn if self.turn else 0
        far = self.column + (self.blocks - 1) * self.column_step + turns * self.turn_step
        return far + self.width <= self.matrix[1]

    @property
    def steps(self) -> tuple[int, int, int, int]:
        """Elements from pass to pass, block to block, row to row, column to column."""
        wide = self.matrix[1]
        return self.row_step * wide, self.column_step, wide, 1

    @property
    def sizes(self) -> tuple[int, int, int, int]:
        """As many of each."""
        return self.passes, self.blocks, self.rows, self.width

    @property
    def start(self) -> int:
        """Element of the operand that goes first."""
        return (self.first + self.row) * self.matrix[1] + self.column

    @property
    def reach(self) -> int:
        """Elements of the operand up to the last one that goes."""
        far = zip(self.sizes, self.steps, strict=True)
        return self.start + sum((size - 1) * step for size, step in far) + 1

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
        if self.memory:
            return self._followed(tensor)
        carried = np.zeros((self.passes, self.blocks, self.rows, self.width), tensor.dtype)
        matrix = self._matrix(tensor)
        for at in np.ndindex(self.passes, self.blocks):
            piece = self._piece(matrix, *at)
            carried[at][: piece.shape[0], : piece.shape[1]] = piece
        return carried.reshape(-1)

    def _followed(self, tensor: np.ndarray) -> np.ndarray:
        """What a DMA brings of a tensor that zeros follow."""
        whole = np.zeros(max(self.reach, tensor.size), tensor.dtype)
        whole[: tensor.size] = tensor.reshape(-1)
        steps = [step * whole.itemsize for step in self.steps]
        begin = whole[self.start :]
        return np.lib.stride_tricks.as_strided(begin, self.sizes, steps).reshape(-1).copy()

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
        turn, number = divmod(number, self.turn) if self.turn else (0, number)
        row = self.row + number * self.row_step
        column = self.column + block * self.column_step + turn * self.turn_step
        return matrix[row : row + self.rows, column : column + self.width]
