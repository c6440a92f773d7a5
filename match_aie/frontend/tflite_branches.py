"""`IF` of TFLite models: both branches are computed, and what one of them gives is chosen.

The branches are subgraphs. Their operators come before the `IF`, with tensors of their own behind
those of the main subgraph; the `IF` then takes the condition and what both branches give. So a
branch may compute, but not change a variable.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from typing import Any, Protocol

import numpy as np
import tflite

from match_aie.errors import UnsupportedOperatorError
from match_aie.frontend.tflite_fold import table_of
from match_aie.limits import Limits

#: (operator, its name, operands, results), tensors by number.
Step = tuple[Any, str, list[int], list[int]]


class Renumbered(tflite.Operator):
    """An operator with other tensors."""

    def __init__(self, op: Any, operands: Sequence[int], results: Sequence[int]) -> None:
        """`op` with these, by number."""
        super().__init__()
        self.Init(op._tab.Bytes, op._tab.Pos)
        self._operands, self._results = list(operands), list(results)

    def Inputs(self, place: int) -> int:
        """Its own."""
        return self._operands[place]

    def InputsLength(self) -> int:
        """Of its own."""
        return len(self._operands)

    def InputsAsNumpy(self) -> np.ndarray:
        """Its own."""
        return np.array(self._operands, np.int32)

    def Outputs(self, place: int) -> int:
        """Its own."""
        return self._results[place]

    def OutputsLength(self) -> int:
        """Of its own."""
        return len(self._results)

    def OutputsAsNumpy(self) -> np.ndarray:
        """Its own."""
        return np.array(self._results, np.int32)


class Graph(Protocol):
    """The main subgraph, which takes tensors and operators of others."""

    def borrow(self, tensor: Any) -> int:
        """The number that a tensor of another subgraph gets."""
        ...


class Branches:
    """Writes the branches of every `IF` before it.

    Attributes:
        places: the subgraphs that are branches.
    """

    def __init__(
        self,
        model: Any,
        graph: Graph,
        steps: Callable[[Any, Any], Iterator[Step]],
        limits: Limits,
    ) -> None:
        """Nothing is written yet.

        Args:
            model: with all subgraphs.
            graph: the main one.
            steps: of a subgraph of a model.
            limits: of the operators that are written.
        """
        self.places: set[int] = set()
        self._model, self._graph, self._steps, self._limits = model, graph, steps, limits
        self._written = 0

    def operators(self) -> list[Any]:
        """All operators of the main subgraph, branches written out.

        Raises:
            LimitError: there are too many.
            UnsupportedOperatorError: a branch has variables.
            ValueError: the file is damaged.
        """
        return list(self._operators(self._graph, None, (0,)))

    def _operators(
        self, graph: Any, numbers: Mapping[int, int] | None, around: tuple[int, ...]
    ) -> Iterator[Any]:
        """Operators of a subgraph whose tensors have these numbers in the main one."""
        for op, kind, operands, results in self._steps(self._model, graph):
            self._written += 1
            what = "the branches of `IF` have too many operators"
            self._limits.check("nodes", self._written, what, kind)
            if numbers is not None:
                if "VARIABLE" in kind or kind in ("VAR_HANDLE", "CALL_ONCE"):
                    raise UnsupportedOperatorError([(kind, "IF", "a branch with variables")])
                operands = [numbers[t] if t >= 0 else t for t in operands]
                results = [numbers[t] for t in results]
            if kind == "IF":
                given = table_of(op, "IfOptions")
                if given is None:
                    raise ValueError("no branches")
                both = operands[:1]
                for place in (given.ThenSubgraphIndex(), given.ElseSubgraphIndex()):
                    both += yield from self._branch(place, operands[1:], around)
                if len(both) != 1 + 2 * len(results):
                    raise ValueError("a branch gives more or less than the operator")
                yield Renumbered(op, both, results)
            else:
                yield op if numbers is None else Renumbered(op, operands, results)

    def _branch(
        self, place: int, given: Sequence[int], around: tuple[int, ...]
    ) -> Generator[Any, None, list[int]]:
        """Yields the operators of a branch; the numbers of what it gives."""
        if place in around or not 0 < place < self._model.SubgraphsLength():
            raise ValueError("a branch inside of itself, or none")
        self.places.add(place)
        branch = self._model.Subgraphs(place)
        inputs = [branch.Inputs(i) for i in range(branch.InputsLength())]
        numbers = dict(zip(inputs, given, strict=True))
        for tensor in range(branch.TensorsLength()):
            if branch.Tensors(tensor).IsVariable():
                raise UnsupportedOperatorError([("IF", "", "a branch that keeps something")])
            if tensor not in numbers:
                numbers[tensor] = self._graph.borrow(branch.Tensors(tensor))
        yield from self._operators(branch, numbers, (*around, place))
        return [numbers[branch.Outputs(i)] for i in range(branch.OutputsLength())]
