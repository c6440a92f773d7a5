"""Splits loops where a condition on their variables changes.

A concatenation asks for every element which operand it belongs to, a padding whether it is inside.
Split at these places, a loop asks nothing: each operand is copied by a loop of its own.
"""

from __future__ import annotations

from typing import Any

import tvm
import tvm_ffi
from tvm import ir, tirx
from tvm.ir import prim

from match_aie.fallback.schedule_blocks import choice, is_choice, mentions
from match_aie.fallback.statements import Rewriter, holds, rewritten, sequence, substituted

#: A loop becomes at most this many.
MOST_PIECES = 256
#: All loops of a function together grow by at most this many pieces.
MOST_ADDED = 256
#: Bounds beyond are those of a type, not of a loop.
FARTHEST = 2**30

_COMPARISONS = (prim.LT, prim.LE, prim.GT, prim.GE, prim.EQ, prim.NE)


def split_loops(prim_func: Any) -> Any:
    """`prim_func` with loops split, not yet simplified; the order of execution is the same."""
    return rewritten(prim_func, _Splitter().statement)


class _Splitter(Rewriter):
    def __init__(self) -> None:
        super().__init__()
        self._left = MOST_ADDED

    def loop(self, stmt: Any) -> Any:
        bounds = (stmt.min, stmt.extent)
        if not all(isinstance(bound, prim.IntImm) for bound in bounds):
            return super().loop(stmt)
        start, end = int(stmt.min), int(stmt.min) + int(stmt.extent)
        self.enter(stmt)
        points = _Places(stmt.loop_var, self.analyzer).inside(stmt.body, start, end)
        if not points or len(points) > min(self._left, MOST_PIECES - 1):
            return super().loop(stmt)
        self._left -= len(points)
        edges = zip([start, *points], [*points, end], strict=True)
        return sequence([self._piece(stmt, low, high) for low, high in edges])

    def _piece(self, stmt: Any, low: int, high: int) -> Any:
        """The iterations from `low` up to `high`."""
        dtype = str(stmt.loop_var.ty.dtype)
        first = prim.IntImm(dtype, low)
        if high == low + 1:
            return self.statement(substituted(stmt.body, stmt.loop_var, first))
        var = ir.Var(stmt.loop_var.name, stmt.loop_var.ty)
        body = substituted(stmt.body, stmt.loop_var, var + first)
        extent = prim.IntImm(dtype, high - low)
        return super().loop(tirx.For(var, prim.IntImm(dtype, 0), extent, stmt.kind, body))


class _Places:
    """Finds where conditions change that a loop's variable takes part in.

    Args:
        var: of the loop.
        analyzer: knows the ranges of the variables around it.
    """

    def __init__(self, var: Any, analyzer: Any) -> None:
        self._var = var
        self._analyzer = analyzer
        self._found: set[int] = set()

    def inside(self, body: Any, start: int, end: int) -> list[int]:
        """Values between `start` and `end` at which some condition in `body` changes."""
        tvm_ffi.structural_walk(
            body, [(tirx.For, self._enter), (tirx.Bind, self._know)], order="pre"
        )
        self._statement(body)
        return sorted(point for point in self._found if start < point < end)

    def _enter(self, stmt: Any) -> None:
        self._analyzer.bind(stmt.loop_var, ir.Range.from_min_extent(stmt.min, stmt.extent))

    def _know(self, stmt: Any) -> None:
        if not holds(stmt.value, ir.TensorLoad) and "int" in str(stmt.var.ty.dtype):
            self._analyzer.bind(stmt.var, stmt.value)

    def _statement(self, stmt: Any) -> None:
        def note(node: Any) -> None:
            if isinstance(node, tirx.IfThenElse):
                self._condition(node.condition)
            elif is_choice(node):
                self._condition(choice(node)[0])

        tvm_ffi.structural_walk(stmt, [((prim.Select, ir.Call, tirx.IfThenElse), note)])

    def _condition(self, condition: Any) -> None:
        """Note where `condition` changes, unless it is decided already."""
        if holds(condition, ir.TensorLoad):
            return
        condition = self._analyzer.simplify(condition)
        tvm_ffi.structural_walk(condition, [(_COMPARISONS, self._comparison)])

    def _comparison(self, expr: Any) -> None:
        if "int" not in str(expr.a.ty.dtype) or not mentions(expr, self._var):
            return
        kind = type(expr)
        # `gap` grows with what the comparison asks for: a <= b holds where gap >= 0.
        gap = expr.b - expr.a if kind in (prim.LT, prim.LE) else expr.a - expr.b
        form = tvm.sym.detect_linear_equation(gap, [self._var])
        if len(form) != 2 or not isinstance(form[0], prim.IntImm) or not int(form[0]):
            return
        step, rest = int(form[0]), self._analyzer.const_int_bound(form[1])
        least = 1 if kind in (prim.LT, prim.GT) else 0
        for known in {rest.min_value, rest.max_value}:
            if abs(known) < FARTHEST:
                self._note(step, least - known, kind in (prim.EQ, prim.NE))

    def _note(self, step: int, bound: int, equal: bool) -> None:
        """The first value at which step * value >= bound changes; both sides of an equality."""
        at = -(-bound // step) if step > 0 else bound // step + 1
        if not equal:
            self._found.add(at)
        elif bound % step == 0:
            self._found |= {bound // step, bound // step + 1}
