"""The object files that cores link: one for each kernel function, its calls as C functions.

A function of the array's graphs fetches its buffers itself; here each of its calls is one of the
text's, which takes the buffers as the core holds them, and the call's number last. What such a
function keeps from call to call lies in an argument of its own, behind the buffers (`scratch`).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from match_aie.errors import TargetError
from match_aie.targets.aie_ml.array.program import ArrayProgram, Buffer, Core, Tile
from match_aie.targets.aie_ml.graph.plan import Call, Header
from match_aie.targets.aie_ml.kernels.attention import AttentionCall
from match_aie.targets.aie_ml.kernels.bands import Bands, PoolCall
from match_aie.targets.aie_ml.kernels.call import LayerCall
from match_aie.targets.aie_ml.kernels.nest import Nest
from match_aie.targets.aie_ml.kernels.recurrent import RecurrentCall
from match_aie.targets.aie_ml.kernels.spec import BYTES, C_TYPES
from match_aie.targets.aie_ml.kernels.stack import Stack
from match_aie.targets.xdna.mlir.kernels import arguments, names

#: Buffers among a function's arguments: which way, of which type, and their name.
_BUFFER = re.compile(r"adf::(input|output)_(?:async_)?buffer<(\w+)> &__restrict (\w+)")

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
    """

    name: str
    c_type: str
    elements: int
    known: str = ""


@dataclass(frozen=True)
class Entry:
    """A C function that the text calls.

    Attributes:
        name: of it.
        arguments: buffers, in order; then come `scratch` where there is one, and the number.
        pieces: which parts of the kernel function its calls are.
    """

    name: str
    arguments: tuple[Argument, ...]
    pieces: tuple[int, ...]


@dataclass(frozen=True)
class ObjectFile:
    """What is linked to the cores that run one function.

    Attributes:
        call: that function.
        entries: its calls.
        scratch: bytes that it keeps from call to call.
    """

    call: Call
    entries: tuple[Entry, ...]
    scratch: int

    @property
    def symbol(self) -> str:
        """The file is called `<symbol>.cc`, and `<symbol>.o`."""
        return self.call.symbol

    @property
    def headers(self) -> tuple[Header, ...]:
        """Of kernels, as its source includes them."""
        inner = self.call.ending() if isinstance(self.call, Nest) else self.call
        return inner.headers

    @property
    def plain(self) -> bool:
        """Whether a call is the whole function, which has no tables."""
        kinds = Nest, Stack, Bands, PoolCall, AttentionCall, RecurrentCall
        return not isinstance(self.call, kinds) and not tables_of(self.call)

    @property
    def kind(self) -> str:
        """Which template writes its pieces."""
        if self.plain:
            return "whole"
        named = {
            Nest: "nest",
            Stack: "stack",
            Bands: "bands",
            PoolCall: "pool",
            AttentionCall: "attention",
            RecurrentCall: "recurrent",
            LayerCall: "layer",
        }
        return named[type(self.call)]

    @property
    def cascades(self) -> tuple[tuple[str, str, str], ...]:
        """(way, accumulator, name) of the function's cascades."""
        found = (_CASCADE.match(text) for text in self.call.arguments)
        return tuple((m[1], m[2], m[3]) for m in found if m is not None)


def object_name(core: Core) -> str:
    """The object file of a core."""
    return f"{core.function.symbol if core.function is not None else 'kernel'}.o"


def scratch_bytes(call: Call | None) -> int:
    """What calls of a function leave for later ones, beside results that have buffers."""
    if isinstance(call, Nest) and call.k_tiles > 1:
        return call.stack_bytes
    return call.stack_bytes if isinstance(call, AttentionCall | RecurrentCall) else 0


def objects(program: ArrayProgram) -> tuple[ObjectFile, ...]:
    """Of all cores, each once.

    Raises:
        TargetError: a core has no function, or one whose calls cannot be told apart.
    """
    called = names(program)
    entries: dict[str, dict[str, Entry]] = {}
    calls: dict[str, Call] = {}
    for core in program.cores:
        if core.function is None:
            raise TargetError("a core has no function", hint="a program laid out from a graph")
        known = calls.setdefault(core.function.symbol, core.function)
        if known != core.function:
            raise TargetError(f"two kernels are called {known.symbol}")
        taken = _arguments(core.function, arguments(program, core.tile))
        mine = entries.setdefault(core.function.symbol, {})
        for at, name in enumerate(called[core.tile]):
            before = mine.get(name)
            pieces = {piece(core.function, at), *(before.pieces if before else ())}
            mine[name] = Entry(name, taken, tuple(sorted(pieces)))
    return tuple(
        ObjectFile(call, tuple(entries[symbol].values()), scratch_bytes(call))
        for symbol, call in calls.items()
    )


def piece(call: Call, at: int) -> int:
    """Which part of a function call number `at` of a run is.

    Of a nest the kernel of its turn of the reduction (the first, those between, the last); where it
    goes on from call to call, nothing for the calls that only fetch. Of a stack the layer, of
    attention the product, of a recurrent layer whether the group is the last one.
    """
    if isinstance(call, Nest) and call.call.spec.carries:
        return at % (2 * call.m_tiles - 1) % 2 if call.call.spec.stores else 0
    if isinstance(call, Nest):
        k = at % call.k_tiles
        last = len(call.kernels) - 1
        return 0 if k == 0 else last if k == call.k_tiles - 1 else 1
    if isinstance(call, Stack):
        return at % len(call.nests)
    if isinstance(call, AttentionCall):
        return at % 2
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
    types: dict[str, tuple[str, str]] = {}
    inputs = [(c_type, name) for way, c_type, name in found if way == "input"]
    types |= {f"in{at}": one for at, one in enumerate(inputs)}
    for way, c_type, name in found:
        if way == "output":
            types["out"] = c_type, name
    types |= {p.name: (p.c_type, p.name) for p in call.parameters}
    types["tables"] = "int32", ""
    if isinstance(call, Stack):
        for at, nest in enumerate(call.nests):
            s = nest.call.spec
            types[call.kept(at)] = s.c_type(s.requantise.dtype), call.kept(at)
    made = []
    for buffer in buffers:
        if buffer.name not in types:
            raise TargetError(f"kernel {call.symbol} has no argument {buffer.name}")
        c_type, known = types[buffer.name]
        made.append(Argument(buffer.name, c_type, buffer.bytes // _SIZES[c_type], known))
    return tuple(made)


def extra_argument(program: ArrayProgram, tile: Tile) -> int:
    """Bytes of the scratch of a core; 0 for none."""
    return scratch_bytes(program.core_at[tile].function)
