"""The text of programs: read back into the same program, and nothing in it that nobody reads."""

import re
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from match_aie.errors import InfeasibleError, TargetError
from match_aie.targets.aie_ml.array.program import Buffer, Channel, Crossing, Descriptor, Merge
from match_aie.targets.aie_ml.execute import execute
from match_aie.targets.aie_ml.known import device
from match_aie.targets.xdna.mlir import DIALECTS, kernels_of, read, text
from match_aie.targets.xdna.mlir.body import Called
from match_aie.targets.xdna.mlir.cores import MOST_CALLS
from match_aie.targets.xdna.mlir.dmas import unfolded
from match_aie.targets.xdna.mlir.dmas import written as written_dims
from match_aie.targets.xdna.mlir.loops import leaves, looped
from match_aie.targets.xdna.mlir.objects import scratch_bytes
from match_aie.targets.xdna.mlir.places import addresses
from match_aie.targets.xdna.mlir.syntax import TextError
from tests.xdna_programs import chain, image, pixel, turned_dense

NPU1 = device("npu1")


@pytest.fixture(scope="module")
def made():
    return chain(32, (32, 48), np.int8, columns=1)


CHAINS = [
    (32, (32, 48), np.int8, "npu1"),
    (36, (40, 24, 56), np.int8, "npu1"),
    (32, (32, 48, 32), np.int16, "npu1"),
    (64, (64, 64), np.int8, "npu2"),
]


@pytest.mark.parametrize(("rows", "widths", "dtype", "name"), CHAINS)
def test_a_text_is_read_back_into_its_program(rows, widths, dtype, name):
    found = chain(rows, widths, dtype, name, columns=2)
    written = text(found.program, device(name))
    again = read(written, device(name), kernels_of(found.program))
    assert again == found.program
    assert text(again, device(name)) == written
    for a, b in zip(again.buffers, found.program.buffers, strict=True):
        assert (a.values is None) == (b.values is None)
        if a.values is not None:
            np.testing.assert_array_equal(a.values, b.values.reshape(-1))


def test_what_is_read_computes_the_same(made):
    again = read(text(made.program, NPU1), NPU1, kernels_of(made.program))
    results_of(again, "npu1", made)


def test_sums_wait_in_scratch_where_weights_stay():
    """They have no buffer then; behind the stack there is room for them."""
    found = turned_dense()
    (kept,) = {scratch_bytes(core.function) for core in found.program.cores}
    assert kept == found.program.cores[0].function.sums_bytes > 0
    for dialect in DIALECTS.values():
        written = text(found.program, device("npu2"), dialect)
        assert f"match.scratch = {kept} : i32" in written
        assert read(written, device("npu2"), kernels_of(found.program)) == found.program


def test_large_buffers_come_first_where_small_ones_leave_no_room(made):
    """A GRU of 53 units: two small pairs in front of a bank left 14,976 of 15,360 bytes."""
    sizes = [
        ("stack", (2, 3), 7680, 1),
        ("in0", (0, 1), 384, 2),
        ("out", (0, 1), 1024, 2),
        ("w", (0, 1), 15360, 1),
        ("v", (2, 3), 15360, 1),
        ("bias", (0, 1), 1024, 1),
        ("ab", (0, 1), 4096, 1),
        ("cd", (2, 3), 4096, 1),
    ]
    tile = made.program.cores[0].tile
    buffers = [
        Buffer(name, tile, banks, many, copies, "stack" if name == "stack" else "w", 0)
        for name, banks, many, copies in sizes
    ]
    found = addresses(replace(made.program, buffers=tuple(buffers)), NPU1)
    taken = [(0, 7680)]
    for name, banks, many, copies in sizes[1:]:
        assert len(found[tile, name]) == copies
        half = 32768 * (0 in banks)  # the stack's banks come first
        for begin in found[tile, name]:
            assert half <= begin <= half + 32768 - many
            taken.append((begin, begin + many))
    taken.sort()
    assert all(a[1] <= b[0] for a, b in pairwise(taken))
    wide = replace(buffers[3], bytes=26 * 1024)
    with pytest.raises(InfeasibleError, match="the memory of tile"):
        addresses(replace(made.program, buffers=(*buffers[:3], wide, *buffers[4:])), NPU1)


def results_of(program, name, made):
    """What a program makes of a graph's tensors is that graph's results."""
    done = execute(program, device(name), made.tensors)
    for way, tensor in made.results:
        wanted = tensor.reshape(-1) if way.blocks is None else way.blocks.cut(tensor)
        np.testing.assert_array_equal(done.outputs[way.name].reshape(-1)[: wanted.size], wanted)


@pytest.mark.parametrize(("name", "classes"), [("npu1", 10), ("npu2", 1), ("npu2", 10)])
def test_images_that_end_as_one_pixel_have_a_text(name, classes):
    """There is no step from one row to the next, which would be longer than the buffer."""
    net, graphs = pixel(name, classes)
    assert "no program for the open tool chain" not in "".join(map(str, net.warnings))
    assert any(path.endswith(".mlir") for path in net.code())
    for made in graphs:
        for dialect in DIALECTS.values():
            written = text(made.program, device(name), dialect)
            again = read(written, device(name), kernels_of(made.program))
            assert again == made.program
        results_of(again, name, made)


@pytest.mark.parametrize("kind", ["conv", "max", "average", "add"])
@pytest.mark.parametrize("dialect", DIALECTS.values(), ids=DIALECTS)
def test_image_layers_are_read_back(kind, dialect):
    """Padding and several descriptors a copy, and such with an iteration: all have a text."""
    iterations = 0
    for seed in range(28, 36):
        program = image(kind, seed)
        if program is None:
            continue
        written = text(program, NPU1, dialect)
        assert read(written, NPU1, kernels_of(program)) == program
        iterations += written.count("match.iteration")
        for turning in (d for d in program.descriptors if d.iteration is not None):
            at = program.descriptors.index(turning)
            assert written.count(f"match.turn = {at} ") == turning.iteration[0] - 1
    assert iterations or kind != "conv"


@pytest.mark.parametrize("dialect", DIALECTS.values(), ids=DIALECTS)
def test_each_version_of_the_dialect_is_read_back(made, dialect):
    written = text(made.program, NPU1, dialect)
    assert read(written, NPU1, kernels_of(made.program)) == made.program
    assert ("aie.device(npu1_4col)" in written) == (dialect.name == "2025-05")
    assert ("aiex.runtime_sequence" in written) == (dialect.name == "2025-05")
    assert ("%value1 = arith.constant 1 : i32" in written) == (dialect.name == "2026-08")
    assert (" offset = 0 len = " in written) == (dialect.name == "2026-08")


@pytest.mark.parametrize("dialect", DIALECTS.values(), ids=DIALECTS)
def test_calls_that_repeat_are_loops(dialect):
    """Turns of a reduction and passes over rows: hundreds of calls, a few in the text."""
    found = chain(1024, (1024, 512), np.int8, columns=1)
    written = text(found.program, NPU1, dialect)
    calls = max(len(core.work) for core in found.program.cores)
    assert calls > MOST_CALLS > written.count("func.call") / len(found.program.cores)
    assert "scf.for %turn" in written
    again = read(written, NPU1, kernels_of(found.program))
    assert again == found.program


def test_loops_are_the_calls_that_they_were_made_of():
    rng = np.random.default_rng(3)
    for _ in range(60):
        inner, turns, again = rng.integers(1, 9, 3)
        names = [f"{int(n)}" for n in rng.integers(0, 3, inner)] * turns + ["last"]
        calls = [Called(at, name, (), (), ()) for at, name in enumerate(names * again)]
        nodes = looped([*calls, *calls])
        assert list(spelled(nodes)) == [*calls, *calls]
        assert len(list(leaves(nodes))) <= len(calls) * 2


def spelled(nodes, base=0):
    """All calls of nested loops, one after the other."""
    for node in nodes:
        if isinstance(node, Called):
            yield replace(node, at=base + node.at)
            continue
        for turn in range(node.count):
            yield from spelled(node.body, base + node.at + turn * node.step)


def test_long_dimensions_are_two_where_a_verifier_stops():
    """513 to 1023 elements: refused until July 2026, whatever the message said."""
    one = Descriptor(Channel((0, 1), "mm2s", 0), 0, "b", 0, 2 * 960 * 3, ((960, 2), (3, 2000)))
    one = replace(one, words=960 * 3)
    found = written_dims(one, 512, 4)
    assert found.dims == ((480, 2), (2, 960), (3, 2000))
    assert found.folded == (0,)
    assert unfolded(found.dims, found.pads, found.folded).dims == one.dims
    assert written_dims(one, 1023, 4).folded == ()
    padded = replace(one, pad=((1, 1), (0, 0)), words=962 * 3)
    assert written_dims(padded, 512, 4).folded == ()  # zeros around it: refused
    behind = replace(one, pad=((0, 0), (1, 0)), words=960 * 4)
    found = written_dims(behind, 512, 4)
    assert found.pads == ((0, 0), (0, 0), (1, 0))
    assert unfolded(found.dims, found.pads, found.folded).pads == behind.pad


def test_every_number_of_a_text_is_read(made):
    """Any number changed: another program, or an error that names the line."""
    written, kernels = text(made.program, NPU1), kernels_of(made.program)
    rng = np.random.default_rng(1)
    lines = written.splitlines()
    refused = told_apart = 0
    for at in rng.permutation(len(lines))[:240]:
        bare = re.sub(r'0x[0-9A-F]+|"[^"]*"', lambda m: " " * len(m[0]), lines[at])
        numbers = list(re.finditer(r"(?<![\w.%@^])\d+", bare))
        if not numbers:
            continue
        one = numbers[rng.integers(len(numbers))]
        changed = lines[at][: one.start()] + str(int(one[0]) + 1) + lines[at][one.end() :]
        mutated = "\n".join((*lines[:at], changed, *lines[at + 1 :])) + "\n"
        try:
            found = read(mutated, NPU1, kernels)
        except (TextError, TargetError, InfeasibleError):
            refused += 1
            continue
        assert found != made.program, changed
        told_apart += 1
    assert refused > 20
    assert told_apart > 2


def test_a_missing_line_is_named(made):
    lines = text(made.program, NPU1).splitlines()
    at = next(n for n, line in enumerate(lines) if "Release" in line)
    with pytest.raises(TextError, match="line"):
        read("\n".join(lines[:at] + lines[at + 1 :]) + "\n", NPU1, kernels_of(made.program))


def test_what_the_dialect_limits(made):
    """Rules that no verifier of the dialect checks: lengths, locks, channels, numbers."""
    program, written = made.program, text(made.program, NPU1)
    for size, rest in re.findall(r"dma_bd\(%\w+ : memref<(\d+)xi32>, (\d+, \d+)", written):
        offset, length = map(int, rest.split(", "))
        assert offset + length <= int(size)
    assert all(int(n) <= 63 for n in re.findall(r"init = (\d+)", written))
    assert max(d.index for d in program.descriptors) < 48
    ends = [int(a) for a in re.findall(r"address = (\d+)", written)]
    assert all(at % 32 == 0 and at < 512 * 1024 for at in ends)
    cores = re.findall(r"aie.buffer\(%tile_\d_[2-5]\) \{address = (\d+)", written)
    assert all(1024 <= int(at) < 65536 for at in cores)  # behind the stack


def test_buffers_do_not_overlap():
    found = chain(64, (64, 128), np.int8)
    places = {}
    form = r"aie.buffer\(%(tile_\d_\d)\) \{address = (\d+).*? : memref<(\d+)xi(\d+)>"
    for tile, at, many, bits in re.findall(form, text(found.program, NPU1)):
        end = int(at) + int(many) * int(bits) // 8
        for begin, other in places.setdefault(tile, []):
            assert end <= begin or int(at) >= other
        places[tile].append((int(at), end))
    assert len(places) == len({buffer.tile for buffer in found.program.buffers}) > 12


def test_programs_without_a_text_are_refused(made):
    with pytest.raises(TargetError, match="for npu1 is no text for npu2"):
        text(made.program, device("npu2"))
    core, *others = made.program.cores
    work = [replace(core.work[0], result=f"{n:b}") for n in range(200)]  # none is like another
    long = replace(made.program, cores=(replace(core, work=tuple(work)), *others))
    with pytest.raises(InfeasibleError, match="calls of a core"):
        text(long, NPU1)


def test_what_a_text_cannot_say_is_named(made):
    program = made.program
    way, core = program.ways[0], program.cores[0]
    crossing = Crossing("x", way.channel, "b", 4, 1, way.outside)
    merge = Merge("packets 0", (), (), (core.tile,), core.tile, (), 4, 1)
    lent = replace(core, lent=(("in1", core.tile, "out"),))
    for changes, words in (
        ({"crossings": (crossing,)}, "programmable logic"),
        ({"merges": (merge,)}, "packets are not"),
        ({"cores": (lent, *program.cores[1:])}, "a neighbour reads"),
    ):
        with pytest.raises(TargetError, match=words):
            text(replace(program, **changes), NPU1)
