"""The network's own C: header, the function that makes all calls, weights, Makefile, host main."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from mako.template import Template

from match_aie import templates
from match_aie.codegen.flags import (
    CORRECTNESS,
    CXX_CORRECTNESS,
    CXX_SANITIZERS,
    SANITIZERS,
    WARNINGS,
    is_cxx,
)
from match_aie.codegen.many import Many, many
from match_aie.codegen.names import comment, network_symbols
from match_aie.codegen.port import PortRecord
from match_aie.codegen.port_view import PortView, port_views, tensor_bytes
from match_aie.codegen.sizes import SizesView, sizes_view
from match_aie.codegen.state import States
from match_aie.codegen.weights import Blob, Member
from match_aie.errors import InternalError
from match_aie.hardware import BuildProfile, Runtime
from match_aie.lowering import (
    Argument,
    LayerProgram,
    NetworkProgram,
    Schedule,
    Step,
    kept_after,
)
from match_aie.lowering.groups import Group, groups
from match_aie.lowering.plan import places


@dataclass(frozen=True)
class TraceView:
    """A tensor that a step has written: its index, C expressions of its address and its bytes."""

    step: int
    tensor: int
    address: str
    nbytes: str


@dataclass(frozen=True)
class CallView:
    """One step: what it is, for a comment; the call; what it wrote.

    `linked`: other layers have things in the inner memory meanwhile, `l1` bytes in all (`near`: its
    list); `kept`, (offset, bytes), outlive it; `ahead`: operands loaded a step before, or "NULL".
    """

    remark: str
    symbol: str
    arguments: tuple[str, ...]
    written: tuple[TraceView, ...]
    linked: bool = False
    kept: tuple[tuple[int, int], ...] = ()
    ahead: tuple[str, ...] = ()
    l1: int = 0
    near: bool = False


@dataclass(frozen=True)
class StreamView:
    """A fetch of constants: before which step it starts, which one waits, where from and to."""

    start: int
    step: int
    address: str
    offset: int
    nbytes: int


@dataclass(frozen=True)
class NetworkView:
    """Everything that the templates in templates/common print.

    Attributes:
        name: C identifier, prefix of every external symbol.
        macro: the same in upper case, prefix of every macro.
        title: the user's name of the network, safe in a comment.
        alignment: of arena, inputs, outputs and constants, in bytes.
        arena: bytes.
        inputs: in the model's order.
        outputs: in the model's order.
        members: constants in the blob.
        weights: bytes of the blob.
        functions: definitions of all C functions, in the order to emit.
        calls: in execution order.
        uses_arena: whether any call has an address in the arena.
        uses_inputs: whether any call reads an input.
        flags: for the compiler, correctness and target.
        warnings: for the compiler.
        sanitizers: for the compiler.
        cxx_sanitizers: for that of C++.
        sources: paths of what makes the library, C and assembler.
        cxx_sources: the same, C++.
        cxx_flags: for the compiler of C++, correctness and target.
        headers: of the target's runtime.
        guard: C function of it that says why this machine cannot run the code; "" for none.
        entry: C function of it that runs the steps; "" for none.
        rules: makefile of the chip's own build; "" for none.
        groups: the calls, divided by who makes them.
        beside: of steps at the same time: by the first one's index, in which order they get turns,
            each with its lane.
        streams: constants that are fetched from the backing memory, in order of their steps.
        states: outputs that are inputs of the next call.
        many: how runs follow each other in one call; None where they do not.
        sized: sizes that a run gives.
    """

    name: str
    macro: str
    title: str
    alignment: int
    arena: int
    inputs: tuple[PortView, ...]
    outputs: tuple[PortView, ...]
    members: tuple[Member, ...]
    weights: int
    functions: tuple[str, ...]
    calls: tuple[CallView, ...]
    uses_arena: bool
    uses_inputs: bool
    flags: tuple[str, ...]
    sources: tuple[str, ...]
    cxx_sources: tuple[str, ...]
    cxx_flags: tuple[str, ...]
    headers: tuple[str, ...]
    guard: str
    entry: str
    rules: str
    groups: tuple[Group, ...]
    beside: Mapping[int, tuple[tuple[int, int], ...]]
    streams: tuple[StreamView, ...]
    states: States
    many: Many | None = None
    sized: SizesView = SizesView()
    warnings: tuple[str, ...] = WARNINGS
    sanitizers: tuple[str, ...] = SANITIZERS
    cxx_sanitizers: tuple[str, ...] = CXX_SANITIZERS

    @property
    def backing(self) -> int:
        """Bytes of all constants that are fetched."""
        return sum(stream.nbytes for stream in self.streams)


class Addresses:
    """C expressions of the addresses of tensors, constants and workspaces."""

    def __init__(self, program: NetworkProgram, blob: Blob) -> None:
        """Work out who owns which storage."""
        schedule = program.schedule
        self._where = places(schedule)
        self.sized = sizes_view(schedule.sizes)
        self._places = {p.name: p.offset for p in program.plan.placements}
        self._inputs = {name: f"in[{i}]" for i, name in enumerate(schedule.inputs)}
        self._outputs = {name: f"out[{i}]" for i, name in enumerate(schedule.outputs)}
        self._members = {member.name: member for member in blob.members}
        self._weights = f"{schedule.name}_weights"
        self._streamed = streamed_addresses(program)
        self._inner = {
            self._where[name].owner: _inner(step.layer, self._where[name].offset)
            for step in schedule.steps
            if step.layer is not None
            for name in step.stays()
        }

    def written(self, name: str) -> str:
        """Where tensor `name` lies after the step that writes it."""
        where = self._where[name]
        if where.owner not in self._inner:
            return self.tensor(name)
        inner = self._inner[where.owner]
        return inner if isinstance(inner, str) else f"ma_l1_at({inner + where.offset})"

    def tensor(self, name: str) -> str:
        """Where tensor `name` lies; NULL where only the module's own memory ever holds it."""
        owner, offset = self._where[name].owner, self._where[name].offset
        if owner in self._inner:
            return "NULL"
        if owner in self._outputs:
            text = self._outputs[owner]
            return f"(void *)((uint8_t *){text} + {offset})" if offset else text
        if owner in self._inputs:
            text = self._inputs[owner]
            return f"(const void *)((const uint8_t *){text} + {offset})" if offset else text
        return f"(void *)(arena + {self._places[owner] + offset})"

    def argument(self, argument: Argument, dtype: str | None = None) -> str:
        """The C expression for `argument` of a call.

        `dtype` is what the callee takes, where a packed constant may be of another type.
        """
        if argument.kind == "tensor":
            return self.tensor(argument.name)
        if argument.kind == "workspace":
            return f"(void *)(arena + {self._places[argument.name]})"
        if argument.name in self._streamed:
            return f"(const void *)({self._streamed[argument.name]})"
        member = self._members[argument.name]
        text = f"{self._weights}.{member.name}"
        fits = member.typed and dtype in (None, member.dtype)
        return text if fits else f"(const void *){text}"


def _inner(layer: LayerProgram, offset: int) -> str | int:
    """Where a layer's result lies that only its module holds: C text, or the inner memory's byte.

    That is of the storage in which the result begins at `offset`.
    """
    if layer.held_until is not None or layer.tiles is None:
        return f"{layer.symbol}_held()"
    return layer.tiles.operands[-1].offset - offset


def streamed_addresses(program: NetworkProgram) -> dict[str, str]:
    """Where constants that are fetched lie in the arena, as C expressions."""
    sizes = {c.name: max(1, c.value.nbytes) for c in program.schedule.constants}
    found = {}
    for stream in program.streams:
        offset = program.plan.offset(stream.space)
        for name in stream.constants:
            found[name] = f"arena + {offset}"
            offset += -(-sizes[name] // program.plan.alignment) * program.plan.alignment
    return found


def _streams(program: NetworkProgram) -> tuple[StreamView, ...]:
    found, offset = [], 0
    for stream in program.streams:
        place = f"arena + {program.plan.offset(stream.space)}"
        found.append(StreamView(stream.start, stream.step, place, offset, stream.nbytes))
        offset += stream.nbytes
    return tuple(found)


def _calls(schedule: Schedule, addresses: Addresses) -> tuple[CallView, ...]:
    kept, shown = kept_after(schedule), _shown(schedule, addresses)
    return tuple(
        _call(step, addresses, shown[index], kept.get(index, ()))
        for index, step in enumerate(schedule.steps)
    )


def _shown(schedule: Schedule, addresses: Addresses) -> list[tuple[TraceView, ...]]:
    """What can be looked at after each step: what it wrote, or what was held until then."""
    indices = {tensor.name: index for index, tensor in enumerate(schedule.tensors)}
    sizes = {tensor.name: tensor_bytes(tensor, addresses.sized) for tensor in schedule.tensors}
    found: list[list[TraceView]] = [[] for _ in schedule.steps]
    for index, step in enumerate(schedule.steps):
        held = step.layer.held_until if step.layer else None
        for name in step.writes():
            view = TraceView(index, indices[name], addresses.written(name), sizes[name])
            found[index if held is None else held].append(view)
    return [tuple(views) for views in found]


def _call(
    step: Step,
    addresses: Addresses,
    written: tuple[TraceView, ...],
    kept: tuple[tuple[int, int], ...],
) -> CallView:
    by = f"{step.layer.module} {step.layer.pattern}" if step.layer else "fallback"
    pairs = zip(step.arguments, _taken(step), strict=True)
    arguments = (
        *(addresses.argument(argument, dtype) for argument, dtype in pairs),
        *map(addresses.sized.text, step.extents),
    )
    tiles = step.layer.tiles if step.layer else None
    early = [operand.moves == "ahead" for operand in tiles.operands] if tiles else []
    named = zip(early, arguments, strict=False)
    return CallView(
        comment(f"{step.label or step.symbol} ({by})", 80),
        step.symbol,
        arguments,
        written,
        linked=tiles is not None and tiles.linked,
        kept=kept,
        ahead=tuple(text if is_early else "NULL" for is_early, text in named if any(early)),
        l1=max(tiles.total, 16) if tiles is not None else 0,
        near=tiles is not None and tiles.near,
    )


def _taken(step: Step) -> list[str | None]:
    """Element types of the parameters that a layer's constants go to; None for other arguments."""
    operands = step.layer.workload.operands if step.layer else ()
    constants = [operands != () and a.kind == "constant" for a in step.arguments]
    return [operands[at].dtype if known else None for at, known in enumerate(constants)]


def _functions(schedule: Schedule, layers: Mapping[str, str]) -> tuple[str, ...]:
    """Text of every function, fallback's first; checks that each call has one callee."""
    called = list(dict.fromkeys(step.symbol for step in schedule.steps))
    made = {function.symbol: function.source for function in schedule.functions}
    for symbol in called:
        if (symbol in made) == (symbol in layers):
            raise InternalError(f"{symbol} is called and must be defined exactly once")
    clash = network_symbols(schedule.name) & {*made, *layers}
    if clash:
        raise InternalError(f"{sorted(clash)[0]} is a name of the network itself")
    return (*made.values(), *(layers[symbol] for symbol in called if symbol in layers))


def network_view(
    program: NetworkProgram,
    layers: Mapping[str, str],
    blob: Blob,
    ports: tuple[Sequence[PortRecord], Sequence[PortRecord]],
    *,
    title: str,
    profile: BuildProfile,
    sources: Sequence[str],
    runtime: Runtime = Runtime(),
    states: States = States(),
) -> NetworkView:
    """What the templates see of `program`.

    Args:
        program: schedule and memory plan.
        layers: C text by symbol of every layer.
        blob: where the constants lie.
        ports: inputs and outputs.
        title: the network's name as users know it.
        profile: how the target's sources are built.
        sources: paths of what makes the library.
        runtime: what the target ships.
        states: outputs that are inputs of the next call.

    Raises:
        InternalError: a call has no callee, or a name clashes.
    """
    schedule, macro = program.schedule, program.schedule.name.upper()
    calls = _calls(schedule, addresses := Addresses(program, blob))
    words = [word for call in calls for word in call.arguments]
    return NetworkView(
        name=schedule.name,
        macro=macro,
        title=comment(title),
        alignment=program.plan.alignment,
        arena=program.plan.nbytes,
        inputs=port_views(ports[0], f"{macro}_INPUT", addresses.sized),
        outputs=port_views(ports[1], f"{macro}_OUTPUT", addresses.sized),
        members=blob.members,
        weights=len(blob.data),
        functions=_functions(schedule, layers),
        calls=calls,
        uses_arena=any("(arena + " in word for word in words),
        uses_inputs=any(re.search(r"\bin\[", word) for word in words),
        flags=(*CORRECTNESS, *profile.flags),
        sources=tuple(path for path in sources if not is_cxx(path)),
        cxx_sources=tuple(path for path in sources if is_cxx(path)),
        cxx_flags=(*CXX_CORRECTNESS, *profile.cxx_flags),
        headers=runtime.headers + (runtime.layer_headers if schedule.layers else ()),
        guard=runtime.guard,
        entry=runtime.entry,
        rules=runtime.rules,
        groups=groups(schedule, program.streams, bool(runtime.entry)),
        beside={one.step: one.turns for one in schedule.beside},
        streams=_streams(program),
        states=states,
        many=None if runtime.entry or states.records else many(program, addresses.tensor),
        sized=addresses.sized,
    )


def render_common(name: str, view: NetworkView, **more: object) -> bytes:
    """The text of template `name` of templates/common, such as "network.c".

    Args:
        name: of the template.
        view: the network.
        more: what the template takes beside it.
    """
    text = str(_template(f"common/{name}.mako").render(net=view, **more))
    return (text.strip() + "\n").encode()


@cache
def _template(path: str) -> Template:
    return Template(text=templates.source(path), filename=path, strict_undefined=True)
