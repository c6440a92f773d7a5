"""Emitted layers equal the reference bit for bit, for any shape and quantisation."""

import subprocess
import tempfile
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from layer_harness import COMPILERS, MODULE, Case, build, c_text, check
from workload_cases import (
    arrays,
    conv2ds,
    converts,
    denses,
    elementwises,
    fixed_points,
    matmuls,
    pools,
    softmaxes,
    workloads,
)

from match_aie.errors import ModelError
from match_aie.targets.cpu.patterns import refuses
from match_aie.workload import (
    Quantized,
    Window,
    conv2d,
    dense,
    elementwise,
    full_range,
    matmul,
    pool2d,
    rowwise,
)
from tests.thinned import thinned, turns

pytestmark = pytest.mark.skipif(not COMPILERS, reason="no gcc and no clang")

KINDS = {
    "conv2d": conv2ds(),
    "sums": st.one_of(denses(), matmuls()),
    "pool": pools(),
    "fixed_point": fixed_points(),
    "pointwise": st.one_of(elementwises(), softmaxes(), converts()),
}
#: One compilation tests many layers, so a failure is not shrunk: it names its workload.
MANY = settings(max_examples=2, deadline=None, derandomize=True, phases=[Phase.generate])


def cases(strategy, size):
    """Lists of `size` cases that the module accepts."""
    seeded = st.tuples(strategy.filter(lambda w: refuses(w) is None), st.integers(0, 2**32 - 1))
    made = seeded.map(lambda ws: Case(ws[0], *arrays(*ws))).filter(defined)
    return st.lists(made, min_size=size, max_size=size)


def defined(case):
    """Whether the sums of a fixed-point layer stay in their register; others always do."""
    if not case.workload.fixed_point:
        return True
    try:
        case.expected()
    except ModelError:
        return False
    return True


@pytest.mark.parametrize(("kind", "compiler"), turns(KINDS, COMPILERS))
def test_equals_reference(kind, compiler):
    @MANY
    @given(cases(KINDS[kind], 25))
    def holds(batch):
        with tempfile.TemporaryDirectory() as folder:
            check(batch, Path(folder), compiler)

    holds()


@pytest.mark.parametrize("compiler", COMPILERS)
def test_window_wholly_in_padding(compiler, tmp_path):
    """More padding than the filter is wide, with and without dilation: sums are the bias."""
    x, y = Quantized("uint8", 0.1, 9), Quantized("int32")
    made = [
        conv2d(
            x,
            y,
            shape=(1, 2, 2, 2 * groups),
            weight_shape=(groups, 2, 2, 2),
            groups=groups,
            window=Window((1, 1), dilation, (6, 5, 6, 5)),
        )
        for groups, dilation in product((1, 3), ((1, 1), (2, 3)))
    ]
    found = [Case(w, *arrays(w, seed)) for seed, w in enumerate(made)]
    check(found, tmp_path, compiler)
    for case in found:
        np.testing.assert_array_equal(case.expected()[0, 0, 0], case.constants["bias"])


@pytest.mark.parametrize("compiler", COMPILERS)
def test_wide_layers(compiler, tmp_path):
    """Extents at which compilers vectorise, with remainders; the largest sums of 8-bit values."""
    x, y = Quantized("uint8", 0.1, 0), Quantized("int8", 0.1, -3)
    tail = full_range("int8", -3)
    shape = {"window": Window(padding=(1, 1, 1, 1)), "tail": tail}
    made = [
        conv2d(x, y, shape=(1, 9, 9, 35), weight_shape=(19, 3, 3, 35), scales=19, **shape),
        conv2d(
            x, y, shape=(1, 9, 9, 130), weight_shape=(130, 3, 3, 1), groups=130, scales=1, **shape
        ),
        dense(x, Quantized("int32"), rows=1, inputs=65793, outputs=1),
        dense(x, y, rows=3, inputs=257, outputs=33, tail=tail, scales=33),
        matmul(x, x, y, batch=2, rows=9, inner=33, columns=70, tail=tail),
    ]
    assert [refuses(w) for w in made] == [None] * len(made)
    found = [Case(w, *arrays(w, seed)) for seed, w in enumerate(made)]
    most = {"weight": np.full((1, 65793), -128, np.int8), "bias": np.array([-8], np.int32)}
    found[2] = Case(made[2], [np.full((1, 65793), 255, np.uint8)], most)
    assert found[2].expected().item() == -(255 * 128 * 65793) - 8
    check(found, tmp_path, compiler)


@pytest.mark.parametrize("compiler", COMPILERS)
def test_every_pair_of_bytes(compiler, tmp_path):
    """All 65,536 operand pairs, at scales where the order of float operations decides halves."""
    every = np.arange(-128, 128).astype(np.int8)
    column, row = every.reshape(1, 256, 1, 1), every.reshape(1, 1, 256, 1)
    pair = np.stack(np.broadcast_arrays(column[..., 0], row[..., 0]), axis=2).copy()
    found = []
    for sx, sx1, sy in ((0.3, 0.1, 0.2), (0.05, 0.0125, 0.15), (0.011, 0.013, 0.017)):
        x, x1, y = Quantized("int8", sx, 1), Quantized("int8", sx1, -2), Quantized("int8", sy, 0)
        shapes = {"shape": column.shape, "shape1": row.shape, "out": (1, 256, 256, 1)}
        tail = full_range("int8", 0)
        found += [
            Case(elementwise(kind, x, x1, y, **shapes, tail=tail), [column, row], {})
            for kind in ("add", "mul")
        ]
        mean = {"shape": (256, 1, 2, 256), "filter_shape": (1, 2)}
        image = pair.reshape(256, 256, 2, 1).transpose(0, 3, 2, 1).copy()
        found.append(Case(pool2d("avg_pool2d", x, y, **mean, tail=tail), [image], {}))
    away = full_range("int8", 1, "half_away")
    found.append(Case(pool2d("avg_pool2d", x, x, **mean, tail=away), [image], {}))
    # A third over this scale is 15 with two divisions, 14 with one division or a reciprocal.
    third = Quantized("int8", 0.02298850566148758, 0)
    thirds = rowwise("softmax", x, third, rows=1, columns=3, tail=tail)
    found.append(Case(thirds, [np.full((1, 3), 7, np.int8)], arrays(thirds, 0)[1]))
    assert (found[-1].expected() == 15).all()
    check(found, tmp_path, compiler)


@pytest.mark.parametrize("compiler", thinned(COMPILERS, 2))
def test_no_undefined_behaviour(compiler, tmp_path):
    """An executable under the sanitizers, every operand in a heap block of its exact size."""

    @settings(MANY, max_examples=1)
    @given(cases(workloads(), 40))
    def holds(batch):
        sanitize(batch, tmp_path, compiler)

    holds()


SANITIZERS = ("-g", "-O1", "-fsanitize=address,undefined,float-cast-overflow")
MAIN = r"""
#include <stdio.h>
#include <stdlib.h>
static void *read_block(FILE *file, size_t bytes)
{
    void *block = malloc(bytes);
    if (!block || fread(block, 1, bytes, file) != bytes) {
        exit(9);
    }
    return block;
}
"""


def sanitize(batch, folder, compiler):
    """Run `batch` in one sanitized program: operands from stdin, outputs to stdout."""
    calls = []
    for number, case in enumerate(batch):
        y = case.workload.output
        sizes = [a.nbytes for a in case.arguments()]
        scratch = MODULE.scratch_bytes(case.workload)
        body = [f"void *p[{len(sizes) + 2}];", f"p[{len(sizes) + 1}] = malloc({scratch});"]
        body += [f"p[{i}] = read_block(stdin, {n});" for i, n in enumerate(sizes)]
        body += [f"p[{len(sizes)}] = malloc({y.nbytes});", f"run_t_layer{number}(p);"]
        body += [f"fwrite(p[{len(sizes)}], 1, {y.nbytes}, stdout);"]
        body += [f"free(p[{i}]);" for i in range(len(sizes) + 2)]
        calls += ["{", *body, "}"]
    text = (
        c_text([c.workload for c in batch])
        + MAIN
        + "\n".join(["int main(void)", "{", *calls, "}\n"])
    )
    program = build(text, folder, compiler, *SANITIZERS, "-fno-sanitize-recover=all", name="main")
    blob = b"".join(a.tobytes() for case in batch for a in case.arguments())
    done = subprocess.run([str(program)], input=blob, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()
    assert done.stdout == b"".join(case.expected().tobytes() for case in batch)
