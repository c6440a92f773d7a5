"""Which tensors of a subgraph are known before it is imported: counters, and what hangs on them."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from typing import Any

import numpy as np

from match_aie.frontend.tflite_check import DTYPES
from match_aie.frontend.tflite_fold import FOLDED, Array, Known, fold, options_of

#: (operator, its name, operands, results), tensors by number.
Step = tuple[Any, str, list[int], list[int]]

#: Larger tensors are no counters.
MOST_COUNTED = 1024

#: Counters hang on fewer operators than this, one behind the other.
DEEPEST = 100


class Values:
    """What the tensors of a subgraph hold, where constants say it."""

    def __init__(self, model: Any, graph: Any, bound: Mapping[int, Array | None]) -> None:
        """Nothing is computed yet.

        Args:
            model: whose constants they are.
            graph: the subgraph.
            bound: what its inputs hold; None for what is computed at run time.
        """
        self._model, self._graph = model, graph
        self._found = dict(bound)
        self._makers: dict[int, Step] = {}

    def add(self, step: Step) -> None:
        """An operator, whose operands were made before."""
        for result in step[3]:
            self._makers[result] = step

    def of(self, number: int, depth: int = 0) -> Array | None:
        """What a tensor holds; None where that is not known, large, or behind too many operators.

        Args:
            number: of the tensor.
            depth: operators between it and what was asked for.
        """
        if number not in self._found:
            self._found[number] = self._content(number)
            if self._found[number] is None and number in self._makers and depth < DEEPEST:
                self._compute(self._makers[number], depth + 1)
        return self._found[number]

    def joined(self, number: int) -> list[Array | None]:
        """What the tensors hold that `LOGICAL_AND` joins to this one."""
        maker = self._makers.get(number)
        if maker is None or maker[1] != "LOGICAL_AND" or self.of(number) is not None:
            return [self.of(number)]
        return [part for operand in maker[2] for part in self.joined(operand)]

    def _content(self, number: int) -> Array | None:
        """A constant of the file."""
        tensor = self._graph.Tensors(number)
        shape = [tensor.Shape(i) for i in range(tensor.ShapeLength())]
        dtype, buffer = DTYPES.get(tensor.Type()), self._model.Buffers(tensor.Buffer())
        if dtype is None or not buffer.DataLength() or prod(shape) > MOST_COUNTED:
            return None
        return np.frombuffer(buffer.DataAsNumpy().tobytes(), dtype).reshape(shape)

    def _compute(self, step: Step, depth: int) -> None:
        """The results of an operator all of whose operands are known."""
        op, kind, operands, results = step
        if kind not in FOLDED:
            return
        given = [self.of(number, depth) for number in operands]
        known = tuple(value for value in given if value is not None)
        dtype = DTYPES.get(self._graph.Tensors(results[0]).Type())
        if len(known) < len(given) or dtype is None:
            return
        made = fold(Known(kind, known, options_of(op, kind), dtype), MOST_COUNTED)
        for number, value in zip(results, made, strict=False):
            self._found[number] = value
