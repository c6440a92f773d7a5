"""The text of programs: read back into the same program, and nothing in it that nobody reads."""

import re
from dataclasses import replace

import numpy as np
import pytest

from match_aie.errors import InfeasibleError, TargetError
from match_aie.targets.aie_ml.execute import execute
from match_aie.targets.aie_ml.known import device
from match_aie.targets.xdna.mlir import kernels_of, read, text
from match_aie.targets.xdna.mlir.syntax import TextError
from tests.xdna_programs import chain, image

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
    done = execute(again, NPU1, made.tensors)
    for way, tensor in made.results:
        wanted = tensor.reshape(-1) if way.blocks is None else way.blocks.cut(tensor)
        np.testing.assert_array_equal(done.outputs[way.name].reshape(-1)[: wanted.size], wanted)


@pytest.mark.parametrize("kind", ["conv2d", "max_pool2d", "add"])
def test_image_layers_are_read_back(kind):
    """Padding and several descriptors a copy; those that the text cannot say are refused."""
    seen = 0
    for seed in range(12):
        program = image(kind, seed)
        if program is None:
            continue
        try:
            written = text(program, NPU1)
        except (TargetError, InfeasibleError):
            continue  # an iteration, or semaphores that would count too far
        seen += 1
        assert read(written, NPU1, kernels_of(program)) == program
    assert seen


def test_every_number_of_a_text_is_read(made):
    """Any number changed: another program, or an error that names the line."""
    written, kernels = text(made.program, NPU1), kernels_of(made.program)
    rng = np.random.default_rng(1)
    lines = written.splitlines()
    refused = told_apart = 0
    for at in rng.permutation(len(lines))[:120]:
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
    assert len(places) > 16


def test_programs_without_a_text_are_refused(made):
    with pytest.raises(TargetError, match="for npu1 is no text for npu2"):
        text(made.program, device("npu2"))
    first, *rest = made.program.descriptors
    turning = replace(made.program, descriptors=(replace(first, iteration=(2, 4)), *rest))
    with pytest.raises(TargetError, match="has an iteration"):
        text(turning, NPU1)
    core, *others = made.program.cores
    long = replace(made.program, cores=(replace(core, work=core.work * 200), *others))
    with pytest.raises(InfeasibleError, match="calls of a core"):
        text(long, NPU1)
