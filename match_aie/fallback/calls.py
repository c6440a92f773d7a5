"""From a fused module to the flat call list: tensors, constants, aliases, calls, functions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from tvm import relax

from match_aie import tvm_api
from match_aie.errors import InternalError
from match_aie.fallback.functions import Functions
from match_aie.fallback.fuse import FusedGraph, Origin
from match_aie.fallback.joins import JOIN
from match_aie.fallback.remainder import Call, Remainder
from match_aie.fallback.slices import is_slice, slice_begin
from match_aie.lowering.program import Alias, Argument, Constant, Join, Tensor, Workspace
from match_aie.workload import ITEMSIZE


@dataclass(frozen=True)
class _Value:
    """What a Relax variable stands for."""

    kind: Literal["tensor", "constant"]
    name: str

    def read(self) -> Argument:
        return Argument(self.kind, self.name, "read")


@dataclass(frozen=True)
class _Several:
    """What a variable of tuple type stands for."""

    parts: tuple[_Value | _Several, ...]


def flat_calls(graph: FusedGraph, functions: Functions, labels: Sequence[str]) -> Remainder:
    """The call list of `graph`.

    Args:
        graph: after fusion.
        functions: where C functions are asked for.
        labels: what users know the inputs by.

    Raises:
        UnsupportedOperatorError: TIR functions that have no C form, all of them.
    """
    return _Builder(graph, functions, labels).remainder()


class _Builder:
    def __init__(self, graph: FusedGraph, functions: Functions, labels: Sequence[str]) -> None:
        self._graph = graph
        self._functions = functions
        self._values: dict[Any, _Value | _Several] = {}
        self._tensors: dict[str, Tensor] = {}
        self._constants: dict[Any, Constant] = {}
        self._aliases: dict[str, str] = {}
        self._offsets: dict[str, int] = {}
        self._joins: list[Join] = []
        self._calls: list[Call] = []
        self._workspaces = 0
        main = graph.module["main"]
        for index, (var, label) in enumerate(zip(main.params, labels, strict=True)):
            self._values[var] = self._tensor(var.ty, label, f"in{index}")
        self._inputs = tuple(self._tensors)

    def remainder(self) -> Remainder:
        main = self._graph.module["main"]
        for var, value in tvm_api.bindings(main):
            origin = self._graph.origins.get(var.name, Origin())
            self._values[var] = self._binding(var, value, origin)
        outputs = self._outputs(self._resolve(main.body.body))
        used = {a.name for call in self._calls for a in call.arguments if a.kind == "constant"}
        return Remainder(
            inputs=self._inputs,
            outputs=outputs,
            tensors=tuple(self._tensors.values()),
            constants=tuple(c for c in self._constants.values() if c.name in used),
            aliases=tuple(
                Alias(view, base, self._offsets.get(view, 0))
                for view, base in self._aliases.items()
            ),
            calls=tuple(self._calls),
            functions=self._functions.definitions(),
            joins=(*self._joins, *self._graph.copied),
        )

    def _binding(self, var: Any, value: Any, origin: Origin) -> _Value | _Several:
        operator = tvm_api.operator_name(value)
        if operator in ("call_tir", "call_dps_packed"):
            return self._call(var, value, origin)
        if operator == "reshape":
            return self._view(var, self._resolve(value.args[0]), origin)
        if operator:
            raise InternalError(f"{operator} is left after lowering", where=origin.label)
        return self._resolve(value)

    def _resolve(self, expr: Any) -> _Value | _Several:
        if isinstance(expr, relax.Var):
            return self._values[expr]
        if tvm_api.is_constant(expr):
            if expr not in self._values:
                self._values[expr] = self._constant(tvm_api.constant_value(expr))
            return self._values[expr]
        if isinstance(expr, relax.Tuple):
            return _Several(tuple(self._resolve(part) for part in expr.fields))
        if isinstance(expr, relax.TupleGetItem):
            source = self._resolve(expr.tuple_value)
            if isinstance(source, _Several):
                return source.parts[expr.index]
        raise InternalError(f"{type(expr).__name__} is left after lowering")

    def _call(self, var: Any, value: Any, origin: Origin) -> _Value | _Several:
        callee = value.args[0]
        operands = []
        for arg in value.args[1].fields:
            operand = self._resolve(arg)
            if isinstance(operand, _Several):
                raise InternalError("a tuple is passed to a call", where=origin.label)
            operands.append(operand)
        if isinstance(callee, relax.ExternFunc) and str(callee.global_symbol) == JOIN:
            return self._join(var, operands, origin)
        if isinstance(callee, relax.ExternFunc) and is_slice(str(callee.global_symbol)):
            return self._slice(var, operands[0], str(callee.global_symbol), origin)
        if isinstance(callee, relax.ExternFunc):
            operands = [self._stored(operand) for operand in operands]
        reads = [operand.read() for operand in operands]
        several = isinstance(var.ty, relax.TupleType)
        types = list(var.ty.fields) if several else [var.ty]
        results = tuple(self._tensor(ty, origin.label) for ty in types)
        writes = [Argument("tensor", result.name, "write") for result in results]
        if isinstance(callee, relax.ExternFunc):
            key = str(callee.global_symbol)
            self._calls.append(Call(key, (*reads, *writes), origin.label))
        else:
            self._function_call(callee, reads, writes, origin)
        return _Several(results) if several else results[0]

    def _join(self, var: Any, operands: Sequence[_Value], origin: Origin) -> _Value:
        """A result whose parts are copies of the operands, in order."""
        result, offset = self._tensor(var.ty, origin.label), 0
        parts = []
        for operand in operands:
            source = self._source(operand)
            parts.append(f"t{len(self._tensors)}")
            self._tensors[parts[-1]] = replace(source, name=parts[-1])
            self._aliases[parts[-1]], self._offsets[parts[-1]] = result.name, offset
            arguments = (operand.read(), Argument("tensor", parts[-1], "write"))
            self._calls.append(Call(self._functions.copy(source), arguments, origin.label))
            offset += source.nbytes
        self._joins.append(Join(origin.label, offset, offset, tuple(parts)))
        return result

    def _slice(self, var: Any, operand: _Value, callee: str, origin: Origin) -> _Value:
        """A copy of a block of the operand, which is a view of that."""
        result = self._tensor(var.ty, origin.label)
        kind, part = self._tensors[result.name], f"t{len(self._tensors)}"
        self._tensors[part] = replace(kind, name=part)
        self._aliases[part] = self._root(operand.name)
        self._offsets[part] = slice_begin(callee) * ITEMSIZE[kind.dtype]
        arguments = (Argument("tensor", part, "read"), Argument("tensor", result.name, "write"))
        self._calls.append(Call(self._functions.copy(kind), arguments, origin.label))
        return result

    def _function_call(
        self, callee: Any, reads: list[Argument], writes: list[Argument], origin: Origin
    ) -> None:
        made = self._functions.of(self._graph.module[callee], str(callee.name_hint), origin)
        if made is None:
            return  # noted; every such function is reported at the end
        spaces = []
        for nbytes in made.workspaces:
            spaces.append(Workspace(f"w{self._workspaces}", nbytes))
            self._workspaces += 1
        arguments = made.order(reads, writes)
        arguments += [Argument("workspace", space.name, "write") for space in spaces]
        self._calls.append(Call(made.symbol, tuple(arguments), origin.label, tuple(spaces)))

    def _tensor(self, ty: Any, label: str, name: str = "") -> _Value:
        name = name or f"t{len(self._tensors)}"
        shape = tuple(int(size) for size in ty.shape)
        self._tensors[name] = Tensor(name, str(ty.dtype), shape, label)
        return _Value("tensor", name)

    def _constant(self, value: np.ndarray) -> _Value:
        """A constant; equal contents share one."""
        key = (str(value.dtype), value.shape, value.tobytes())
        if key not in self._constants:
            self._constants[key] = Constant(f"c{len(self._constants)}", value)
        return _Value("constant", self._constants[key].name)

    def _view(self, var: Any, base: _Value | _Several, origin: Origin) -> _Value | _Several:
        if isinstance(base, _Several):
            raise InternalError("a tuple is reshaped", where=origin.label)
        shape = tuple(int(size) for size in var.ty.shape)
        if base.kind == "constant":
            held = next(c for c in self._constants.values() if c.name == base.name)
            return self._constant(held.value.reshape(shape))
        view = self._tensor(var.ty, origin.label)
        self._aliases[view.name] = self._root(base.name)
        return view

    def _root(self, name: str) -> str:
        """The tensor whose storage `name` has."""
        return self._aliases.get(name, name)

    # Outputs: each its own tensor, written by a call.

    def _outputs(self, result: _Value | _Several) -> tuple[str, ...]:
        parts = result.parts if isinstance(result, _Several) else (result,)
        outputs: list[str] = []
        for part in parts:
            if isinstance(part, _Several):
                raise InternalError("an output is a tuple")
            outputs.append(self._output(part, outputs))
        return tuple(outputs)

    def _output(self, value: _Value, before: Sequence[str]) -> str:
        name = value.name
        if value.kind == "tensor" and name not in self._inputs and name not in before:
            if name not in self._aliases:
                return name
            root = self._aliases[name]
            if root not in self._inputs and root not in before:
                self._exchange(name, root)
                return name
        return self._copy(value)

    def _exchange(self, view: str, root: str) -> None:
        """Make `view` the storage: the call that wrote `root` writes it, the rest are its views."""
        for index, call in enumerate(self._calls):
            arguments = tuple(
                replace(a, name=view) if (a.name, a.access) == (root, "write") else a
                for a in call.arguments
            )
            self._calls[index] = replace(call, arguments=arguments)
        del self._aliases[view]
        self._aliases |= {name: view for name, base in self._aliases.items() if base == root}
        self._aliases[root] = view

    def _copy(self, value: _Value) -> str:
        """A new tensor with the contents of `value`, copied by a function."""
        source = self._source(value)
        name = f"t{len(self._tensors)}"
        self._tensors[name] = replace(source, name=name)
        symbol = self._functions.copy(source)
        arguments = (value.read(), Argument("tensor", name, "write"))
        self._calls.append(Call(symbol, arguments, source.label))
        return name

    def _stored(self, value: _Value) -> _Value:
        """`value` as a tensor: a layer reads tensors, also where one turned out to be constant."""
        return value if value.kind == "tensor" else _Value("tensor", self._copy(value))

    def _source(self, value: _Value) -> Tensor:
        """The type of `value`; a constant as a tensor without a name."""
        if value.kind == "tensor":
            return self._tensors[value.name]
        held = next(c for c in self._constants.values() if c.name == value.name)
        return Tensor("", str(held.value.dtype), held.value.shape)
