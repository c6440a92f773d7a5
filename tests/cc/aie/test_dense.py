"""Generated matrix kernels, compiled with the emulation, against numpy bit for bit."""

from dataclasses import replace

import numpy as np
import pytest
from aie_harness import COMPILERS, CORE, DEVICE, PAIRS, build_kernels, check, resized

from match_aie.errors import TargetError
from match_aie.targets.aie_ml import Tiling, device
from match_aie.targets.aie_ml.emulation import ARCH_MACRO
from match_aie.targets.aie_ml.kernels.fit import check_kernel
from match_aie.targets.aie_ml.kernels.numeric import ROUNDING_MODES
from match_aie.targets.aie_ml.kernels.spec import KernelSpec, Requantise
from tests.kernel_counts import kernel_counts
from tests.kernel_reference import block_shapes

#: 32-bit operands, whose sums have 64 bits: of dense layers alone.
WIDE = {
    ("int32", "int16"): "int16",
    ("int16", "int32"): "int16",
    ("int32", "int32"): "int16",
}
#: 1, primes, and one off a multiple of every tile size.
SIZES = (1, 2, 3, 5, 7, 8, 9, 13, 15, 16, 17, 23, 31, 32, 33, 37, 47, 63, 64, 65, 67)


def kernel(a, b, tiling, block, position="only", requantise=None, steps=8, **more):
    """A small kernel whose block walks two rows and two columns of blocks."""
    form = "none" if a == "bfloat16" else "shift"
    rows, columns = block
    return KernelSpec(
        a,
        b,
        tiling,
        rows,
        columns,
        2 * tiling.m * rows,
        steps * tiling.k,
        2 * tiling.n * columns,
        requantise or Requantise(form, (PAIRS | WIDE)[a, b]),
        position,
        bias=position in ("only", "first") if "bias" not in more else more.pop("bias"),
        **more,
    )


def native(a, b):
    return CORE.tilings_of(a, b)[0]


I8 = native("int8", "int8")
DEFAULT = {
    "i8": kernel("int8", "int8", I8, (2, 2), relu=True),
    "i8 first": kernel("int8", "int8", I8, (2, 2), "first"),
    "i8 middle": kernel("int8", "int8", I8, (2, 2), "middle"),
    "i8 last": kernel(
        "int8", "int8", I8, (2, 2), "last", Requantise("channel", "int8", zero_point=-3)
    ),
    "i8 clipped": kernel(
        "int8", "int8", I8, (2, 2), requantise=Requantise("shift", "int8", lo=-100, hi=90)
    ),
    "i8 sums": kernel(
        "int8", "int8", I8, (2, 2), requantise=Requantise("none", "int32"), relu=True
    ),
    "u8": kernel(
        "uint8",
        "int8",
        I8,
        (2, 2),
        requantise=Requantise("tensor", "uint8", zero_point=128),
        relu=True,
    ),
    "i8 offset": kernel(
        "int8",
        "int8",
        I8,
        (2, 2),
        bias=False,
        requantise=Requantise("channel", "int8", addend="channel"),
    ),
    "i8 narrow": kernel(
        "int8",
        "int8",
        I8,
        (2, 1),
        bias=False,
        requantise=Requantise("tensor", "int8", addend="tensor", narrow=True),
    ),
    "i8 resumes": kernel("int8", "int8", I8, (2, 2), bias=False, resumes=True),
    "i16 i8": kernel("int16", "int8", native("int16", "int8"), (2, 2), bias=False),
    "i16": kernel("int16", "int16", native("int16", "int16"), (2, 2), relu=True),
    "bf16": kernel("bfloat16", "bfloat16", native("bfloat16", "bfloat16"), (2, 2), relu=True),
    "i32": kernel(
        "int32", "int32", native("int32", "int32"), (2, 2), requantise=Requantise("none", "int32")
    ),
    "i32 i16 middle": kernel("int32", "int16", native("int32", "int16"), (2, 2), "middle"),
    "i16 i32": kernel("int16", "int32", native("int16", "int32"), (2, 1), relu=True),
    "i8 batch 1": kernel("int8", "int8", Tiling(1, 16, 8, native=False), (1, 4)),
    "i8 one step": kernel("int8", "int8", I8, (2, 2), steps=1),
    "i8 flat": kernel("int8", "int8", I8, (2, 2), steps=14, relu=True, flat=True),
    "i8 flat middle": kernel("int8", "int8", I8, (4, 1), "middle", steps=28, flat=True),
    "i16 flat resumes": kernel(
        "int16", "int16", native("int16", "int16"), (2, 2), bias=False, resumes=True, flat=True
    ),
    "bf16 resumes, first": kernel(
        "bfloat16", "bfloat16", native("bfloat16", "bfloat16"), (2, 2), "first",
        bias=False, resumes=True,
    ),
    "bf16 last": kernel(
        "bfloat16", "bfloat16", native("bfloat16", "bfloat16"), (2, 2), "last",
        Requantise("none", "float32"), relu=True,
    ),
}  # fmt: skip


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    if "g++" not in COMPILERS:
        pytest.skip("not installed: g++")
    return build_kernels(DEFAULT.values(), tmp_path_factory.mktemp("aie"))


def random_sizes(rng):
    return tuple(int(size) for size in rng.choice(SIZES, 3))


@pytest.mark.parametrize("name", DEFAULT)
def test_random_shapes_equal_numpy(library, name) -> None:
    """25 shapes a kernel, 575 in all, and the counters that go with them.

    Of a flat kernel the number of K steps is part of the source, so that only M and N vary.
    """
    rng = np.random.default_rng(len(name))
    for _ in range(25):
        spec = resized(DEFAULT[name], *random_sizes(rng))
        if DEFAULT[name].flat or name == "i8 one step":
            spec = replace(spec, k=DEFAULT[name].k)
        outcome = check(library, spec, rng)
        assert outcome.counters == vars(kernel_counts(spec, CORE))


@pytest.mark.parametrize("name", ["i8", "u8", "i16 i8", "i16", "i16 i32", "bf16"])
@pytest.mark.parametrize("rounding", ROUNDING_MODES)
def test_rounding_modes(library, name, rounding) -> None:
    rng = np.random.default_rng(3)
    spec = DEFAULT[name]
    check(library, replace(spec, requantise=replace(spec.requantise, rounding=rounding)), rng)


@pytest.mark.parametrize("saturation", ["none", "saturate", "symmetric"])
@pytest.mark.parametrize("name", ["i8", "u8", "i16 i8"])
def test_saturation_modes(library, name, saturation) -> None:
    spec = DEFAULT[name]
    changed = replace(spec, requantise=replace(spec.requantise, saturation=saturation))
    if changed.family == spec.family:  # an unsigned store that wraps needs a clip of its own
        check(library, changed, np.random.default_rng(4))


def every_kernel(array):
    """A kernel for every element pair and legal tiling, its best block that can store."""
    core = array.architecture.core
    for (a, b), out in (PAIRS | WIDE).items():
        for tiling in core.tilings_of(a, b):
            for block in block_shapes(a, b, tiling, core):
                try:
                    spec = kernel(a, b, tiling, block, steps=2 * block[0] * block[1])
                except TargetError:
                    continue  # too short to store
                check_kernel(spec, array)
                yield spec
                break
            else:
                raise AssertionError(f"no block of {a} x {b} in {tiling} stores {out}")


@pytest.mark.slow
@pytest.mark.parametrize("compiler", ["g++", "clang++"])
def test_every_tiling(tmp_path, compiler) -> None:
    if compiler not in COMPILERS:
        pytest.skip(f"not installed: {compiler}")
    rng = np.random.default_rng(5)
    specs = list(every_kernel(DEVICE))
    library = build_kernels(specs, tmp_path, compiler, ("-O2",))
    for spec in specs:
        for _ in range(10):
            changed = resized(spec, *random_sizes(rng))
            assert check(library, changed, rng).counters == vars(kernel_counts(changed, CORE))


@pytest.mark.slow
def test_every_tiling_of_the_next_generation(tmp_path) -> None:
    """AIE-MLv2: wider vectors and accumulators, accesses aligned to 64 bytes."""
    if "g++" not in COMPILERS:
        pytest.skip("not installed: g++")
    array, rng = device("vek385"), np.random.default_rng(7)
    specs = list(every_kernel(array))
    macro = f"-D__AIE_ARCH__={ARCH_MACRO[array.architecture.name]}"
    library = build_kernels(specs, tmp_path, "g++", ("-O1", macro))
    for spec in specs:
        for _ in range(5):
            changed = resized(spec, *random_sizes(rng))
            wanted = kernel_counts(changed, array.architecture.core)
            assert check(library, changed, rng).counters == vars(wanted)


FORMS = (
    Requantise("shift", "int8", zero_point=5),
    Requantise("tensor", "int8", zero_point=-7),
    Requantise("channel", "uint8", zero_point=9),
    Requantise("channel", "int16", addend="tensor"),
    Requantise("tensor", "int8", addend="channel"),
    Requantise("tensor", "int16", zero_point=3, narrow=True),
    Requantise("none", "int32"),
)


@pytest.mark.slow
@pytest.mark.parametrize("compiler", ["g++", "clang++"])
@pytest.mark.parametrize("position", ["only", "last"])
def test_every_form(tmp_path, compiler, position) -> None:
    """Requantise forms times blocks, with and without relu."""
    if compiler not in COMPILERS:
        pytest.skip(f"not installed: {compiler}")
    rng = np.random.default_rng(6)
    specs = [
        kernel(a, b, native(a, b), block, position, form, relu=relu)
        for a, b in (("uint8", "int8"), ("int16", "int16"))
        for block in ((2, 2), (1, 3))
        for form in FORMS
        for relu in (False, True)
    ]
    library = build_kernels(specs, tmp_path, compiler)
    for spec in specs:
        for _ in range(5):
            changed = resized(spec, *random_sizes(rng))
            assert check(library, changed, rng).counters == vars(kernel_counts(changed, CORE))


@pytest.mark.slow
@pytest.mark.parametrize("steps", [1, 2, 3, 4, 5, 7])
def test_short_sums(tmp_path, steps) -> None:
    """Few K steps: drains and refills share them, or come after them."""
    rng = np.random.default_rng(steps)
    specs = [
        kernel("int8", "int8", I8, block, position, steps=steps)
        for block in ((2, 2), (1, 2))
        for position in ("only", "middle")
    ]
    specs.append(kernel("bfloat16", "bfloat16", Tiling(4, 8, 4, native=True), (2, 2), steps=steps))
    specs.append(replace(specs[0], bias=False, resumes=True))
    library = build_kernels(specs, tmp_path)
    for spec in specs:
        for m, n in ((1, 1), (40, 8), (8, 40), (33, 65)):
            changed = replace(resized(spec, m, 1, n), k=spec.k)
            assert check(library, changed, rng).counters == vars(kernel_counts(changed, CORE))
