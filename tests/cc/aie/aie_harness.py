"""Emitted AI Engine kernels compiled with the emulation's headers and called on arrays."""

import ctypes
import os
import shutil
import subprocess
import tempfile
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import numpy as np

from match_aie.codegen import render_template
from match_aie.targets.aie_ml import device
from match_aie.targets.aie_ml.emulation import include_folder
from match_aie.targets.aie_ml.kernels.layout import pack_column, pack_w, tiled
from match_aie.targets.aie_ml.kernels.numeric import to_bfloat16
from match_aie.targets.aie_ml.kernels.reference import requantised
from match_aie.targets.aie_ml.kernels.window import Walk, taps_inside
from tests.emulation_object import APART, emulation_object
from tests.kernel_reference import Numbers, dense_sums, pack_x, unpack_y

HERE = Path(__file__).parent
FLAGS = ("-std=c++20", "-Wall", "-Wextra", "-Werror", "-ffp-contract=off")
COMPILERS = [name for name in ("g++", "clang++") if shutil.which(name)]
#: For programs that run once, unoptimised: clang compiles these headers in half of gcc's time.
FASTEST = COMPILERS[-1] if COMPILERS else "g++"
ROUNDING = {
    "floor": 0,
    "ceil": 1,
    "symmetric_floor": 2,
    "symmetric_ceil": 3,
    "negative_inf": 8,
    "positive_inf": 9,
    "symmetric_zero": 10,
    "symmetric_inf": 11,
    "conv_even": 12,
    "conv_odd": 13,
}
DEVICE = device("vek280")
CORE = DEVICE.architecture.core
#: Operands, and what results are stored in.
PAIRS = {
    ("int8", "int8"): "int8",
    ("uint8", "int8"): "uint8",
    ("int16", "int8"): "int16",
    ("int16", "int16"): "int16",
    ("bfloat16", "bfloat16"): "bfloat16",
}
SATURATION = {"none": 0, "saturate": 1, "symmetric": 3}
COUNTERS = ("mmul", "vmac", "multiply", "load", "store", "srs", "cascade_in", "cascade_out")
_TABLES = ("origins", "offsets", "bias_of", "row_sums", "addends", "partial")
_INPUTS = ("x", "w", "bias", "multipliers", *_TABLES, "from_")
_POINTERS = (*_INPUTS, "y", "to")
_SIGNED = ("multiplier", "addend", "shift", "zero", "lo", "hi", "rounding", "saturation")
_UNSIGNED = ("m_blocks", "k_steps", "n_blocks", "x_n_step", "y_m_step", "y_n_step")


class Arguments(ctypes.Structure):
    _fields_ = (
        *((name, ctypes.c_void_p) for name in _POINTERS),
        *((f"{name}_bytes", ctypes.c_uint64) for name in _POINTERS),
        *((name, ctypes.c_int32) for name in _SIGNED),
        *((name, ctypes.c_uint32) for name in _UNSIGNED),
        ("counters", ctypes.c_uint64 * 8),
    )


def compile_cpp(text, folder, name, compiler=None, extra=None):
    """`text` compiled in `folder`; the path of what came out.

    By default a library, and as quickly as it can be built.
    """
    compiler = compiler or FASTEST
    if extra is None:
        quick = compiler == FASTEST
        extra = ("-shared", *(unoptimised("-fPIC") if quick else ("-O1", "-fPIC")))
    source, out = folder / f"{name}.cpp", folder / f"{name}.{compiler}.out"
    source.write_text(text)
    paths = ("-I", str(include_folder()), "-I", str(HERE), "-I", str(folder))
    command = (compiler, *FLAGS, *extra, *paths, str(source), "-o", str(out))
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[:4000]
    return out


@cache
def _read_headers(flags: tuple[str, ...]) -> tuple[tempfile.TemporaryDirectory, Path]:
    """The emulation's headers, read once by the fastest compiler; they go when the tests end."""
    folder = tempfile.TemporaryDirectory()
    header = Path(folder.name) / "all.hpp"
    names = ("adf.h", "aie_api/aie.hpp", "aie_api/aie_adf.hpp")
    header.write_text("".join(f"#include <{name}>\n" for name in names))
    command = (
        FASTEST,
        *FLAGS,
        *flags,
        "-I",
        str(include_folder()),
        "-x",
        "c++-header",
        str(header),
    )
    # clang looks for .pch beside the header, gcc for .gch.
    made = f"{header}.{'pch' if FASTEST == 'clang++' else 'gch'}"
    done = subprocess.run((*command, "-o", made), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[:4000]
    return folder, header


def unoptimised(*flags):
    """Flags of what `FASTEST` builds to run once: reading the headers is most of its build."""
    flags = ("-O0", *flags)
    return (*flags, "-include", str(_read_headers(flags)[1]))


def build_kernels(specs, folder, compiler=None, flags=None, more=""):
    """One library with an entry for every family of `specs`, and with what `more` holds."""
    families = {spec.family: spec for spec in specs}
    for family, spec in families.items():
        (folder / f"{family}.hpp").write_text(render_template(spec.template, k=spec))
    lines = ['#include "driver.hpp"']
    lines += [f'#include "{family}.hpp"' for family in families]
    lines += [f"AIE_TEST_ENTRY({family})" for family in families]
    text = "\n".join([*lines, more]) + "\n"
    extra = None if flags is None else (*flags, "-shared", "-fPIC")
    return ctypes.CDLL(str(compile_cpp(text, folder, "kernels", compiler, extra)))


@dataclass(frozen=True, eq=False)
class Outcome:
    stored: np.ndarray | None
    passed: np.ndarray | None
    counters: dict


def storage(dtype):
    return {"bfloat16": np.uint16}.get(dtype, dtype)


def lane_dtype(spec):
    return np.float32 if spec.floating else {32: np.int32, 64: np.int64}[spec.lane_bits]


def tiles_in_cascade_order(spec, sums):
    """Sums [M, N] in the order in which blocks travel over the cascade."""
    t = spec.tiling
    m_blocks, n_blocks = spec.blocks
    parts = sums.reshape(m_blocks, spec.rows, t.m, n_blocks, spec.columns, t.n)
    return np.ascontiguousarray(parts.transpose(0, 3, 1, 4, 2, 5)).astype(lane_dtype(spec))


def sums_from_cascade(spec, flat):
    t = spec.tiling
    m_blocks, n_blocks = spec.blocks
    parts = flat.reshape(m_blocks, n_blocks, spec.rows, spec.columns, t.m, t.n)
    return parts.transpose(0, 2, 4, 1, 3, 5).reshape(spec.m, spec.n)


def call(library, spec, x, w, numbers):
    """The matrix kernel of `spec` on x [M, K], w [K, N]."""
    arrays = {"x": pack_x(x, spec), "w": pack_w(w, spec)}
    return call_on(library, spec, arrays, numbers, spec.n * spec.tiling.m)


def call_on(library, spec, arrays, numbers, y_m_step, y_n_step=None, x_n_step=0):
    """The kernel of `spec` on operands that are packed; `arrays` by the driver's names."""
    r, t = spec.requantise, spec.tiling
    arrays = dict(arrays)
    if spec.bias and "bias" not in arrays:
        arrays["bias"] = pack_column(numbers.bias, spec).astype(spec.bias_dtype)
    if r.form == "channel":
        arrays["multipliers"] = pack_column(numbers.multiplier, spec).astype(np.int32)
    if r.addend == "channel":
        arrays["addends"] = pack_column(numbers.addend, spec).astype(np.int32)
    if spec.resumes:
        sums = numbers.received.astype(spec.bias_dtype)
        arrays["partial"] = tiled(sums, spec.tiling.m, spec.tiling.n)
    if spec.receives:
        arrays["from_"] = tiles_in_cascade_order(spec, numbers.received)
    if spec.stores:
        arrays["y"] = np.zeros(spec.m * spec.n, dtype=storage(r.dtype))
    else:
        arrays["to"] = np.zeros(spec.m * spec.n, dtype=lane_dtype(spec))
    m_blocks, n_blocks = spec.blocks
    arguments = Arguments(
        multiplier=int(numbers.multiplier) if r.form == "tensor" else 0,
        addend=int(numbers.addend) if r.addend == "tensor" else 0,
        shift=numbers.shift,
        zero=r.zero_point,
        lo=spec.lo or 0,
        hi=r.hi or 0,
        rounding=ROUNDING[r.rounding],
        saturation=SATURATION[r.saturation],
        m_blocks=m_blocks,
        k_steps=spec.k_steps,
        n_blocks=n_blocks,
        x_n_step=x_n_step,
        y_m_step=y_m_step,
        y_n_step=t.m * t.n if y_n_step is None else y_n_step,
    )
    for name, array in arrays.items():
        setattr(arguments, name, array.ctypes.data)
        setattr(arguments, f"{name}_bytes", array.nbytes)
    getattr(library, f"call_{spec.family}")(ctypes.byref(arguments))
    return Outcome(
        arrays.get("y"),
        None if spec.stores else sums_from_cascade(spec, arrays["to"]),
        dict(zip(COUNTERS, arguments.counters, strict=True)),
    )


def random_matrix(rng, dtype, shape):
    if dtype in ("bfloat16", "bfp16"):
        return to_bfloat16(rng.standard_normal(shape).astype(np.float32), "conv_even")
    info = np.iinfo(dtype)
    return rng.integers(info.min, info.max + 1, shape).astype(dtype)


def random_numbers(rng, spec):
    """Numbers whose results use the output's range and meet its ends now and then."""
    spread = 1.0 if spec.floating else float(np.sqrt(spec.k)) * _spread(spec.a) * _spread(spec.b)
    out_bits = {"int8": 7, "uint8": 7, "int16": 15}.get(spec.requantise.dtype, 0)
    shift = max(0, round(np.log2(spread)) + 1 - out_bits) if out_bits else 0
    multiplier = None
    if spec.requantise.scaled:
        size = spec.n if spec.requantise.form == "channel" else None
        multiplier = rng.integers(1 << 14, 1 << 15, size)
        shift += 15
    addend = None
    if spec.requantise.addend != "zero_point":
        size = spec.n if spec.requantise.addend == "channel" else None
        addend = rng.integers(-(1 << 31), 1 << 31, size)
    if spec.floating:
        bias = rng.standard_normal(spec.n).astype(np.float32)
        received = rng.standard_normal((spec.m, spec.n)).astype(np.float32)
    else:
        most = min(int(spread) + 1, 1 << 30)
        bias = rng.integers(-most, most, spec.n)
        received = rng.integers(-most, most, (spec.m, spec.n))
    return Numbers(
        shift,
        multiplier,
        addend,
        bias if spec.bias else None,
        received if spec.receives or spec.resumes else None,
    )


def _spread(dtype):
    return float(np.iinfo(dtype).max) / np.sqrt(3)


def check(library, spec, rng):
    """One call on random numbers against numpy, bit for bit; the outcome."""
    x = random_matrix(rng, spec.a, (spec.m, spec.k))
    w = random_matrix(rng, spec.b, (spec.k, spec.n))
    numbers = random_numbers(rng, spec)
    outcome = call(library, spec, x, w, numbers)
    sums = dense_sums(spec, x, w, numbers)
    if spec.stores:
        wanted = requantised(spec, sums, numbers)
        np.testing.assert_array_equal(unpack_y(outcome.stored, spec), wanted)
    else:
        np.testing.assert_array_equal(outcome.passed, sums)
    return outcome


def resized(spec, m, k, n):
    """`spec` with at least these sizes, padded to what it can walk, in the same family."""
    t = spec.tiling
    floor = t.k * (spec.drain_steps + spec.refill_steps)

    def up(size, step):
        return -(-size // step) * step

    return replace(
        spec,
        m=up(m, t.m * spec.rows),
        k=up(max(k, floor), t.k),
        n=up(n, t.n * spec.columns),
    )


def array_text(name, ctype, values):
    return f"static const {ctype} {name}[] = {{{', '.join(str(int(v)) for v in values)}}};\n"


def build_and_run(folder, compiler, *extra):
    sources = sorted(path.name for path in folder.glob("*.cpp"))
    whole = folder / "whole.cc"  # one translation unit: the headers dominate compilation
    whole.write_text("".join(f'#include "{name}"\n' for name in sources))
    flags = (*FLAGS, "-O0", *extra)
    command = (compiler, *flags, APART, "-I", str(include_folder()), whole.name)
    done = subprocess.run(
        (*command, emulation_object(compiler, *flags), "-o", "app"),
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[:4000]
    environment = {**os.environ, "AIE_EMULATION_COUNTERS": "counters.json"}
    return subprocess.run(
        ("./app",), cwd=folder, capture_output=True, text=True, check=False, env=environment
    )


def run_main(folder, body, before=""):
    """Run statements on a core with 96 bytes of weights and 64 of constants, unoptimised."""
    text = f"""
#include <adf.h>
#include <aie_api/aie.hpp>
#include <aie_api/aie_adf.hpp>
static int8 *const memory = static_cast<int8 *>(std::aligned_alloc(64, 256));
{before}
int main() {{
    aie_emulation::Core core;
    core.name = "k";
    const aie_emulation::Mapped mapped(core, memory, 96, "weights");
    const aie_emulation::Mapped fixed(core, const_cast<const int8 *>(memory + 128), 64, "bias");
    const aie_emulation::Running running(core);
    {body}
    return 0;
}}
"""
    program = compile_cpp(text, folder, "program", FASTEST, extra=unoptimised())
    return subprocess.run((str(program),), capture_output=True, text=True, check=False)


def border_biases(
    bias: np.ndarray, w: np.ndarray, x_zero_point: int, walk: Walk
) -> tuple[np.ndarray, np.ndarray]:
    """Biases that carry the input's zero point where some taps fall on padding, which is 0.

    Args:
        bias: [N], the output's zero point folded in already.
        w: [N, FY, FX, C], or [N, FY, FX, 1] where channels stay apart.
        x_zero_point: of the input.
        walk: how the kernel goes over the window.

    Returns:
        The distinct biases, int32 [classes * N padded], and for every row of the kernel where its
        bias begins, int32 [M]; a call's `bias` and `bias_of`.

    """
    g, sums = walk.geometry, w.astype(np.int64).sum(axis=3)
    rows = taps_inside(g, 0)
    columns = taps_inside(g, 1)
    classes: dict[bytes, int] = {}
    biases: list[np.ndarray] = []
    bias_of = np.zeros(walk.m, dtype=np.int32)
    pitch = walk.tiles_per_row * walk.tiling.m
    for oy in range(g.out_height):
        for ox in range(g.out_width):
            inside = np.outer(rows[oy], columns[ox])
            key = inside.tobytes()
            if key not in classes:
                classes[key] = len(biases)
                folded = bias.astype(np.int64) - x_zero_point * (sums * inside).sum(axis=(1, 2))
                biases.append(np.pad(folded, (0, walk.n - len(folded))))
            bias_of[oy * pitch + ox] = classes[key] * walk.n
    table = np.concatenate(biases)
    assert np.abs(table).max(initial=0) <= np.iinfo(np.int32).max
    return table.astype(np.int32), bias_of
