"""Semaphores of buffers that several write or read: nobody takes another's share.

Channels run at any speed, in a model of blocks and semaphores alone and in the interpreter, where
one pair for everybody gives wrong results.
"""

from dataclasses import replace

import numpy as np
import pytest

from match_aie.errors import InfeasibleError, TargetError
from match_aie.targets.aie_ml.array.program import (
    ArrayProgram,
    Buffer,
    Channel,
    Descriptor,
    Lock,
    Route,
)
from match_aie.targets.aie_ml.array.semaphores import Handshake, handshakes, numbers, semaphores
from match_aie.targets.aie_ml.array.words import one_use
from match_aie.targets.aie_ml.array.words import walked as walked_words
from match_aie.targets.aie_ml.execute import ExecutionError, execute
from match_aie.targets.aie_ml.known import device
from match_aie.targets.xdna.mlir.chains import Block, chains, cut, joined
from tests.xdna_programs import chain

NPU1 = device("npu1")
MEM = (0, 1)


def buffer_program(writers, readers, copies, times, pieces=(32,)):
    """One buffer of a memory tile; writers and readers each move all of it, readers `times`."""
    words = sum(pieces)
    size, descriptors, routes = 4 * words, [], []
    for side, many, repeats in (("s2mm", writers, 1), ("mm2s", readers, times)):
        for n in range(many):
            channel = Channel(MEM, side, n)
            for copy in range(copies):
                for at, each in enumerate(pieces):
                    index = len(descriptors) % 24 + 24 * (n % 2)
                    made = Descriptor(channel, index, "b", copy, each, offset=sum(pieces[:at]))
                    descriptors.append(made)
            far = Channel((n % 4, 0), "mm2s" if side == "s2mm" else "s2mm", n // 4)
            ends = (far, (channel,)) if side == "s2mm" else (channel, (far,))
            reads, writes = ("", ("b",)) if side == "s2mm" else ("b", ("",))
            routes.append(Route("", *ends, (), size, repeats, False, "a", reads, writes))
    locks = [Lock(MEM, 0, "b", "empty", copies), Lock(MEM, 1, "b", "full", 0)]
    held = Buffer("b", MEM, (), size, copies, "a", fills=1)
    parts = (), (held,), tuple(locks), tuple(descriptors), tuple(routes)
    return ArrayProgram("npu1", *parts, cascades=(), crossings=(), macs=0, core_macs=1)


def one_pair(handshake):
    """The way it was: W x R of one empty and one full semaphore make a copy."""
    w, r = len(handshake.writers), sum(u.times * u.again for u in handshake.readers)
    empty, full = handshake.writers[0].takes[0][0], handshake.readers[0].takes[0][0]
    copies = handshake.buffer.copies
    empty = replace(empty, name="empty", initial=copies * w * r)
    full = replace(full, name="full")

    def user(one, before, after, many):
        takes, gives = ((before, many),) * copies, ((after, many),) * copies
        return replace(one, takes=takes, gives=gives, passes=None)

    writers = tuple(user(one, empty, full, r) for one in handshake.writers)
    readers = tuple(user(one, full, empty, w) for one in handshake.readers)
    return Handshake(handshake.buffer, (empty, full), writers, readers)


class Walk:
    """Blocks of channels that go on as fast as their semaphores let them.

    Args:
        blocks: of each channel, one after the other for ever.
        semaphores: that they take and give.
    """

    def __init__(self, blocks, semaphores):
        self.blocks = blocks
        self.values = {s: s.initial for s in semaphores}
        self.at, self.busy = dict.fromkeys(blocks, 0), set()

    def now(self, channel):
        """The block at which a channel is, of its chain."""
        chain = self.blocks[channel]
        return chain[self.at[channel] % len(chain)]

    def step(self, channel, begins=lambda _: None, ends=lambda _: None):
        """Begins a block or ends it; False where it must wait."""
        block = self.now(channel)
        if channel in self.busy:
            ends(channel)
            if block.gives is not None:
                self.values[block.gives[0]] += block.gives[1]
            self.busy.discard(channel)
            self.at[channel] += 1
            return True
        if block.takes is not None:
            if self.values[block.takes[0]] < block.takes[1]:
                return False
            self.values[block.takes[0]] -= block.takes[1]
        begins(channel)
        self.busy.add(channel)
        return True

    def too_high(self):
        """Whether a semaphore counts too far."""
        return any(value > s.highest for s, value in self.values.items())


def walked(program, found, rng, rounds=4):
    """Blocks of all channels at any speed; a sentence where one takes a copy too early.

    At random one channel at a time is far faster than all others.
    """
    (one,) = found
    blocks = chains(program, NPU1, found)
    users = {user.who: user for user in (*one.writers, *one.readers)}
    walk, names = Walk(blocks, one.semaphores), list(blocks)

    def copies(channel):
        """That it is done with."""
        length = len(blocks[channel]) // one.buffer.copies
        return walk.at[channel] // (length * users[channel].times)

    def early(channel):
        """Whether it is in a copy that is not full, or not empty."""
        others = [copies(c) for c in blocks if c.direction != channel.direction]
        behind = 1 if channel.direction == "mm2s" else 1 - one.buffer.copies
        return channel in walk.busy and min(others) < copies(channel) + behind

    while min(map(copies, blocks)) < rounds:
        order = [names[n] for n in rng.permutation(len(names))]
        went = False
        for channel in [order[0]] * 12 + order:
            went |= walk.step(channel)
            if early(channel):
                return "too early"
        if not went:
            return "nobody can go on"
        if walk.too_high():
            return "a semaphore counts too far"
    return ""


SHARED = [
    (w, r, copies, times, pieces)
    for w, r in ((1, 1), (1, 2), (1, 4), (3, 1), (2, 2), (3, 3))
    for copies, times in ((1, 1), (2, 1), (1, 3))
    for pieces in ((32,), (20, 12))
]


@pytest.mark.parametrize(("writers", "readers", "copies", "times", "pieces"), SHARED)
def test_nobody_is_early_at_any_speed(writers, readers, copies, times, pieces):
    program = buffer_program(writers, readers, copies, times, pieces)
    found = handshakes(program)
    assert not list(semaphores(found, NPU1))
    rng = np.random.default_rng(writers + 10 * readers)
    for _ in range(4):
        assert walked(program, found, rng) == ""


@pytest.mark.parametrize(("readers", "times"), [(1, 64), (1, 128), (2, 40), (3, 67)])
def test_walks_beyond_what_a_semaphore_counts(readers, times):
    """Some of them follow each other on one taking: no semaphore passes 63."""
    program = buffer_program(1, readers, 1, times)
    found = handshakes(program)
    assert not list(semaphores(found, NPU1))
    (one,) = found
    assert all(user.times * user.again == times for user in one.readers)
    try:
        blocks = chains(program, NPU1, found)
    except InfeasibleError:
        assert times == 67  # a prime: as many blocks, which are too many
        return
    assert max(map(len, blocks.values())) <= 4
    rng = np.random.default_rng(times)
    assert walked(program, found, rng, rounds=2) == ""


def parted(parts, times, *, wide=8, rows=2, begins=None):
    """A buffer whose rows are written in order, and read by readers of rows of their own.

    Args:
        parts: readers.
        times: that each goes through its rows of a copy.
        wide: words of a row.
        rows: of a reader.
        begins: first row of each reader; one after the other where None.
    """
    begins = begins or [n * rows for n in range(parts)]
    every = max(begins) + rows
    half = wide // 2
    dims = ((half, 1), (2, half), (every, wide))
    channels = [Channel(MEM, "s2mm", 0), *(Channel(MEM, "mm2s", n) for n in range(parts))]
    descriptors = [Descriptor(channels[0], 0, "b", 0, every * wide, dims)]
    routes = [
        Route("", Channel((0, 0), "mm2s", 0), channels[:1], (), 4 * every * wide, 1, False, "a", "",
              ("b",))
    ]  # fmt: skip
    for n, (first, channel) in enumerate(zip(begins, channels[1:], strict=True)):
        index = 1 + n // 2 + 24 * (n % 2)
        made = Descriptor(channel, index, "b", 0, rows * wide, offset=first * wide)
        descriptors.append(made)
        far = (Channel((n % 4, 2), "s2mm", n // 4),)
        size = 4 * rows * wide
        routes.append(Route("", channel, far, (), size, times, False, "a", "b", ("",)))
    locks = [Lock(MEM, 0, "b", "empty", 1), Lock(MEM, 1, "b", "full", 0)]
    held = Buffer("b", MEM, (), 4 * every * wide, 1, "a", fills=1)
    parts_of_it = (), (held,), tuple(locks), tuple(descriptors), tuple(routes)
    return ArrayProgram("npu1", *parts_of_it, cascades=(), crossings=(), macs=0, core_macs=1)


def rows_at_any_speed(blocks, found, rng, rounds=4):
    """Whether who reads finds what was written for that walk, and nobody writes what is read."""
    walk = Walk(blocks, found.semaphores)
    (writer,) = (channel for channel in blocks if channel.direction == "s2mm")
    version = np.zeros(found.buffer.bytes // 4, int)
    words = {
        channel: [one_use(block.descriptor) for block in chain] for channel, chain in blocks.items()
    }

    def place(channel):
        """Words of its block, and the number of its walk over the chain."""
        number, chain = walk.at[channel], words[channel]
        return chain[number % len(chain)], number // len(chain)

    def begins(channel):
        of, turn = place(channel)
        if channel == writer:
            assert np.all(version[of] == turn)
            version[of] = -1

    def ends(channel):
        of, turn = place(channel)
        if channel == writer:
            version[of] = turn + 1
        else:
            assert np.all(version[of] == 1 + turn // found_times(channel))

    def found_times(channel):
        """Goes through its chain for one copy."""
        return next(user.times for user in found.readers if user.who == channel)

    names = list(blocks)
    while walk.at[writer] < rounds * len(blocks[writer]):
        order = [names[n] for n in rng.permutation(len(names))]
        assert any([walk.step(channel, begins, ends) for channel in [order[0]] * 12 + order])
        assert not walk.too_high()


@pytest.mark.parametrize(
    ("parts", "times", "again"), [(4, 63, 1), (4, 66, 2), (3, 40, 1), (2, 62, 1), (2, 126, 2)]
)
def test_readers_of_rows_of_their_own_have_pairs_of_their_own(parts, times, again):
    """The writer has a block for each; nothing is read too early or written too early."""
    program = parted(parts, times)
    found = handshakes(program)
    assert not list(semaphores(found, NPU1))
    (one,) = found
    assert len(one.semaphores) == 2 * parts
    blocks = chains(program, NPU1, found)
    assert [len(chain) for chain in blocks.values()] == [parts, *[again] * parts]
    whole, *rest = (block.descriptor for block in blocks[Channel(MEM, "s2mm", 0)])
    np.testing.assert_array_equal(walked_words([whole, *rest]), np.arange(16 * parts))
    for block in blocks[Channel(MEM, "s2mm", 0)][1:]:
        whole = joined(whole, block.descriptor, block.split)
    assert whole == program.descriptors[0]
    for seed in range(3):
        rows_at_any_speed(blocks, one, np.random.default_rng(seed))


def test_a_pair_of_the_wrong_reader_is_taken_early():
    """The model above sees it."""
    program = parted(3, 40)
    (one,) = handshakes(program)
    first, *others = one.readers
    swapped = replace(first, takes=others[0].takes), replace(others[0], takes=first.takes)
    wrong = replace(one, readers=(*swapped, *others[1:]))
    blocks = chains(program, NPU1, [wrong])
    with pytest.raises(AssertionError):
        rows_at_any_speed(blocks, wrong, np.random.default_rng(0))


@pytest.mark.parametrize(
    ("begins", "order"),
    [
        ([0, 2, 4], [0, 1, 2]),
        ([4, 0, 2], [1, 2, 0]),  # readers in any order
        ([0, 3, 5], [0, 1, 2]),  # a row that nobody reads
        ([0, 1, 4], None),  # a row that two read
        ([0, 0, 2], None),
    ],
)
def test_who_shares_rows_shares_semaphores(begins, order):
    program = parted(3, 40, begins=begins)
    (one,) = found = handshakes(program)
    assert not list(semaphores(found, NPU1))
    if order is None:
        assert not one.writers[0].gates
        assert one.readers[0].passes is not None
        return
    names = [one.writers[0].takes[0][0].name, *(g.takes[0][0].name for g in one.writers[0].gates)]
    assert names == [f"b_empty_{n}" for n in order]
    rows_at_any_speed(chains(program, NPU1, found), one, np.random.default_rng(1))


def test_a_copy_of_one_piece_is_refused_by_the_plan():
    """Two read one word: the text could not let the second begin, so chains are halved before."""
    program = buffer_program(1, 2, 1, 1, pieces=(1,))
    found = handshakes(program)
    (broken,) = numbers(program, found, NPU1)
    assert broken.what == "pieces"
    with pytest.raises(TargetError, match="no pieces between"):
        chains(program, NPU1, found)
    longer = buffer_program(1, 2, 1, 1)
    assert not list(numbers(longer, handshakes(longer), NPU1))


def test_few_reads_need_no_pairs_of_their_own():
    """As long as one semaphore counts all of them, texts stay as they were."""
    (one,) = handshakes(parted(4, 15))
    assert not one.writers[0].gates
    assert handshakes(parted(4, 16))[0].writers[0].gates


@pytest.mark.parametrize(("writers", "readers"), [(1, 2), (2, 1), (3, 3)])
def test_one_pair_for_everybody_is_taken_early(writers, readers):
    """What the text had before: the model sees it, and the rule names who takes."""
    program = buffer_program(writers, readers, 2, 1)
    found = [one_pair(one) for one in handshakes(program)]
    rng = np.random.default_rng(0)
    assert any("too early" in walked(program, found, rng) for _ in range(8))
    broken = [str(wrong) for wrong in semaphores(found, NPU1)]
    assert any("who take from it, at most 1" in wrong for wrong in broken)


def test_a_pair_a_copy_is_not_enough_for_who_take():
    """Givers may share a copy's semaphore, and only that."""
    (one,) = handshakes(buffer_program(1, 3, 2, 1))
    empties = [s for s in one.semaphores if "empty" in s.name]
    assert len(empties) == 2
    same = tuple(replace(u, gives=((empties[0], 1),) * 2) for u in one.readers)
    (wrong,) = semaphores([replace(one, readers=same)], NPU1)
    assert "copies that several give for, at most 1" in str(wrong)


@pytest.fixture(scope="module")
def made():
    return chain(16, (16, 16, 16), np.int8, columns=1)


def late(program, found):
    """Sources of the streams into and out of buffers that several write or read."""
    users = {u.who for h in found for s in (h.writers, h.readers) if len(s) > 1 for u in s}
    return [r.source for r in program.routes if users & {r.source, *r.sinks}]


def test_a_program_computes_the_same_whoever_is_slow(made):
    """Each channel in turn far slower than all others, four runs behind each other."""
    program = made.program
    found = handshakes(program)
    runs, wanted = _runs(made)
    sources = late(program, found)
    assert len(sources) > 4
    for slow in [*([source] for source in sources), sources[::2]]:
        done = execute(program, NPU1, runs, semaphores=found, slow=slow)
        assert _alike(done.outputs, wanted), slow


def test_one_pair_for_everybody_computes_something_else(made):
    """A reader that is a copy ahead takes the slow one's share."""
    found = handshakes(made.program)
    runs, wanted = _runs(made)
    old = [one_pair(one) for one in found]
    wrong = 0
    for source in late(made.program, found):
        try:
            done = execute(made.program, NPU1, runs, semaphores=old, slow=[source])
            wrong += not _alike(done.outputs, wanted)
        except ExecutionError:
            wrong += 1
    assert wrong


def _runs(made):
    """Tensors of four runs, and what each user's own counts make of them."""
    rng = np.random.default_rng(3)
    runs = [
        {name: rng.permuted(tensor.reshape(-1)).reshape(tensor.shape) for name, tensor in each}
        for each in [made.tensors.items()] * 4
    ]
    return runs, execute(made.program, NPU1, runs).outputs


def _alike(outputs, wanted):
    return all(np.array_equal(outputs[name], wanted[name]) for name in wanted)


@pytest.mark.parametrize(
    ("dims", "pad"),
    [
        ((), ()),
        (((8, 1),), ()),
        (((4, 1), (6, 32)), ()),
        (((4, 1), (6, 32), (1, 512)), ()),
        (((4, 1), (3, 32), (2, 256)), ((1, 0), (2, 3), (1, 4))),
    ],
)
def test_a_cut_descriptor_moves_the_same(dims, pad):
    """The pieces, one after the other, move its words in its order, and are joined into it."""
    sizes = [size + sum(zeros) for (size, _), zeros in zip(dims, pad or [()] * 9, strict=False)]
    whole = Descriptor(
        Channel(MEM, "mm2s", 0), 3, "b", 0, int(np.prod(sizes or [40])), dims, pad, 5
    )
    first, rest = (block.descriptor for block in cut(Block(0, whole, None, None)))
    np.testing.assert_array_equal(walked_words([first, rest]), walked_words([whole]))
    assert joined(first, rest, cut(Block(0, whole, None, None))[1].split) == whole


def test_what_has_no_pieces_is_refused():
    one = Block(0, Descriptor(Channel(MEM, "mm2s", 0), 3, "b", 0, 1), None, None)
    with pytest.raises(TargetError, match="has no pieces"):
        cut(one)


def test_descriptors_that_do_not_suffice_are_refused():
    """Readers of three pieces that go through a copy five times, of data from two writers."""
    program = buffer_program(2, 2, 2, 5, (8, 8, 8))
    with pytest.raises(InfeasibleError, match="descriptors"):
        chains(program, NPU1, handshakes(program))
