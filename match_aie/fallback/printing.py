"""One lowered PrimFunc as a C function."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from math import prod
from typing import Any

import tvm
import tvm_ffi
from tvm import ir, tirx

from match_aie.fallback.expressions import ADD, ExpressionPrinter, PrintError, Scope, dtype_of
from match_aie.fallback.planes import BLOCK, Plane, plane
from match_aie.fallback.scalars import C_TYPES, TURNS, Helpers
from match_aie.fallback.statements import substituted
from match_aie.workload import ITEMSIZE

#: Temporaries of at least this many bytes leave the stack for the arena.
LARGEST_STACK_ARRAY = 1024

#: Elements of a run at least that are copied as one.
LEAST_RUN = 8


@dataclass(frozen=True)
class PrintedFunction:
    """C text of a function, still without its name.

    Parameters come in the order inputs, outputs, workspaces.

    Attributes:
        parameters: text of the parameter list.
        body: text of the statements, indented.
        written: per tensor parameter, whether it is written.
        workspaces: bytes of each workspace parameter.
    """

    parameters: str
    body: str
    written: tuple[bool, ...]
    workspaces: tuple[int, ...]

    def definition(self, symbol: str) -> str:
        """The complete definition under the name `symbol`."""
        return f"static void {symbol}({self.parameters}) {{\n{self.body}}}\n"


@dataclass(frozen=True)
class _Line:
    """A line of C: what it declares (if a definition), which names it uses, and reads."""

    text: str
    depth: int
    uses: frozenset[str]
    declares: str = ""
    reads: frozenset[str] = frozenset()


@dataclass(frozen=True, eq=False)
class _Run:
    """Elements that are copied in a row: from where to where, and how many."""

    to: Any
    to_begin: Any
    source: Any
    source_begin: Any
    length: int


def print_function(
    prim_func: Any, helpers: Helpers, stack: int = LARGEST_STACK_ARRAY, *, runs: bool = True
) -> PrintedFunction:
    """C text of `prim_func` as `lower_tir.lower` gives it.

    Args:
        prim_func: the function.
        helpers: takes the helper functions that it calls.
        stack: temporaries of at least so many bytes are workspaces.
        runs: whether loops that only copy elements in a row are calls of memcpy, where the row is
            long enough; that hangs on sizes.

    Raises:
        PrintError: it holds something that has no C form (a call into TVM's runtime, a type).
    """
    return _StatementPrinter(prim_func, helpers, stack, runs=runs).function()


@dataclass
class _Names:
    """Hands out local names: `v_0`, `v_1`; an underscore and digits clash with nothing in C."""

    counts: dict[str, int] = field(default_factory=dict)

    def fresh(self, stem: str) -> str:
        number = self.counts.get(stem, 0)
        self.counts[stem] = number + 1
        return f"{stem}_{number}"


class _StatementPrinter(Scope):
    def __init__(self, prim_func: Any, helpers: Helpers, stack: int, *, runs: bool) -> None:
        self._function = prim_func
        self._stack = stack
        self._runs = runs
        self._names = _Names()
        self._variables: dict[Any, tuple[str, bool]] = {}
        self._buffers: dict[Any, str] = {}
        self._bases: dict[Any, str] = {}
        self._types: dict[str, str] = {}
        self._written: set[str] = set()
        self._used: set[str] = set()
        self._reads: Counter[str] = Counter()
        self._lines: list[_Line] = []
        self._workspaces: list[tuple[str, str, int]] = []
        self._analyzer = tvm.sym.Analyzer()
        self._helpers = helpers
        self._print = ExpressionPrinter(helpers, self)
        self._statements: dict[type, Callable[[Any, int], None]] = {
            tirx.SeqStmt: self._sequence,
            tirx.For: self._for,
            tirx.While: self._while,
            tirx.IfThenElse: self._if,
            tirx.BufferStore: self._store,
            tirx.Bind: self._bind,
            tirx.AllocBuffer: self._allocate,
            tirx.DeclBuffer: self._declare,
            tirx.AttrStmt: lambda s, depth: self._statement(s.body, depth),
            tirx.Evaluate: self._evaluate,
        }

    def function(self) -> PrintedFunction:
        written = _written_parameters(self._function)
        parameters = []
        for buffer, is_written in zip(self._function.params, written, strict=True):
            if not tirx.is_buffer_var(buffer):
                raise PrintError("a scalar parameter")
            name = self._names.fresh("out" if is_written else "in")
            self._define_buffer(buffer, name, _buffer_dtype(buffer))
            const = "" if is_written else "const "
            ctype = C_TYPES[_buffer_dtype(buffer)]
            parameters.append((is_written, f"{const}{ctype} *restrict {name}", name))
        self._statement(self._function.body, 1)
        lines, used = _without_unused(self._lines)
        names = [name for _, _, name in parameters] + [name for name, _, _ in self._workspaces]
        unused = [name for name in names if name not in used]
        body = [f"    (void){name};" for name in unused]
        read = frozenset[str]().union(*(line.reads for line in lines))
        body += [f"{'    ' * line.depth}{line.text}{self._unread(line, read)}" for line in lines]
        ordered = [text for _, text, _ in sorted(parameters, key=lambda item: item[0])]
        ordered += [f"{C_TYPES[dtype]} *restrict {name}" for name, dtype, _ in self._workspaces]
        return PrintedFunction(
            parameters=", ".join(ordered),
            body="".join(f"{line}\n" for line in body),
            written=tuple(written),
            workspaces=tuple(nbytes for _, _, nbytes in self._workspaces),
        )

    def _unread(self, line: _Line, read: frozenset[str]) -> str:
        """What keeps compilers from warning of an array that is written and never read."""
        lonely = line.declares in self._types and line.declares not in read
        return f" (void){line.declares};" if lonely else ""

    # What the expression printer asks for.

    def variable(self, var: Any) -> tuple[str, bool]:
        if var not in self._variables:
            raise PrintError("a variable that is defined nowhere (a symbolic shape)")
        name, data = self._variables[var]
        self._used.add(name)
        return name, data

    def buffer(self, buffer: Any) -> str:
        if buffer not in self._buffers:
            raise PrintError("a buffer that is defined nowhere")
        name = self._buffers[buffer]
        self._used.add(name)
        self._reads[name] += 1
        return name

    def never_negative(self, expr: Any) -> bool:
        return bool(self._analyzer.const_int_bound(expr).min_value >= 0)

    # Statements.

    def _emit(self, text: str, depth: int, declares: str = "") -> None:
        reads = frozenset(+self._reads)
        self._lines.append(_Line(text, depth, frozenset(self._used), declares, reads))
        self._used.clear()
        self._reads.clear()

    def _statement(self, stmt: Any, depth: int) -> None:
        printer = self._statements.get(type(stmt))
        if printer is None:
            raise PrintError(f"a statement of kind {type(stmt).__name__}")
        printer(stmt, depth)

    def _sequence(self, stmt: Any, depth: int) -> None:
        for part in stmt.seq:
            self._statement(part, depth)

    def _for(self, stmt: Any, depth: int) -> None:
        run = self._run(stmt) if self._runs else None
        if run is not None:
            self._copy(run, depth)
            return
        turned = plane(stmt, self._buffers, self._types, self._analyzer) if self._runs else None
        if turned is not None:
            self._emit(f"#if {TURNS}", depth)
            self._turn(turned, depth)
            self._emit("#else", depth)
        self._loop(stmt, depth)
        if turned is not None:
            self._emit("#endif", depth)

    def _loop(self, stmt: Any, depth: int) -> None:
        name = self._names.fresh("i")
        start, extent = self._print(stmt.min), self._print(stmt.extent)
        self._variables[stmt.loop_var] = (name, False)
        self._analyzer.bind(stmt.loop_var, tvm.ir.Range.from_min_extent(stmt.min, stmt.extent))
        ctype = C_TYPES[dtype_of(stmt.loop_var)]
        end = extent.code if start.code in ("0", "INT64_C(0)") else f"{start.code} + {extent.code}"
        self._emit(f"for ({ctype} {name} = {start.code}; {name} < {end}; ++{name}) {{", depth)
        self._statement(stmt.body, depth + 1)
        self._emit("}", depth)

    def _run(self, stmt: Any) -> _Run | None:
        """What a loop copies that does nothing but copy elements in a row."""
        store = stmt.body
        if not isinstance(store, tirx.BufferStore) or not isinstance(store.value, ir.TensorLoad):
            return None
        load, bounds = store.value, (stmt.min, stmt.extent)
        if not all(isinstance(bound, ir.prim.IntImm) for bound in bounds) or int(stmt.min):
            return None
        dtype = _buffer_dtype(store.buffer)
        if int(stmt.extent) < LEAST_RUN or dtype != _buffer_dtype(load.source):
            return None
        if self._buffers.get(store.buffer) == self._buffers.get(load.source):
            return None  # memcpy takes no overlaps
        zero = ir.prim.IntImm(str(stmt.loop_var.ty.dtype), 0)
        begins = []
        for indices in (store.indices, load.indices):
            begin = self._analyzer.simplify(substituted(indices[0], stmt.loop_var, zero))
            if not self._analyzer.can_prove_equal(indices[0], begin + stmt.loop_var):
                return None
            begins.append(begin)
        return _Run(store.buffer, begins[0], load.source, begins[1], int(stmt.extent))

    def _copy(self, run: _Run, depth: int) -> None:
        """Compilers see a run where it is called one: gcc 12 vectorises loops around it instead."""
        ends = ((run.to, run.to_begin), (run.source, run.source_begin))
        to, at = (self._place(buffer, begin) for buffer, begin in ends)
        self._reads[self._buffers[run.to]] -= 1
        ctype = C_TYPES[_buffer_dtype(run.to)]
        self._emit(f"memcpy({to}, {at}, {run.length} * sizeof({ctype}));", depth)

    def _turn(self, turned: Plane, depth: int) -> None:
        """Block by block."""
        for inside, loop in enumerate((turned.outer, turned.inner)):
            name = self._names.fresh("i")
            self._variables[loop.loop_var] = (name, False)
            head = f"for ({C_TYPES[dtype_of(loop.loop_var)]} {name} = 0; "
            head += f"{name} < {int(loop.extent)}; {name} += {BLOCK}) {{"
            self._emit(head, depth + inside)
        store = turned.inner.body
        ends = ((store.buffer, store.indices[0]), (store.value.source, store.value.indices[0]))
        to, at = (self._place(buffer, index) for buffer, index in ends)
        self._reads[self._buffers[store.buffer]] -= 1
        call = f"{self._helpers.turned()}({to}, {turned.to_line}, {at}, {turned.from_line});"
        self._emit(call, depth + 2)
        self._emit("}", depth + 1)
        self._emit("}", depth)

    def _place(self, buffer: Any, begin: Any) -> str:
        name, code = self.buffer(buffer), self._print(begin)
        return name if code.code in ("0", "INT64_C(0)") else f"{name} + {code.at(ADD)}"

    def _while(self, stmt: Any, depth: int) -> None:
        self._emit(f"while ({self._print(stmt.condition).code}) {{", depth)
        self._statement(stmt.body, depth + 1)
        self._emit("}", depth)

    def _if(self, stmt: Any, depth: int) -> None:
        self._emit(f"if ({self._print(stmt.condition).code}) {{", depth)
        self._statement(stmt.then_case, depth + 1)
        if stmt.else_case is not None:
            self._emit("} else {", depth)
            self._statement(stmt.else_case, depth + 1)
        self._emit("}", depth)

    def _store(self, stmt: Any, depth: int) -> None:
        value = self._print(stmt.value)
        element = self._print.element(stmt.buffer, stmt.indices)
        # It was printed to be written.
        self._reads[self._buffers[stmt.buffer]] -= 1
        self._emit(f"{element} = {value.code};", depth)

    def _bind(self, stmt: Any, depth: int) -> None:
        value = self._print(stmt.value)
        name = self._names.fresh("v")
        self._variables[stmt.var] = (name, value.data)
        if not value.data and not dtype_of(stmt.var).startswith("float"):
            self._analyzer.bind(stmt.var, stmt.value)
        ctype = C_TYPES[dtype_of(stmt.var)]
        self._emit(f"const {ctype} {name} = {value.code};", depth, declares=name)

    def _allocate(self, stmt: Any, depth: int) -> None:
        dtype = _buffer_dtype(stmt.buffer)
        count = max(1, prod(int(size) for size in stmt.buffer.ty.shape))
        nbytes = count * ITEMSIZE[dtype]
        if nbytes >= self._stack:
            name = self._names.fresh("ws")
            self._workspaces.append((name, dtype, nbytes))
            self._define_buffer(stmt.buffer, name, dtype)
            return
        name = self._names.fresh("t")
        self._define_buffer(stmt.buffer, name, dtype)
        self._emit(f"{C_TYPES[dtype]} {name}[{count}];", depth, declares=name)

    def _declare(self, stmt: Any, _depth: int) -> None:
        name = self._buffers[stmt.data.args[0]]
        if self._types[name] != _buffer_dtype(stmt.buffer):
            raise PrintError("a buffer read as another type")
        self._define_buffer(stmt.buffer, name, self._types[name])

    def _evaluate(self, stmt: Any, _depth: int) -> None:
        if not isinstance(stmt.value, tvm.ir.prim.IntImm):
            raise PrintError(f"a call of {getattr(stmt.value.op, 'name', stmt.value.op)}")

    def _define_buffer(self, buffer: Any, name: str, dtype: str) -> None:
        self._buffers[buffer] = name
        self._types[name] = dtype


def _buffer_dtype(buffer: Any) -> str:
    dtype = str(buffer.ty.dtype)
    if dtype not in C_TYPES:
        raise PrintError(f"tensors of type {dtype}")
    return dtype


def _written_parameters(prim_func: Any) -> list[bool]:
    """Per parameter, whether a statement writes it, directly or through a flat view."""
    parents: dict[Any, Any] = {}
    stored: list[Any] = []

    def note_view(node: Any) -> None:
        parents[node.buffer] = node.data.args[0]

    def note_store(node: Any) -> None:
        stored.append(node.buffer)

    callbacks = [(tirx.DeclBuffer, note_view), (tirx.BufferStore, note_store)]
    tvm_ffi.structural_walk(prim_func.body, callbacks)
    roots = set()
    for buffer in stored:
        while buffer in parents:
            buffer = parents[buffer]
        roots.add(buffer)
    return [param in roots for param in prim_func.params]


def _without_unused(lines: list[_Line]) -> tuple[list[_Line], set[str]]:
    """The lines without definitions that nothing reads, and the names that the rest uses."""
    used: set[str] = set()
    kept = []
    for line in reversed(lines):
        if line.declares and line.declares not in used:
            continue
        used |= line.uses
        kept.append(line)
    return kept[::-1], used
