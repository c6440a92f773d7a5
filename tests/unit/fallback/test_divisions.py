"""Indices with divisions keep their meaning through lowering."""

from __future__ import annotations

import tvm_ffi
from hypothesis import given, settings
from hypothesis import strategies as st
from tvm import ir, te, tirx
from tvm.ir import prim

from match_aie.fallback.lower_tir import lower

SIZES = (12, 6)


@st.composite
def indices(draw, depth: int = 2):
    """A function from two loop variables to an index: sums and divisions, at random."""
    offset = draw(st.integers(-30, 30))
    terms = draw(st.lists(st.tuples(st.sampled_from([1, -1, 2, -2, 4, -6, 12]), st.booleans())))
    terms = terms[:2] or [(-1, True)]
    inner = draw(indices(depth=depth - 1)) if depth and draw(st.booleans()) else None
    scale, divisor = draw(st.sampled_from([1, -1, 3])), draw(st.sampled_from([2, 3, 4, 17]))
    remainder = draw(st.booleans())

    def index(i, j):
        total = offset
        for factor, first in terms:
            total = (i if first else j) * factor + total
        if inner is not None:
            total = inner(i, j) * scale + total
        if isinstance(total, int):
            return total % divisor if remainder else total // divisor
        return te.indexmod(total, divisor) if remainder else te.indexdiv(total, divisor)

    return index


def _value(expr, env) -> int:
    if isinstance(expr, prim.IntImm):
        return int(expr.value)
    if isinstance(expr, tirx.Var):
        return env[expr]
    if isinstance(expr, prim.Cast):
        return _value(expr.value, env)
    a, b = _value(expr.a, env), _value(expr.b, env)
    rules = {
        **{prim.Add: a.__add__, prim.Sub: a.__sub__, prim.Mul: a.__mul__},
        **{prim.FloorDiv: a.__floordiv__, prim.FloorMod: a.__mod__},
        **{prim.Min: lambda o: min(a, o), prim.Max: lambda o: max(a, o)},
    }
    return int(rules[type(expr)](b))


def _loaded(prim_func) -> dict[int, int]:
    """Position that is read, by position that is written."""
    moves = {}

    def run(stmt, env):
        if isinstance(stmt, tirx.For):
            for value in range(int(stmt.min), int(stmt.min) + int(stmt.extent)):
                run(stmt.body, {**env, stmt.loop_var: value})
        elif isinstance(stmt, tirx.SeqStmt):
            for part in stmt.seq:
                run(part, env)
                if isinstance(part, tirx.Bind) and "int" in str(part.var.ty.dtype):
                    env = {**env, part.var: _value(part.value, env)}
        elif isinstance(stmt, tirx.BufferStore):
            loads = []
            tvm_ffi.structural_walk(stmt.value, [(ir.TensorLoad, loads.append)])
            assert len(loads) == 1
            moves[_value(stmt.indices[0], env)] = _value(loads[0].indices[0], env)

    run(prim_func.body, {})
    return moves


@settings(max_examples=60, deadline=None)
@given(indices())
def test_indices_keep_their_meaning(index):
    rows, columns = SIZES
    where = [[index(i, j) for j in range(columns)] for i in range(rows)]
    low, high = min(map(min, where)), max(map(max, where))
    source = te.placeholder((high - low + 1,), "float32", "x")
    copy = te.compute(SIZES, lambda i, j: source[index(i, j) - low], "copy")
    moves = _loaded(lower(te.create_prim_func([source, copy])))
    assert moves == {
        i * columns + j: where[i][j] - low for i in range(rows) for j in range(columns)
    }
