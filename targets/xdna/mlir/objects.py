"""The object files that cores link: one for each kernel function, its calls as C functions.

A function of the array's graphs fetches its buffers itself; here each of its calls is one of the
text's, which takes the buffers as the core holds them, and the call's number last. What such a
function keeps from call to call lies in an argument of its own, behind the buffers (`scratch`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from match_aie.errors import TargetError
from match_aie.targets.aie_ml.array.program import ArrayProgram, Buffer, Core, Tile
from match_aie.targets.aie_ml.graph.plan import Call, Header
from match_aie.targets.aie_ml.kernels.attention import HEAD_PIECES, AttentionCall
from match_aie.targets.aie_ml.kernels.attention_parts import PartsCall, Phase
from match_aie.targets.aie_ml.kernels.bands import Bands, PoolCall
from match_aie.targets.aie_ml.kernels.blocked_attention import BlockedAttention
from match_aie.targets.aie_ml.kernels.call import LayerCall
from match_aie.targets.aie_ml.kernels.float_attention import FloatAttention
from match_aie.targets.aie_ml.kernels.nest import Nest
from match_aie.targets.aie_ml.kernels.recurrent import RecurrentCall
from match_aie.targets.aie_ml.kernels.recurrent_int8 import IntegerCall
from match_aie.targets.aie_ml.kernels.recurrent_joined import JoinedCall
from match_aie.targets.aie_ml.kernels.running_attention import RunningAttention
from match_aie.targets.aie_ml.kernels.spec import BYTES, C_TYPES
from match_aie.targets.aie_ml.kernels.stack import Stack
from match_aie.targets.aie_ml.kernels.streamed_attention import StreamedAttention
from match_aie.targets.xdna.mlir.kernels import arguments, names
from match_aie.targets.xdna.mlir.turns import functions, told_shift

#: Buffers among a function's arguments: which way, of which type, and their name.
_BUFFER = re.compile(r"adf::(input|output)_(?:async_)?buffer<(\w+)> &__restrict (\w+)")

_ARRAY = re.compile(r"const (\w+) \(&(\w+)\)\[(\d+)\]")

_CASCADE = re.compile(r"(input|output)_cascade<(\w+)> \*(\w+)")

#: Bytes of elements by their C++ name.
_SIZES = {c_type: BYTES[dtype] for dtype, c_type in C_TYPES.items()}


@dataclass(frozen=True)
class Argument:
    """A buffer as a kernel's function takes it.

    Attributes:
        name: in the tile's memory, and of the C argument.
        c_type: of its elements.
        elements: of one copy.
        known: name in the function's own text; empty where it has none there.
        way: "input" or "output" for buffers that streams fill or empty; else empty.
    """

    name: str
    c_type: str
    elements: int
    known: str = ""
    way: str = ""


@dataclass(frozen=True)
class Entry:
    """A C function that the text calls.

    Attributes:
        name: of it.
        arguments: buffers, in order; then come `scratch` where there is one, and the number.
        pieces: which parts of the kernel function its calls are.
        shifts: whether it is told, behind the number, by how many bits sums are shifted.
    """

    name: str
    arguments: tuple[Argument, ...]
    pieces: tuple[int, ...]
    shifts: bool = False


@dataclass(frozen=True)
class ObjectFile:
    """What is linked to the cores that run one function.

    Attributes:
        call: that function.
        entries: its calls.
        scratch: bytes that it keeps from call to call.
        together: whether calls of several pieces are one function behind their names, so that it
            is entered and left in one place of program memory.
    """

    call: Call
    entries: tuple[Entry, ...]
    scratch: int
    together: bool = True

    @property
    def symbol(self) -> str:
        """The file is called `<symbol>.cc`, and `<symbol>.o`."""
        return self.call.symbol

    @property
    def headers(self) -> tuple[Header, ...]:
        """Of kernels, as its source includes them."""
        return self.call.headers

    @property
    def plain(self) -> bool:
        """Whether a call is the whole function, which has no tables."""
        kinds = Nest, Bands, PoolCall, AttentionCall, RecurrentCall, PartsCall
        return not isinstance(self.call, kinds) and not tables_of(self.call)

    @property
    def kind(self) -> str:
        """Which template writes its pieces."""
        if self.plain:
            return "whole"
        named = {
            Nest: "nest",
            Bands: "bands",
            PoolCall: "pool",
            AttentionCall: "attention",
            RecurrentCall: "recurrent",
            StreamedAttention: "parts",
            FloatAttention: "float_parts",
            BlockedAttention: "blocked_parts",
            RunningAttention: "running_parts",
            LayerCall: "layer",
        }
        return named[type(self.call)]

    @property
    def passed(self) -> tuple[str, ...]:
        """What the whole function is given, as C++ text."""
        found = []
        for text in self.call.arguments:
            buffer, cascade = _BUFFER.match(text), _CASCADE.match(text)
            array = _ARRAY.match(text)
            if array is not None:
                c_type, name, size = array.groups()
                found.append(f"*reinterpret_cast<const {c_type} (*)[{size}]>({name})")
            elif buffer is not None or cascade is not None:
                found.append((buffer or cascade)[3])  # type: ignore[index]
            else:
                raise TargetError(f"kernel {self.symbol} takes {text}")
        return tuple(found)

    @property
    def choice(self) -> str:
        """The piece of call `number`, as C++ text."""
        call = self.call
        if isinstance(call, Nest):
            k, last = f"number % {call.k_tiles}", len(call.kernels) - 1
            return f"({k} == 0 ? 0u : {k} == {call.k_tiles - 1} ? {last}u : 1u)"
        if isinstance(call, RecurrentCall):
            return f"unsigned(number == {call.passes - 1})"
        if isinstance(call, PartsCall):
            at, queries = f"number % {len(call.phases)}u", call.together * call.pieces
            return f"({at} < {queries}u ? 0u : 1u + ({at} - {queries}u) / {call.parts}u)"
        return f"number % {HEAD_PIECES}"

    @property
    def phases(self) -> tuple[Phase, ...]:
        """What pieces of attention in parts do."""
        return ("queries", *self.call.kinds) if isinstance(self.call, PartsCall) else ()

    @property
    def kept(self) -> tuple[tuple[str, str, int], ...]:
        """What attention in parts has in `scratch`: name, element type, elements."""
        return kept_of(self.call) if isinstance(self.call, PartsCall) else ()

    @property
    def told(self) -> bool:
        """Whether calls are told by how many bits sums are shifted."""
        return any(entry.shifts for entry in self.entries)

    @property
    def cascades(self) -> tuple[tuple[str, str, str], ...]:
        """(way, accumulator, name) of the function's cascades."""
        found = (_CASCADE.match(text) for text in self.call.arguments)
        return tuple((m[1], m[2], m[3]) for m in found if m is not None)


def object_name(core: Core) -> str:
    """The object file of a core."""
    return f"{core.function.symbol if core.function is not None else 'kernel'}.o"


def scratch_bytes(call: Call | None) -> int:
    """What calls of a function leave for later ones, beside results that have buffers.

    What a function needs while it runs, as a norm its sums, lies on the core's stack.
    """
    if isinstance(call, PartsCall):
        return sum(BYTES[dtype] * size for _, dtype, size in kept_of(call))
    if isinstance(call, Nest):  # sums that wait have a buffer where weights come by stream
        return 0 if call.streamed else call.sums_bytes
    return call.stack_bytes if isinstance(call, AttentionCall | RecurrentCall) else 0


def kept_of(call: PartsCall) -> tuple[tuple[str, str, int], ...]:
    """Arrays of attention in parts that share the stack's bank; all others have buffers."""
    return tuple(one for one in call.local if one[0] in ("most", "totals", "ones", "marks"))


def objects(
    program: ArrayProgram, named: Mapping[Tile, Sequence[str]] | None = None
) -> tuple[ObjectFile, ...]:
    """Of all cores, each once, where calls are `named` so; else by `names`.

    Raises:
        TargetError: a core has no function, or one whose calls cannot be told apart.
    """
    called = named or names(program)
    entries: dict[str, dict[str, Entry]] = {}
    calls: dict[str, Call] = {}
    for core in program.cores:
        if core.function is None:
            raise TargetError("a core has no function", hint="a program laid out from a graph")
        if isinstance(core.function, Stack) or _goes_on(core.function):
            raise TargetError(
                f"kernel {core.function.symbol} keeps results or sums from call to call, for which "
                "there are no single calls"
            )
        known = calls.setdefault(core.function.symbol, core.function)
        if known != core.function:
            raise TargetError(f"two kernels are called {known.symbol}")
        taken = _arguments(core.function, arguments(program, core.tile))
        mine = entries.setdefault(core.function.symbol, {})
        if any(one.arguments != taken for one in mine.values()):
            raise TargetError(f"kernel {known.symbol} has other buffers on core {core.tile}")
        for at, name in enumerate(called[core.tile]):
            before = mine.get(name)
            pieces = {piece(core.function, at), *(before.pieces if before else ())}
            told = named is not None and told_shift(core) is not None
            shifts = told and name == functions(core)[-1]
            mine[name] = Entry(name, taken, tuple(sorted(pieces)), shifts)
    return tuple(
        ObjectFile(
            call,
            tuple(entries[symbol].values()),
            scratch_bytes(call),
            named is None or not isinstance(call, Nest),
        )
        for symbol, call in calls.items()
    )


def _goes_on(call: Call) -> bool:
    """Whether a call is no function of its buffers: sums stay in registers, or states go round."""
    if isinstance(call, JoinedCall | IntegerCall):
        return True
    return isinstance(call, Nest) and call.call.spec.carries


def piece(call: Call, at: int) -> int:
    """Which part of a function call number `at` of a run is.

    Of a nest the kernel of its turn of the reduction (the first, those between, the last), of
    attention the first product, the softmax or the second product, of attention in parts one of
    its phases, of a recurrent layer whether the group is the last one.
    """
    if isinstance(call, Nest):
        k = at % call.k_tiles
        last = len(call.kernels) - 1
        return 0 if k == 0 else last if k == call.k_tiles - 1 else 1
    if isinstance(call, AttentionCall):
        return at % HEAD_PIECES
    if isinstance(call, PartsCall):
        return ("queries", *call.kinds).index(call.phases[at % len(call.phases)][0])
    return int(at == call.passes - 1) if isinstance(call, RecurrentCall) else 0


def tables_of(call: Call | None) -> tuple[tuple[str, tuple[int, ...]], ...]:
    """Tables of addresses, in the order in which buffer "tables" holds them."""
    if isinstance(call, PoolCall):
        return ("origins", call.origins), ("offsets", call.offsets)
    if isinstance(call, Bands):
        call = call.call
    return call.tables if isinstance(call, LayerCall) else ()


def initial(program: ArrayProgram, buffer: Buffer) -> np.ndarray | None:
    """What lies in a buffer before the first run: its values, or the tables of its core."""
    core = program.core_at.get(buffer.tile)
    if buffer.values is None and buffer.name == "tables" and core is not None:
        found = [np.array(values, np.int32) for _, values in tables_of(core.function)]
        if sum(values.nbytes for values in found) == buffer.bytes:
            return np.concatenate(found)
    return buffer.values


def _arguments(call: Call, buffers: Sequence[Buffer]) -> tuple[Argument, ...]:
    """Of all functions of a core."""
    found = [m.groups() for text in call.arguments if (m := _BUFFER.match(text))]
    inputs = [(c_type, name) for way, c_type, name in found if way == "input"]
    types = {f"in{at}": (*one, "input") for at, one in enumerate(inputs)}
    for way, c_type, name in found:
        if way == "output":
            types["out"] = c_type, name, way
    types |= {p.name: (p.c_type, p.name, "") for p in call.parameters}
    types["tables"] = "int32", "", ""
    if isinstance(call, Nest):  # those that wait between turns of the reduction
        types["sums"] = call.call.spec.c_type(call.sums_dtype), "", ""
        types["numbers"] = "int32", "", ""
    if isinstance(call, PartsCall):
        types |= {name: (C_TYPES[dtype], "", "") for name, dtype, _ in call.local}
    made = []
    for buffer in buffers:
        if buffer.name not in types:
            raise TargetError(f"kernel {call.symbol} has no argument {buffer.name}")
        c_type, known, way = types[buffer.name]
        made.append(Argument(buffer.name, c_type, buffer.bytes // _SIZES[c_type], known, way))
    return tuple(made)
