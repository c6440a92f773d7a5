"""Limits that verifiers of the dialect have: each is broken once."""

from dataclasses import replace

import numpy as np
import pytest

from match_aie.errors import InfeasibleError, TargetError
from match_aie.targets.aie_ml.array.program import Channel, Descriptor
from match_aie.targets.aie_ml.array.semaphores import handshakes
from match_aie.targets.aie_ml.array.words import cut_at, one_use
from match_aie.targets.aie_ml.known import device
from match_aie.targets.xdna.mlir import text
from match_aie.targets.xdna.mlir.chains import Block, chains, cut
from match_aie.targets.xdna.mlir.rules import verified
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
