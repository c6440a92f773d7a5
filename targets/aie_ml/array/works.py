"""What a graph's kernel function does in one run of its layer: calls, buffers taken and given."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from match_aie.errors import TargetError
from match_aie.targets.aie_ml.array.program import Work
from match_aie.targets.aie_ml.array.recurrent_single import single_works
from match_aie.targets.aie_ml.array.recurrent_works import recurrent_works
from match_aie.targets.aie_ml.array.roles import schedules_of
from match_aie.targets.aie_ml.devices import Architecture
from match_aie.targets.aie_ml.graph.plan import Call, GraphKernel, LayerGraph
from match_aie.targets.aie_ml.kernels.attention import AttentionCall
from match_aie.targets.aie_ml.kernels.attention_parts import PartsCall
from match_aie.targets.aie_ml.kernels.bands import Bands, PoolCall
from match_aie.targets.aie_ml.kernels.call import LayerCall
from match_aie.targets.aie_ml.kernels.nest import Nest
from match_aie.targets.aie_ml.kernels.product import ProductCall
from match_aie.targets.aie_ml.kernels.recurrent import RecurrentCall
from match_aie.targets.aie_ml.kernels.recurrent_single import SingleCall
from match_aie.targets.aie_ml.kernels.spec import BYTES
from match_aie.targets.aie_ml.kernels.stack import Stack
from match_aie.targets.aie_ml.schedule import Scheduled
from match_aie.targets.aie_ml.schedule.attention import attention_schedules
from match_aie.targets.aie_ml.schedule.attention_parts import part_schedules
from match_aie.targets.aie_ml.schedule.generated import pool_schedule, schedule_of
from match_aie.targets.aie_ml.schedule.passes import pass_schedule
from match_aie.targets.aie_ml.schedule.product import product_schedule
from match_aie.targets.aie_ml.schedule.rows import RowCall, row_schedule

#: Buffers among a function's arguments: which way, and of which element type.
_BUFFER = re.compile(r"adf::(input|output)_(?:async_)?buffer<(\w+)>")


@dataclass(frozen=True)
class Ports:
    """Buffers of a kernel function, named as its tile's memory has them.

    Attributes:
        inputs: name and bytes of one copy, in the order of the arguments.
        output: likewise; None where sums go on over the cascade.
        sent: likewise, of what a neighbour or packets read; None where nothing is.
    """

    inputs: tuple[tuple[str, int], ...]
    output: tuple[str, int] | None
    sent: tuple[str, int] | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """All of them."""
        stored = (port for port in (self.output, self.sent) if port is not None)
        return tuple(name for name, _ in (*self.inputs, *stored))


def ports(kernel: GraphKernel) -> Ports:
    """The kernel's buffers.

    Raises:
        TargetError: the function's arguments are not as many as the graph connects.
    """
    found = [m.groups() for text in kernel.call.arguments if (m := _BUFFER.match(text))]
    into = [BYTES[c_type] for way, c_type in found if way == "input"]
    out = [BYTES[c_type] for way, c_type in found if way == "output"]
    sizes = [size for size in (kernel.output, kernel.sent) if size is not None]
    if len(into) != len(kernel.inputs) or len(out) != len(sizes):
        raise TargetError(f"kernel {kernel.call.symbol}: buffers without a connection")
    inputs = tuple(
        (f"in{at}", size * elements)
        for at, (size, elements) in enumerate(zip(into, kernel.inputs, strict=True))
    )
    output = ("out", out[0] * kernel.output) if kernel.output is not None else None
    sent = ("sent", out[-1] * kernel.sent) if kernel.sent is not None else None
    return Ports(inputs, output, sent)


def works(kernel: GraphKernel, arch: Architecture) -> tuple[Work, ...]:
    """All calls of one run of the layer, in order.

    Raises:
        TargetError: the kernel has no schedule.
    """
    names = ports(kernel)
    if isinstance(kernel.call, Nest):
        return tuple(_walk(kernel.call, names, arch)) * kernel.firings
    if isinstance(kernel.call, Stack):
        first, *rest = _layers(kernel.call, arch)
        again = (replace(first, starts=False), *rest)
        return (first, *rest, *again * (kernel.call.passes - 1))
    if isinstance(kernel.call, AttentionCall):
        return _heads(kernel.call, arch)
    if isinstance(kernel.call, PartsCall):
        return _blocks(kernel, kernel.call, arch)
    if isinstance(kernel.call, SingleCall):
        return single_works(kernel.call, arch)
    if isinstance(kernel.call, RecurrentCall):
        return recurrent_works(kernel.call, arch)
    one = Work(_schedule(kernel.call, arch), names.names, names.names)
    if not isinstance(kernel.call, Bands):
        return (one,) * kernel.firings
    more = (replace(one, starts=False),) * (kernel.call.count - 1)
    return (one, *more) * kernel.firings


def works_of(graph: LayerGraph, arch: Architecture) -> Iterator[tuple[Work, ...]]:
    """`works` of each kernel; of tiles that multiply alike, once.

    Raises:
        TargetError: as `works`.
    """
    alike: dict[tuple[int, int, Ports], tuple[Work, ...]] = {}
    for kernel in graph.kernels:
        if isinstance(kernel.call, Nest):  # what others do may hang on their values
            key = id(kernel.call), kernel.firings, ports(kernel)
            alike[key] = found = alike.get(key) or works(kernel, arch)
            yield found
        else:
            yield works(kernel, arch)


def _schedule(call: Call, arch: Architecture) -> Scheduled:
    if isinstance(call, LayerCall):
        return schedule_of(call.spec, arch)
    if isinstance(call, ProductCall):
        return product_schedule(call.spec, arch)
    if isinstance(call, Bands):
        return schedule_of(call.call.spec, arch)
    if isinstance(call, RowCall):
        return row_schedule(call, arch)
    if isinstance(call, PoolCall):
        tiles = call.blocks * len(call.origins)
        return pool_schedule(call.spec, arch, tiles, len(call.offsets))
    raise TargetError(f"kernel {call.symbol} has no schedule")


def table_entries(call: Call) -> int:
    """Entries of the tables of addresses that lie with a function's code."""
    if isinstance(call, PoolCall):
        return len(call.origins) + len(call.offsets)
    if isinstance(call, Bands):
        call = call.call
    if isinstance(call, LayerCall):
        return sum(len(values) for _, values in call.tables)
    return 0


def _layers(stack: Stack, arch: Architecture) -> Iterator[Work]:
    """A pass: x is there before the first layer, room for y before the last one."""
    last = len(stack.nests) - 1
    for at, nest in enumerate(stack.nests):
        numbers = tuple(
            ("w" if p.name == "w" else "other", f"{p.name}{at}") for p in nest.parameters
        )
        yield Work(
            schedule_of(nest.call.spec, arch),
            ("in0",) * (at == 0) + ("out",) * (at == last),
            ("in0", "out") if at == last else (),
            at == 0,
            (
                ("a", "in0" if at == 0 else stack.kept(at - 1)),
                ("other", "out" if at == last else stack.kept(at)),
                *numbers,
            ),
            stack.kept(at),
        )


def _heads(call: AttentionCall, arch: Architecture) -> tuple[Work, ...]:
    """Head by head: keys are given back before a softmax, values taken after it, the same way."""
    scores, weights, values = attention_schedules(call, arch)
    named = {p.name: (("other", p.name),) for p in call.parameters[2:]}
    uses = (("a", "in0"), ("w", "in1"), *named.get("bias0", ()))
    first = Work(scores, ("in0", "in1"), ("in1",), uses=uses)
    between = Work(weights, (), (), starts=False, uses=(("w", "w"), ("w", "cd")))
    # Values that have a port of their own lie in another tile's memory.
    held = "in2" if call.apart else "in1"
    near = () if call.apart else (("w", "in1"),)
    uses = (("other", "out"), *near, *named.get("bias1", ()))
    then = Work(values, (held, "out"), ("in0", held, "out"), starts=False, uses=uses)
    rest = between, then
    return (first, *rest, *(replace(first, starts=False), *rest) * (call.heads - 1))


def _blocks(
    kernel: GraphKernel,
    call: PartsCall,
    arch: Architecture,
) -> tuple[Work, ...]:
    """Block by block: pieces of queries, then all parts of the keys and values in every round."""
    found = part_schedules(call, arch)
    mine = int(dict(kernel.values)["turn"][0]) * call.pieces
    scored = (("a", "queries"), ("w", "in1"))
    bias = tuple(("other", p.name) for p in call.parameters if p.name == "bias0")
    added = (("a", "scores"), ("w", "in1"), ("other", "sums"))
    known: dict[tuple[str, bool], Work] = {}
    for phase, number in call.phases:
        last = phase != "queries" and number == call.parts - 1
        if (phase, last) in known:
            continue
        takes: tuple[str, ...] = ("in0",) if phase == "queries" else ("in1",)
        uses = (("a", "in0"),) if phase == "queries" else scored if bias == () else (*scored, *bias)
        if phase == "values":
            takes, uses = (*takes, "out") if last else takes, added
        schedule = found.of(phase, last=last)
        known[phase, last] = Work(schedule, takes, takes, starts=False, uses=uses)
    passed = known["queries", False]
    if found.passed is not None:
        passed = replace(passed, schedule=found.passed)
    block = tuple(
        passed
        if phase == "queries" and not mine <= number < mine + call.pieces
        else known[phase, phase != "queries" and number == call.parts - 1]
        for phase, number in call.phases
    )
    return (replace(block[0], starts=True), *block[1:], *block * (call.blocks - 1))


def _walk(nest: Nest, names: Ports, arch: Architecture) -> Iterator[Work]:
    """Calls of a function that fetches its buffers itself, in the order of its loops."""
    if nest.call.spec.carries:
        yield from _carried(nest, names, arch)
        return
    schedules = schedules_of(nest, arch)
    sizes = {"m": nest.m_tiles, "n": nest.n_tiles, "k": nest.k_tiles}
    counts = tuple(sizes[name] for name in (*(name for name, _ in nest.outer), "k"))
    level = {"outer": 0, "inner": 1, "k": 2}
    loops = {names.inputs[0][0]: level[nest.fetches_x]}
    if nest.streamed:
        loops[names.inputs[1][0]] = level[nest.fetches_w]
    if names.output is not None:
        loops[names.output[0]] = level["inner"]
    late = {names.output[0]} if names.output is not None and nest.single else set()
    alike: dict[tuple[object, ...], Work] = {}
    for at in itertools.product(*(range(count) for count in counts)):
        first = [number == 0 for number in at]
        last = [number == count - 1 for number, count in zip(at, counts, strict=True)]
        takes = tuple(
            name
            for name, loop in loops.items()
            if (last[2] if name in late else all(first[loop + 1 :]))
        )
        gives = tuple(name for name, loop in loops.items() if all(last[loop + 1 :]))
        which = 0 if first[2] else len(schedules) - 1 if last[2] else 1
        key = which, takes, gives, all(first)
        if key not in alike:
            alike[key] = Work(schedules[which], takes, gives, all(first))
        yield alike[key]


def _carried(nest: Nest, names: Ports, arch: Architecture) -> Iterator[Work]:
    """Calls that go on one into the next: results are given a block after the next one begins."""
    found = pass_schedule(schedule_of(nest.call.spec, arch))
    (x, _), again = names.inputs[0], nest.m_tiles - 2
    if names.output is None:
        yield Work(found.first, (x,), (x,))
        yield from (Work(found.whole, (x,), (x,), False),) * again
        yield Work(found.last, (x,), (x,), False)
        return
    y, _ = names.output
    begin = Work(found.begin, (x,), (y,), False)
    yield Work(found.first, (x, y), (x,))
    yield from (begin, Work(found.rest, (y,), (x,), False)) * again
    yield from (begin, Work(found.last, (y,), (y, x), False))
