"""Walks over the statements of a lowered PrimFunc, which all rewrites of them share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tvm
import tvm_ffi
from tvm import ir, tirx


class Rewriter:
    """Copies statements; subclasses override what they change.

    Attributes:
        analyzer: knows the range of every loop around the statement at hand.
    """

    def __init__(self) -> None:
        """No loop is open yet."""
        self.analyzer = tvm.sym.Analyzer()

    def statement(self, stmt: Any) -> Any:
        """The rewritten statement."""
        if isinstance(stmt, tirx.SeqStmt):
            return sequence([self.statement(part) for part in stmt.seq])
        if isinstance(stmt, tirx.For):
            return self.loop(stmt)
        if isinstance(stmt, tirx.While):
            return tirx.While(stmt.condition, self.statement(stmt.body))
        if isinstance(stmt, tirx.IfThenElse):
            return self.branch(stmt)
        if isinstance(stmt, tirx.AttrStmt):
            return tirx.AttrStmt(stmt.node, stmt.attr_key, stmt.value, self.statement(stmt.body))
        return self.leaf(stmt)

    def loop(self, stmt: Any) -> Any:
        """A loop with its body rewritten, its variable bound to its range."""
        self.enter(stmt)
        return with_body(stmt, self.statement(stmt.body))

    def enter(self, stmt: Any) -> None:
        """Tell the analyzer the range of a loop's variable."""
        self.analyzer.bind(stmt.loop_var, ir.Range.from_min_extent(stmt.min, stmt.extent))

    def branch(self, stmt: Any) -> Any:
        """An `if` with both sides rewritten."""
        other = None if stmt.else_case is None else self.statement(stmt.else_case)
        return tirx.IfThenElse(stmt.condition, self.statement(stmt.then_case), other)

    def leaf(self, stmt: Any) -> Any:
        """A statement without others inside."""
        return stmt


def rewritten(prim_func: Any, change: Callable[[Any], Any]) -> Any:
    """`prim_func` with the body that `change` makes of its own."""
    body = change(prim_func.body)
    return tirx.PrimFunc(prim_func.params, body, prim_func.ret_type, prim_func.attrs)


def sequence(parts: list[Any]) -> Any:
    """Statements one after the other."""
    return parts[0] if len(parts) == 1 else tirx.SeqStmt(parts)


def with_body(stmt: Any, body: Any) -> Any:
    """The loop `stmt` around another body."""
    return tirx.For(
        stmt.loop_var, stmt.min, stmt.extent, stmt.kind, body, annotations=stmt.annotations
    )


def substituted(stmt: Any, var: Any, value: Any) -> Any:
    """`stmt` with `value` wherever it reads `var`."""

    def replace(node: Any) -> Any:
        return value if node.same_as(var) else node

    return tvm_ffi.structural_map(stmt, [(ir.Var, replace)])


def holds(expr: Any, kinds: Any) -> bool:
    """Whether a node of one of `kinds` is anywhere in `expr`."""
    found: list[Any] = []
    tvm_ffi.structural_walk(expr, [(kinds, found.append)])
    return bool(found)
