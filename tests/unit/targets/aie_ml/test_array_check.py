"""Every rule of the array, violated by one change to a program that keeps them all."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from match_aie.errors import Infeasible, InternalError
from match_aie.targets.aie_ml import Tiling, device
from match_aie.targets.aie_ml.array import ArrayMapping, ArrayProgram, DenseLayer
from match_aie.targets.aie_ml.array.check import RULES, check, violations
from match_aie.targets.aie_ml.array.program import Cascade, Channel, Descriptor, Hop
from match_aie.targets.aie_ml.array.rules_cascade import cascade_order
from match_aie.targets.aie_ml.graph.given import program_of
from match_aie.targets.aie_ml.kernels.nest import Nest
from tests.aie_programs import laid_out

VEK280 = device("vek280")
MAPPING = ArrayMapping(
    DenseLayer(64, 256, 256),
    Tiling(4, 8, 8, True),
    (2, 2),
    "overlapped",
    cas_length=2,
    column_parts=4,
    row_parts=2,
    call_rows=16,
    call_columns=64,
)


def built(mapping: ArrayMapping) -> ArrayProgram:
    program = program_of(mapping, VEK280)
    assert not isinstance(program, Infeasible)
    return program


PROGRAM = built(MAPPING)

#: The sum of two small tensors on one tile, as a graph's program.
LAID = laid_out("add", 4)


def edit(
    field: str, which: Callable[..., bool], program: ArrayProgram = PROGRAM, **changes: object
) -> ArrayProgram:
    """The program with the first item of `field` that `which` accepts changed."""
    items = list(getattr(program, field))
    at = next(i for i, item in enumerate(items) if which(item))
    items[at] = replace(items[at], **changes)
    return replace(program, **{field: tuple(items)})


def moved(which: Callable[[Descriptor], bool], **changes: object) -> ArrayProgram:
    """A graph's program with one descriptor changed."""
    return edit("descriptors", which, LAID, **changes)


def reads_memory_tile(d: Descriptor) -> bool:
    return d.channel.tile[1] in (1, 2) and d.channel.direction == "mm2s"


def sends_by(rows: int, columns: int) -> ArrayProgram:
    """The first sender of sums with other blocks than the tile that reads them."""
    sender = PROGRAM.core_at[PROGRAM.cascades[0].source]
    (nest,) = [sender.function] if isinstance(sender.function, Nest) else []
    spec = replace(nest.call.spec, rows=rows, columns=columns)
    function = replace(nest, call=replace(nest.call, spec=spec))
    return edit("cores", lambda core: core is sender, function=function)


def writes_memory_tile(d: Descriptor) -> bool:
    return d.channel.tile[1] in (1, 2) and d.channel.direction == "s2mm"


def writes_core(d: Descriptor) -> bool:
    return of_core(d.channel) and d.channel.direction == "s2mm"


def rerouted(change: Callable[[Hop], Hop]) -> ArrayProgram:
    """The first route of results with each hop changed."""
    route = next(r for r in PROGRAM.routes if r.role == "out")
    return edit("routes", lambda r: r is route, hops=tuple(change(h) for h in route.hops))


def anything(item: object) -> bool:
    del item
    return True


def of_core(item: object) -> bool:
    return getattr(item, "tile", (0, 0))[1] >= 3


BROKEN = {
    "inside": [
        edit("cores", anything, tile=(38, 3)),
        edit("cores", anything, tile=(0, 2)),
        edit("cores", anything, tile=PROGRAM.cores[1].tile),
    ],
    "banks": [
        edit("buffers", lambda b: b.role == "w", bytes=16385),
        edit("buffers", lambda b: b.role == "out" and of_core(b), banks=(4,)),
    ],
    "apart": [edit("buffers", lambda b: b.role == "a" and of_core(b), banks=(0, 2))],
    "ping-pong": [edit("buffers", lambda b: b.role == "a" and of_core(b), copies=1)],
    "stack": [edit("buffers", lambda b: b.role == "stack", bytes=512)],
    "memory-tiles": [edit("buffers", lambda b: not of_core(b), bytes=300_000)],
    "descriptors": [
        edit("descriptors", lambda d: of_core(d.channel), index=16),
        edit("descriptors", lambda d: not of_core(d.channel) and not d.channel.index % 2, index=24),
        edit("descriptors", lambda d: of_core(d.channel) and d.index == 0, index=1),
    ],
    "addressing": [
        edit("descriptors", lambda d: of_core(d.channel), words=2**14),
        edit("descriptors", lambda d: bool(d.dims), dims=((2, 1),) * 5),
        edit("descriptors", lambda d: bool(d.dims), dims=((1024, 1), (2, 8))),
        edit("descriptors", lambda d: bool(d.dims), dims=((2, 1), (2, 2**17 + 1))),
        edit("descriptors", lambda d: bool(d.dims), pad=((64, 0),)),
        edit("descriptors", lambda d: of_core(d.channel), pad=((1, 0),)),
    ],
    "locks": [
        edit("locks", of_core, index=16),
        edit("locks", lambda k: k.state == "full", initial=1),
        edit("locks", lambda k: k.state == "empty", initial=64),
    ],
    "channels": [
        edit("routes", lambda r: r.role == "out", source=Channel((1, 3), "mm2s", 2)),
        edit(
            "routes",
            lambda r: r.role == "a",
            sinks=(*PROGRAM.routes[0].sinks, PROGRAM.routes[1].sinks[0]),
        ),
    ],
    "ports": [
        rerouted(lambda h: replace(h, master=(h.master[0], h.master[1] + 4))),
        edit("routes", lambda r: r is PROGRAM.routes[1], hops=PROGRAM.routes[0].hops),
    ],
    "routes": [
        edit("routes", anything, hops=PROGRAM.routes[0].hops[1:]),
        edit("routes", anything, hops=PROGRAM.routes[0].hops[:-1]),
    ],
    "ways": [
        replace(PROGRAM, crossings=PROGRAM.crossings * 29),
        replace(PROGRAM, crossings=PROGRAM.crossings[-1:] * 5),
    ],
    "pass-through": [
        edit("routes", anything, hops=(Hop((0, 2), ("S", 0), ("N", 1)),)),
    ],
    "neighbours": [
        edit("cores", anything, lent=(("in1", (9, 3), "in0"),)),
        edit("cores", anything, lent=(("in1", (0, 3), "none"),)),
    ],
    "cascades": [
        edit("cascades", anything, sink=(0, 4)),
        edit("cascades", anything, sink=PROGRAM.cascades[1].sink),
        replace(
            PROGRAM, cascades=(*PROGRAM.cascades, Cascade((1, 3), (2, 3)), Cascade((9, 9), (9, 10)))
        ),
    ],
    "cascade-order": [
        sends_by(4, 1),
        sends_by(2, 4),
        edit(
            "cores",
            lambda core: core.tile == PROGRAM.cascades[0].sink,
            function=PROGRAM.core_at[PROGRAM.cascades[0].source].function,
        ),
    ],
    "words": [
        edit("routes", anything, bytes=1022),
        edit("descriptors", lambda d: bool(d.dims), dims=((0, 1),)),
    ],
    "program-memory": [edit("cores", anything, program_bytes=16385)],
    "written": [
        moved(writes_memory_tile, words=4),
        moved(writes_core, words=4),
        moved(reads_memory_tile, offset=1 << 14),
        replace(LAID, buffers=tuple(replace(b, written=None) for b in LAID.buffers)),
    ],
    "delivered": [
        moved(reads_memory_tile, offset=1),
        moved(writes_memory_tile, words=4),
        moved(writes_core, offset=1),
        moved(reads_memory_tile, iteration=(2, 1)),
    ],
}


def test_programs_of_mappings_keep_all_rules() -> None:
    streamed = replace(MAPPING, call_columns=32, home="chip")
    for program in (PROGRAM, built(streamed)):
        assert violations(program, VEK280) == ()


def test_blocks_that_go_the_same_way_send_the_same_words() -> None:
    """A row of two accumulators, and one of four, walk the same row of tiles."""
    readers = {link.sink for link in PROGRAM.cascades}
    narrow, wide = (
        replace(MAPPING, block=block, call_rows=4 * block[0]) for block in ((1, 2), (1, 4))
    )
    mixed = replace(
        built(narrow),
        cores=tuple(
            a if a.tile in readers else b
            for a, b in zip(built(narrow).cores, built(wide).cores, strict=True)
        ),
    )
    assert not list(cascade_order(mixed, VEK280))


def test_a_graphs_program_keeps_all_rules() -> None:
    check(LAID, VEK280)


def test_every_rule_has_a_source_and_is_violated_here() -> None:
    assert {rule.name for rule in RULES} == set(BROKEN)
    assert all(rule.source for rule in RULES)


@pytest.mark.parametrize(
    ("rule", "program"),
    [(rule, program) for rule, programs in BROKEN.items() for program in programs],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_violation_is_found(rule: str, program: ArrayProgram) -> None:
    found = [violation for name, violation in violations(program, VEK280) if name == rule]
    assert found
    assert all(v.remedy and v.where for v in found)
    assert all(v.demand > v.bound for v in found if v.what != "as first value")
    with pytest.raises(InternalError) as caught:
        check(program, VEK280)
    assert caught.value.hint
    assert caught.value.where


def test_memory_tiles_use_each_half_of_their_descriptors() -> None:
    for d in PROGRAM.descriptors:
        if d.channel.tile[1] < 3:
            assert (d.index >= 24) == bool(d.channel.index % 2)


def test_every_byte_of_the_layer_is_moved() -> None:
    sent = {core.tile: 0 for core in PROGRAM.cores}
    for route in PROGRAM.routes:
        for sink in route.sinks:
            if sink.tile in sent:
                sent[sink.tile] += route.bytes * route.sends
    assert set(sent.values()) == {MAPPING.part_rows * MAPPING.part_reduction}
    results = sum(r.bytes * r.sends for r in PROGRAM.routes if r.role == "out")
    assert results == 64 * 256
