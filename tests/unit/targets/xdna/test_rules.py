"""Limits that verifiers of the dialect have: each is broken once."""

from dataclasses import replace

import numpy as np
import pytest

from match_aie.errors import InfeasibleError, TargetError
from match_aie.targets.aie_ml.array.check import violations
from match_aie.targets.aie_ml.array.program import Channel, Descriptor, Lock
from match_aie.targets.aie_ml.array.semaphores import handshakes
from match_aie.targets.aie_ml.array.words import cut_at, one_use
from match_aie.targets.aie_ml.known import device
from match_aie.targets.xdna.mlir import text
from match_aie.targets.xdna.mlir.chains import Block, chains, cut
from match_aie.targets.xdna.mlir.host import host_arguments
from match_aie.targets.xdna.mlir.rules import transferred, verified
from tests.xdna_programs import chain

NPU1 = device("npu1")


@pytest.fixture(scope="module")
def made():
    program = chain(8, (16, 16), np.int8, columns=1).program
    return program, chains(program, NPU1, handshakes(program))


def test_what_is_laid_out_keeps_them(made):
    program, found = made
    assert not list(verified(program, NPU1, found))


BROKEN = [
    ({"dims": ((2, 1),) * 5, "words": 32}, "dimensions"),
    ({"dims": ((2, 40),), "words": 2, "offset": 0}, "as the last word that moves"),
    ({"dims": ((1, 40),), "words": 1, "offset": 0}, "as step"),
    ({"dims": ((1, 0),), "words": 1, "offset": 0}, "steps of no word"),
    ({"dims": ((521, 1),), "words": 521, "offset": 0}, "elements of a dimension"),
    ({"dims": ((2, 1),), "words": 3, "offset": 0}, "words beside its length"),
    ({"dims": (), "words": 33, "offset": 0}, "as the last word that moves"),
    ({"dims": (), "words": 8, "offset": 31}, "as the last word that moves"),
]


@pytest.mark.parametrize(("change", "what"), BROKEN)
def test_each_limit_is_seen(made, change, what):
    program, found = made
    channel = next(c for c in found if c.tile == (0, 1) and c.direction == "mm2s")
    first, *rest = found[channel]
    bad = replace(first, descriptor=replace(first.descriptor, **change))
    wrong = list(verified(program, NPU1, {**found, channel: (bad, *rest)}))
    assert what in {one.what for one in wrong}


def test_padding_is_for_readers_of_memory_tiles(made):
    program, found = made
    for channel, (first, *rest) in found.items():
        padded = replace(first.descriptor, dims=((1, 1),), pad=((1, 0),), words=2, offset=0)
        blocks = (replace(first, descriptor=padded), *rest)
        wrong = {one.what for one in verified(program, NPU1, {channel: blocks})}
        reads = channel.tile == (0, 1) and channel.direction == "mm2s"
        assert ("paddings outside of a memory tile's readers" in wrong) != reads


def test_tiles_have_so_many_blocks(made):
    program, found = made
    channel = next(c for c in found if c.tile == (0, 1))
    wrong = {one.what for one in verified(program, NPU1, {channel: found[channel] * 30})}
    assert "blocks" in wrong


def test_a_buffer_that_moves_has_whole_words(made):
    program, _ = made
    odd = [replace(b, bytes=b.bytes - 1) if b.name == "x0" else b for b in program.buffers]
    with pytest.raises(InfeasibleError, match="bytes of a buffer beyond whole words"):
        text(replace(program, buffers=tuple(odd)), NPU1)


TRANSFERS = [
    ({"sizes": (65, 1, 1, 32), "steps": (0, 0, 0, 1)}, "times in a run"),
    ({"begin": 1}, "as the last word that moves"),
    ({"sizes": (2, 1, 1, 32), "steps": (1, 0, 0, 1)}, "as the last word that moves"),
    ({"sizes": (1, 1, 1024, 1), "steps": (0, 0, 1, 1)}, "elements of a dimension"),
    ({"sizes": (1, 1, 2, 1024), "steps": (0, 0, 1, 1)}, "elements of a dimension"),
    ({"sizes": (1, 1, 2, 2), "steps": (0, 0, 2**20, 1)}, "as step"),
    ({"sizes": (1, 1, 2, 2), "steps": (0, 0, 0, 1)}, "steps of no word"),
    ({"sizes": (1, 1, 0, 2), "steps": (0, 0, 1, 1)}, "sizes of nothing"),
]


@pytest.mark.parametrize(("change", "what"), TRANSFERS)
def test_transfers_of_the_host_keep_their_limits(made, change, what):
    program, _ = made
    first, *rest = host_arguments(program)
    assert first.words == 32
    bad = replace(first, ways=(replace(first.ways[0], **change), *first.ways[1:]))
    assert not list(transferred((first, *rest), NPU1))
    assert what in {one.what for one in transferred((bad, *rest), NPU1)}
    linear = replace(first.ways[0], sizes=(64, 1, 1, 5000), steps=(0, 0, 0, 1))
    assert not list(transferred((replace(first, ways=(linear,), words=5000),), NPU1))


def test_a_text_is_refused_where_a_transfer_goes_too_often(made):
    program, _ = made
    way = program.ways[0]
    often = replace(way, outside=replace(way.outside, repeats=65))
    with pytest.raises(InfeasibleError, match="times in a run"):
        text(replace(program, ways=(often, *program.ways[1:])), NPU1)


def shared_end(program):
    """Two streams that end in one channel of a memory tile, by one port."""
    first, second = [r for r in program.routes if any(s.tile == (0, 1) for s in r.sinks)][:2]
    last = replace(second.hops[-1], master=first.hops[-1].master)
    hops = (*second.hops[:-1], last)
    return {"routes": [(second, replace(second, sinks=first.sinks, hops=hops))]}


def changed(which, **changes):
    """An edit of the first item that is `which`."""

    def edit(program):
        items = {"descriptors": program.descriptors, "locks": program.locks}
        for field, some in items.items():
            for item in some:
                if which(item):
                    return {field: [(item, replace(item, **changes))]}
        raise AssertionError("no such item")

    return edit


def _moves(direction, row):
    return lambda item: (
        isinstance(item, Descriptor)
        and item.channel.direction == direction
        and (item.channel.tile[1] > 1) == (row == "core")
    )


#: What no verifier of the dialect looks at, by the rule of the array that does.
UNVERIFIED = [
    ("channels", changed(_moves("mm2s", "mem"), channel=Channel((0, 1), "mm2s", 6))),
    ("ports", shared_end),
    ("addressing", changed(_moves("s2mm", "core"), dims=((1, 1), (256, 1)), words=256)),
    ("addressing", changed(_moves("s2mm", "core"), dims=(), words=2**14)),
    ("written", changed(_moves("mm2s", "mem"), dims=(), words=1000)),
    ("locks", changed(lambda item: isinstance(item, Lock), highest=64)),
    ("locks", changed(lambda item: isinstance(item, Lock), initial=64)),
]


@pytest.mark.parametrize(("rule", "edit"), UNVERIFIED)
def test_what_no_verifier_sees_is_a_rule_of_the_array(made, rule, edit):
    program, _ = made
    for field, ((old, new),) in edit(program).items():
        items = tuple(new if item is old else item for item in getattr(program, field))
        broken = replace(program, **{field: items})
    assert not violations(program, NPU1)
    assert rule in {name for name, _ in violations(broken, NPU1)}


@pytest.mark.parametrize(
    ("words", "dims", "pad", "at"),
    [
        (8, (), (), 0),
        (1, (), (), None),
        (8, (), ((0, 4),), None),
        (8, ((2, 1), (4, 4)), (), 1),
        (2, ((2, 1), (1, 4)), (), 0),
        (8, ((2, 1), (1, 4)), ((0, 0), (0, 3)), None),
        (2, ((1, 1), (2, 9)), ((0, 0), (0, 0)), 1),
        (1, ((1, 1), (1, 9)), (), None),
    ],
)
def test_where_another_channel_may_begin(words, dims, pad, at):
    """A piece of several words; one pixel with rows of zeros behind it is none."""
    channel = Channel((0, 1), "mm2s", 0)
    one = Descriptor(channel, 4, "y", 0, words, dims, pad)
    assert cut_at(one) == at
    block = Block(0, one, None, None)
    if at is None:
        with pytest.raises(TargetError, match="no pieces between"):
            cut(block)
    else:
        first, rest = (piece.descriptor for piece in cut(block))
        moved = np.concatenate([one_use(first), one_use(rest)])
        np.testing.assert_array_equal(moved, one_use(one))
