"""`IF` and `WHILE` of TFLite models, written out into the main subgraph.

Both branches of an `IF` are computed, and what one of them gives is chosen. The branches are
subgraphs. Their operators come before the `IF`, with tensors of their own behind those of the main
subgraph; the `IF` then takes the condition and what both branches give. So a branch may compute,
but not change a variable.

The body of a `WHILE` comes before it as often as it runs, which must follow from constants; the
`WHILE` then takes what the last step gives. Where a part of the condition (of those that
`LOGICAL_AND` joins) is computed at run time, the others bound the loop: all steps come, each with
the condition before it, and a `WHILE` between them takes, as an `IF` does, a condition, what is
then, and what is otherwise.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from typing import Any, Protocol

import numpy as np
import tflite

from match_aie.errors import UnsupportedOperatorError
from match_aie.frontend.tflite_fold import table_of
from match_aie.frontend.tflite_values import Step, Values
from match_aie.limits import Limits


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

    def Tensors(self, place: int) -> Any:
        """A tensor by number."""
        ...

    def borrow(self, tensor: Any) -> int:
        """The number that a tensor of another subgraph gets."""
        ...


class Branches:
    """Writes the branches of every `IF` and the steps of every `WHILE` before it.

    Attributes:
        places: the subgraphs that they are.
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
        self._values = Values(model, graph, {})
        self._shared: dict[tuple[int, int], int] = {}

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
            self._count(kind)
            if numbers is not None:
                if "VARIABLE" in kind or kind in ("VAR_HANDLE", "CALL_ONCE"):
                    why = "a branch or a loop with variables"
                    raise UnsupportedOperatorError([(kind, "", why)])
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
            elif kind == "WHILE":
                last = yield from self._loop(op, operands, around)
                if len(last) != len(results):
                    raise ValueError("a loop gives more or less than the operator")
                yield Renumbered(op, last, results)
            else:
                self._values.add((op, kind, operands, results))
                yield op if numbers is None else Renumbered(op, operands, results)

    def _loop(
        self, op: Any, given: Sequence[int], around: tuple[int, ...]
    ) -> Generator[Any, None, list[int]]:
        """Yields the operators of all steps; the numbers of what the last one gives.

        Raises:
            UnsupportedOperatorError: the condition is computed at run time, and nothing bounds it.
        """
        told = table_of(op, "WhileOptions")
        if told is None:
            raise ValueError("no loop")
        condition, body = told.CondSubgraphIndex(), told.BodySubgraphIndex()
        numbers, kept, alive = list(given), list(given), list[int]()
        while (held := self._holds(condition, numbers, around)) is not False:
            self._count("WHILE")
            if held is None:
                asked = yield from self._branch(condition, numbers, around)
                alive = (yield from self._choice(op, alive, asked, alive)) if alive else asked
            numbers = yield from self._branch(body, numbers, around)
            if len(numbers) != len(kept):
                raise ValueError("a body gives more or less than it takes")
            kept = (yield from self._choice(op, alive, numbers, kept)) if alive else numbers
        return kept

    def _choice(
        self, op: Any, asked: Sequence[int], then: Sequence[int], otherwise: Sequence[int]
    ) -> Generator[Any, None, list[int]]:
        """Yields an operator that chooses; the numbers of what it gives.

        Args:
            op: the loop.
            asked: number of the condition.
            then: numbers of what is chosen where it holds.
            otherwise: as many of what is chosen where not.
        """
        made = [self._graph.borrow(self._graph.Tensors(number)) for number in otherwise]
        yield Renumbered(op, [*asked, *then, *otherwise], made)
        return made

    def _count(self, kind: str) -> None:
        """An operator, or a step, more."""
        self._written += 1
        what = "branches of `IF` and steps of `WHILE` have too many operators"
        self._limits.check("nodes", self._written, what, kind)

    def _holds(self, place: int, given: Sequence[int], around: tuple[int, ...]) -> bool | None:
        """Whether the condition of a loop, a subgraph, holds for these tensors.

        None where a part of it is computed at run time, and what is known of it holds.
        """
        graph = self._graph_of(place, around)
        inputs = [graph.Inputs(i) for i in range(graph.InputsLength())]
        bound = {own: self._values.of(n) for own, n in zip(inputs, given, strict=True)}
        values = Values(self._model, graph, bound)
        for step in self._steps(self._model, graph):
            values.add(step)
        parts = values.joined(graph.Outputs(0))
        known = [part for part in parts if part is not None]
        if not known or any(part.size != 1 for part in known):
            why = "how often it runs is not known at compile time, and no counter bounds it"
            raise UnsupportedOperatorError([("WHILE", "", why)])
        if not all(bool(part.reshape(-1)[0]) for part in known):
            return False
        return True if len(known) == len(parts) else None

    def _graph_of(self, place: int, around: tuple[int, ...]) -> Any:
        """A subgraph that an operator names."""
        if place in around or not 0 < place < self._model.SubgraphsLength():
            raise ValueError("a subgraph inside of itself, or none")
        self.places.add(place)
        return self._model.Subgraphs(place)

    def _branch(
        self, place: int, given: Sequence[int], around: tuple[int, ...]
    ) -> Generator[Any, None, list[int]]:
        """Yields the operators of a branch; the numbers of what it gives."""
        branch = self._graph_of(place, around)
        inputs = [branch.Inputs(i) for i in range(branch.InputsLength())]
        numbers = dict(zip(inputs, given, strict=True))
        for number in range(branch.TensorsLength()):
            tensor = branch.Tensors(number)
            if tensor.IsVariable():
                why = "a branch or a loop that keeps something"
                raise UnsupportedOperatorError([("IF", "", why)])
            if number in numbers:
                continue
            constant = self._model.Buffers(tensor.Buffer()).DataLength() > 0
            if not constant or (place, number) not in self._shared:
                numbers[number] = self._graph.borrow(tensor)
                self._shared |= {(place, number): numbers[number]} if constant else {}
            else:
                numbers[number] = self._shared[place, number]
        yield from self._operators(branch, numbers, (*around, place))
        return [numbers[branch.Outputs(i)] for i in range(branch.OutputsLength())]
