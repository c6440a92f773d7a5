"""Variables of TFLite models: each is an input, and an output for the next call.

A streaming model reads a variable once, assigns it once, and a second subgraph, which `CALL_ONCE`
names, assigns what it is at first. Recurrent operators have tensors that they change
(`is_variable`), which are 0 at first.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence, Set
from math import prod
from typing import Any

import numpy as np
import tflite

from match_aie.errors import ModelError, UnsupportedOperatorError
from match_aie.frontend.state import State
from match_aie.frontend.tflite_branches import Branches
from match_aie.frontend.tflite_check import DTYPES, tensor_name
from match_aie.frontend.tflite_fold import options_of
from match_aie.frontend.tflite_site import STATES, states_of
from match_aie.frontend.tflite_tensors import Sized
from match_aie.frontend.tflite_values import Step
from match_aie.limits import Limits

#: Operators that are about variables; none of them computes anything.
OPERATORS = frozenset({"CALL_ONCE", "VAR_HANDLE", "READ_VARIABLE", "ASSIGN_VARIABLE"})

#: What a file raises that points outside of itself, or says something else than was asked for.
_DAMAGE = (struct.error, LookupError, ValueError, TypeError, AttributeError, OverflowError)

_NAMES = {code: name for name, code in vars(tflite.BuiltinOperator).items() if name.isupper()}


class Stateless(tflite.Model):
    """A model whose variables are inputs and outputs; its main subgraph is the only one.

    Attributes:
        states: what the variables became.
    """

    def __init__(self, model: Any, limits: Limits = Limits()) -> None:
        """Work out what the variables are, and write branches out.

        Raises:
            LimitError: branches have too many operators.
            ModelError: there are subgraphs for something else.
            UnsupportedOperatorError: a variable is used in a way that is not compiled.
        """
        super().__init__()
        self.Init(model._tab.Bytes, model._tab.Pos)
        self._main = _Graph(model.Subgraphs(0))
        try:
            branches = Branches(model, self._main, _steps, limits)
            self._main.become(branches.operators(), [], [])
            steps = list(_steps(model, self._main))
            first = _initialised(model, steps, branches.places)
            resources = tuple(_states(self._main, steps, first))
            self.states = (*resources, *_changed(self._main, steps))
        except _DAMAGE as error:
            raise ModelError("what this file says of its variables is damaged") from error

    def SubgraphsLength(self) -> int:
        """One."""
        return 1

    def Subgraphs(self, place: int) -> Any:
        """The main one."""
        if place:
            raise IndexError(place)
        return self._main


class _Next:
    """A tensor under another name: a variable as the next call finds it, or one of a branch."""

    def __init__(self, tensor: Any, name: str) -> None:
        self._tensor = tensor
        self._name = name

    def __getattr__(self, name: str) -> Any:
        """All else is the tensor's."""
        return getattr(self._tensor, name)

    def Name(self) -> bytes:
        """Its own."""
        return self._name.encode()


class _Graph(tflite.SubGraph):
    """A subgraph with other operators, and more tensors, inputs and outputs.

    Attributes:
        following: variable tensor -> the tensor that it is in the next call, by number.
        sizes: of tensors that have others than the file says, by number.
    """

    def __init__(self, graph: Any) -> None:
        super().__init__()
        self.following: dict[int, int] = {}
        self.sizes: dict[int, tuple[int, ...]] = {}
        self._next: list[_Next] = []
        self._names: set[str] = set()
        self._counts: dict[str, int] = {}
        self.Init(graph._tab.Bytes, graph._tab.Pos)
        whole = [graph.Operators(i) for i in range(graph.OperatorsLength())]
        self._operators = whole
        self._inputs = [graph.Inputs(i) for i in range(graph.InputsLength())]
        self._outputs = [graph.Outputs(i) for i in range(graph.OutputsLength())]

    @property
    def operators(self) -> list[Any]:
        """All of them, in order."""
        return self._operators

    def become(
        self, operators: Sequence[Any], inputs: Sequence[int], outputs: Sequence[int]
    ) -> None:
        """Take these operators, and these inputs and outputs beside its own."""
        self._operators = list(operators)
        self._inputs += inputs
        self._outputs += [tensor for tensor in outputs if tensor not in self._outputs]

    def follow(self, variable: int) -> int:
        """A tensor more: `variable` as the next call finds it."""
        name = self._free(f"{tensor_name(self, variable)} next")
        self.following[variable] = self.TensorsLength()
        self._next.append(_Next(self.Tensors(variable), name))
        return self.following[variable]

    def borrow(self, tensor: Any) -> int:
        """A tensor more: one of another subgraph, under a name that no other has."""
        self._next.append(_Next(tensor, self._free(tensor.Name().decode("utf-8", "replace"))))
        return self.TensorsLength() - 1

    def _free(self, name: str) -> str:
        """`name`, changed until no tensor has it."""
        if not self._names:
            self._names = {tensor_name(self, at) for at in range(self.TensorsLength())}
        free, number = name, 0
        while free in self._names:
            number = self._counts.get(name, 0) + 1
            self._counts[name] = number
            free = f"{name}!{number if number > 1 else ''}"
        self._names.add(free)
        return free

    def Tensors(self, place: int) -> Any:
        own = super().TensorsLength()
        tensor = super().Tensors(place) if place < own else self._next[place - own]
        return Sized(tensor, self.sizes[place]) if place in self.sizes else tensor

    def TensorsLength(self) -> int:
        return int(super().TensorsLength()) + len(self._next)

    def Operators(self, place: int) -> Any:
        return self._operators[place]

    def OperatorsLength(self) -> int:
        return len(self._operators)

    def Inputs(self, place: int) -> int:
        return self._inputs[place]

    def InputsLength(self) -> int:
        return len(self._inputs)

    def InputsAsNumpy(self) -> np.ndarray:
        return np.array(self._inputs, np.int32)

    def Outputs(self, place: int) -> int:
        return self._outputs[place]

    def OutputsLength(self) -> int:
        return len(self._outputs)

    def OutputsAsNumpy(self) -> np.ndarray:
        return np.array(self._outputs, np.int32)


def _steps(model: Any, graph: Any) -> Iterator[Step]:
    """(operator, its name, operands, results) of each operator, tensors by number."""
    for place in range(graph.OperatorsLength()):
        op = graph.Operators(place)
        code = model.OperatorCodes(op.OpcodeIndex())
        name = _NAMES.get(max(code.BuiltinCode(), code.DeprecatedBuiltinCode()), "")
        operands = [op.Inputs(i) for i in range(op.InputsLength())]
        if name in OPERATORS and -1 in operands:
            raise ValueError("an operand is left out")
        yield op, name, operands, [op.Outputs(i) for i in range(op.OutputsLength())]


def _variables(steps: Sequence[Step]) -> dict[int, str]:
    """Name of the variable that a handle, by number, stands for."""
    found = {}
    for op, name, _, results in steps:
        if name == "VAR_HANDLE":
            given = options_of(op, name)
            parts = (given.Container(), given.SharedName())
            found[results[0]] = "/".join(part.decode("utf-8", "replace") for part in parts if part)
    return found


def _initialised(model: Any, steps: Sequence[Step], branches: Set[int]) -> dict[str, np.ndarray]:
    """What every variable is at first; `branches` are subgraphs that have been written out.

    Raises:
        LookupError: an operator without its operands.
        ModelError: subgraphs that `CALL_ONCE` does not name.
        UnsupportedOperatorError: a first value that is not in the file.
    """
    calls = [op for op, kind, _, _ in steps if kind == "CALL_ONCE"]
    named = {options_of(op, "CALL_ONCE").InitSubgraphIndex() for op in calls}
    if named | branches != set(range(1, model.SubgraphsLength())) or named & branches:
        raise ModelError(
            f"the model has {model.SubgraphsLength()} subgraphs; one, those that say what its "
            "variables are at first, branches of `IF` and loops of `WHILE` are compiled",
        )
    found: dict[str, np.ndarray] = {}
    for place in sorted(named):
        graph = model.Subgraphs(place)
        inner = list(_steps(model, graph))
        handles = _variables(inner)
        for _, kind, operands, _ in inner:
            if kind == "VAR_HANDLE":
                continue
            value = _stored(model, graph, operands[1]) if kind == "ASSIGN_VARIABLE" else None
            if value is None:
                raise _refused(kind, "CALL_ONCE", "first values must be constants of the file")
            found[handles[operands[0]]] = value
    return found


def _stored(model: Any, graph: Any, index: int) -> np.ndarray | None:
    """A constant of the file; None where it is none."""
    tensor = graph.Tensors(index)
    dtype, buffer = DTYPES.get(tensor.Type()), model.Buffers(tensor.Buffer())
    if dtype is None or not buffer.DataLength():
        return None
    shape = [tensor.Shape(i) for i in range(tensor.ShapeLength())]
    return np.frombuffer(buffer.DataAsNumpy().tobytes(), dtype).reshape(shape)


def _states(graph: _Graph, steps: Sequence[Step], first: dict[str, np.ndarray]) -> Iterator[State]:
    """What the variables of the main subgraph become, which takes them as inputs and outputs.

    Raises:
        UnsupportedOperatorError: a variable is read after it was assigned, read or assigned twice,
            only one of both, or has no first value of its size and element type.
    """
    handles = _variables(steps)
    read: dict[str, int] = {}
    assigned: dict[str, int] = {}
    for _, kind, operands, results in steps:
        if kind not in ("READ_VARIABLE", "ASSIGN_VARIABLE"):
            continue
        variable = handles[operands[0]]
        into = read if kind == "READ_VARIABLE" else assigned
        if variable in into or variable in assigned:
            raise _refused(kind, variable, "a variable is read once, then assigned once")
        if kind == "ASSIGN_VARIABLE" and operands[1] in assigned.values():
            raise _refused(kind, variable, "another variable takes the same value")
        into[variable] = results[0] if kind == "READ_VARIABLE" else operands[1]
    for variable in sorted(read.keys() ^ assigned.keys()):
        raise _refused("VAR_HANDLE", variable, "a variable is read once, then assigned once")
    for variable in read:
        if variable not in first:
            raise _refused("READ_VARIABLE", variable, "nothing says what it is at first")
        tensor, value = graph.Tensors(read[variable]), first[variable]
        size = prod(tensor.Shape(i) for i in range(tensor.ShapeLength()))
        if DTYPES.get(tensor.Type()) != value.dtype.name or size != value.size:
            raise _refused("READ_VARIABLE", variable, "it is of another size or type at first")
    order = sorted(read)
    kept = [op for op, kind, _, _ in steps if kind not in OPERATORS]
    graph.become(kept, [read[v] for v in order], [assigned[v] for v in order])
    for variable in order:
        source, result = (tensor_name(graph, by[variable]) for by in (read, assigned))
        yield State(source, result, first[variable])


def _changed(graph: _Graph, steps: Sequence[Step]) -> Iterator[State]:
    """What the tensors become that recurrent operators change.

    Raises:
        UnsupportedOperatorError: a state that is no variable, belongs to two operators, or is used
            elsewhere.
    """
    for _, kind, operands, results in steps:
        uses = [tensor for tensor in operands if tensor >= 0 and graph.Tensors(tensor).IsVariable()]
        kept = list(states_of(kind, operands))
        label = tensor_name(graph, results[0]) if results else kind
        if any(graph.Tensors(t).IsVariable() for t in results) or (uses and kind not in STATES):
            raise _refused(kind, label, "it works with a tensor that another operator changes")
        if sorted(kept) != sorted(uses) or set(kept) & graph.following.keys():
            why = "each of its states must be a variable of the file that nothing else uses"
            raise _refused(kind, label, why)
        given = {graph.Inputs(at) for at in range(graph.InputsLength())}
        left = {graph.Outputs(at) for at in range(graph.OutputsLength())}
        if len(set(kept)) != len(kept) or set(kept) & (given | left):
            raise _refused(kind, label, "a state is an input or an output of the model, or twice")
        for variable in kept:
            following = graph.follow(variable)
            graph.become(graph.operators, [variable], [following])
            source, result = tensor_name(graph, variable), tensor_name(graph, following)
            tensor = graph.Tensors(variable)
            shape = [tensor.Shape(i) for i in range(tensor.ShapeLength())]
            yield State(source, result, np.full(shape, _first(tensor), DTYPES[tensor.Type()]))


def _first(tensor: Any) -> int:
    """What a variable's elements are at first: int8 ones stand for 0, others are 0."""
    given = tensor.Quantization()
    if tensor.Type() != tflite.TensorType.INT8 or given is None or not given.ZeroPointLength():
        return 0
    return int(given.ZeroPoint(0))


def _refused(kind: str, where: str, why: str) -> UnsupportedOperatorError:
    return UnsupportedOperatorError([(kind, where, why)])
