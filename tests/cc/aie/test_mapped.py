"""Kernels as mappings emit them: a chain's tiles and turns together, and many random ones."""

import random
from dataclasses import replace

import numpy as np
import pytest
from aie_harness import COMPILERS, build_kernels, call, check, random_matrix, resized

from match_aie.errors import TargetError
from match_aie.targets.aie_ml import Tiling, device
from match_aie.targets.aie_ml.array import ArrayMapping, DenseLayer, search
from match_aie.targets.aie_ml.array.fit import schedules
from match_aie.targets.aie_ml.kernels.fit import check_kernel
from match_aie.targets.aie_ml.kernels.numeric import ROUNDING_MODES
from match_aie.targets.aie_ml.kernels.spec import KernelSpec, Requantise
from tests.kernel_counts import emitted_counts, kernel_counts
from tests.kernel_reference import Numbers, block_shapes, dense_reference, turn_specs, unpack_y

VEK280 = device("vek280")
CORE = VEK280.architecture.core
I8 = Tiling(4, 8, 8, native=True)
#: A chain of three tiles, each with three turns.
TURNED = ArrayMapping(
    DenseLayer(16, 9 * 64, 32), I8, (2, 2), "flat", 3, 1, 1, 16, 32,
    home="chip", reduction_steps=3,
)  # fmt: skip


def large_product():
    found = search(DenseLayer(512, 896, 576), VEK280)
    assert isinstance(found, tuple)
    return found[0].mapping


def through_the_chain(library, mapping, rng):
    """One call of every tile and turn, sums handed on; x, w, bias, shift and the result."""
    k, chain = mapping.call_reduction, range(mapping.cas_length)
    whole = mapping.part_reduction * mapping.cas_length
    x = random_matrix(rng, "int8", (mapping.call_rows, whole))
    w = random_matrix(rng, "int8", (whole, mapping.call_columns))
    bias, shift = rng.integers(-9999, 9999, mapping.call_columns), 10
    calls, sums, stored = schedules(mapping, VEK280), None, None
    for at in chain:
        waiting = None
        for turn, spec in enumerate(turn_specs(mapping, at)):
            begin = (at * mapping.reduction_steps + turn) * k
            received = waiting if spec.resumes else sums
            outcome = call(
                library,
                spec,
                x[:, begin : begin + k],
                w[begin : begin + k],
                Numbers(shift, bias=bias if spec.bias else None, received=received),
            )
            assert outcome.counters == vars(emitted_counts(calls[at][turn]))
            waiting = None if outcome.stored is None else unpack_y(outcome.stored, spec)
        sums, stored = outcome.passed, waiting
    return x, w, Numbers(shift, bias=bias), stored


def specs_of(mapping):
    return [spec for at in range(mapping.cas_length) for spec in turn_specs(mapping, at)]


def test_chains_as_they_are_emitted(tmp_path) -> None:
    """The large product's kernels are flat; sums over tiles and over turns equal numpy."""
    if "g++" not in COMPILERS:
        pytest.skip("not installed: g++")
    mappings = (large_product(), TURNED, replace(TURNED, cas_length=1, reduction_steps=9))
    assert {mapping.variant for mapping in mappings} == {"flat"}
    specs = [spec for mapping in mappings for spec in specs_of(mapping)]
    library = build_kernels(specs, tmp_path)
    for seed, mapping in enumerate(mappings):
        rng = np.random.default_rng(seed)
        x, w, numbers, stored = through_the_chain(library, mapping, rng)
        m, k, n = x.shape[0], x.shape[1], w.shape[1]
        whole = KernelSpec(
            "int8", "int8", I8, *mapping.block, m, k, n, Requantise("shift", "int8"), relu=True
        )
        np.testing.assert_array_equal(stored, dense_reference(whole, x, w, numbers))


OUTPUTS = {
    ("int8", "int8"): ("int8", "int16", "uint8"),
    ("uint8", "int8"): ("uint8", "int8"),
    ("int16", "int8"): ("int16", "int8"),
    ("int16", "int16"): ("int16",),
    ("bfloat16", "bfloat16"): ("bfloat16", "float32"),
}
#: 1, primes, and one off a multiple of tile sizes.
SIZES = (1, 2, 3, 5, 7, 9, 11, 13, 15, 17, 23, 31, 33, 41, 47, 63, 65, 67, 71, 97)


def random_kernel(dice: random.Random) -> KernelSpec:
    """A kernel of any pair, tiling, block, position, form, beginning and loop.

    Raises:
        TargetError: it is none.
    """
    a, b = dice.choice(tuple(OUTPUTS))
    tiling = dice.choice(CORE.tilings_of(a, b))
    rows, columns = dice.choice(block_shapes(a, b, tiling, CORE)[:4])
    out = dice.choice(OUTPUTS[a, b])
    form = "none" if a == "bfloat16" else dice.choice(["shift", "tensor", "channel", "none"])
    if form == "none" and a != "bfloat16":
        out = "int32"
    position = dice.choice(["only", "only", "first", "middle", "last"])
    begin = dice.choice(["bias", "zeros", "sums"])
    tail = Requantise(
        form,
        out,
        zero_point=dice.choice([0, 3]) if form in ("tensor", "channel") else 0,
        rounding=dice.choice(ROUNDING_MODES),
    )
    steps = dice.choice([1, 2, 3, 5, 8, 13])
    spec = KernelSpec(
        a, b, tiling, rows, columns, tiling.m * rows, steps * tiling.k, tiling.n * columns, tail,
        position, bias=begin == "bias" and position in ("only", "first"),
        resumes=begin == "sums" and position in ("only", "first"),
        relu=dice.random() < 0.5, flat=dice.random() < 0.5,
    )  # fmt: skip
    check_kernel(spec, VEK280)
    return spec


def random_kernels(count: int, seed: int) -> list[KernelSpec]:
    dice, found = random.Random(seed), {}
    while len(found) < count:
        try:
            spec = random_kernel(dice)
        except TargetError:
            continue
        found.setdefault(spec.family, spec)
    return list(found.values())


@pytest.mark.slow
@pytest.mark.parametrize("compiler", ["g++", "clang++"])
def test_random_kernels_and_shapes_equal_numpy(tmp_path, compiler) -> None:
    """60 random kernels on 5 shapes each: every pair, tiling, position and rounding mode."""
    if compiler not in COMPILERS:
        pytest.skip(f"not installed: {compiler}")
    specs = random_kernels(60, seed=len(compiler))
    assert {(s.a, s.b) for s in specs} == set(OUTPUTS)
    assert {s.position for s in specs} == {"only", "first", "middle", "last"}
    assert {s.requantise.rounding for s in specs} == set(ROUNDING_MODES)
    library = build_kernels(specs, tmp_path, compiler)
    rng = np.random.default_rng(8)
    for spec in specs:
        short = spec.drain_steps + spec.refill_steps
        for _ in range(5):
            m, k, n = (int(size) for size in rng.choice(SIZES, 3))
            changed = resized(spec, m, k, n)
            if spec.flat or spec.k_steps <= short:
                changed = replace(changed, k=spec.k)
            assert changed.family == spec.family
            assert check(library, changed, rng).counters == vars(kernel_counts(changed, CORE))
