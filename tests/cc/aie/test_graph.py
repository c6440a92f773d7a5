"""An emitted graph: kernels in a cascade, memory tiles that cut and pad, parameters, files."""

import json
import os
import subprocess

import numpy as np
import pytest
from aie_harness import COMPILERS, FLAGS, include_folder, random_matrix, storage

from match_aie.codegen import render_template
from match_aie.errors import TargetError
from match_aie.targets.aie_ml import Tiling, device
from match_aie.targets.aie_ml.kernels.block import DenseBlock
from match_aie.targets.aie_ml.kernels.call import LayerCall
from match_aie.targets.aie_ml.kernels.counts import Counts, kernel_counts
from match_aie.targets.aie_ml.kernels.layout import pack_column, pack_w
from match_aie.targets.aie_ml.kernels.reference import Numbers, dense_reference
from match_aie.targets.aie_ml.kernels.spec import KernelSpec, Requantise

CORE = device("vek280").architecture.core


def block(length, count, m, k, n, form="shift", a="int8", dtype="int8", most_m=64):
    """A layer on length x count tiles, 2 x 2 accumulators; slices padded to what a kernel walks."""
    tiling = CORE.tilings_of(a, "int8")[0]

    def up(size, step):
        return -(-size // step) * step

    spec = KernelSpec(
        a,
        "int8",
        tiling,
        2,
        2,
        min(up(m, 2 * tiling.m), most_m),
        up(-(-k // length), tiling.k),
        up(-(-n // count), 2 * tiling.n),
        Requantise(form, dtype, zero_point=2 if form == "channel" else 0),
        relu=True,
    )
    return DenseBlock("fc", spec, length, count, m, k, n, column=3, row=1)


def array_text(name, ctype, values):
    return f"static const {ctype} {name}[] = {{{', '.join(str(int(v)) for v in values)}}};\n"


def slices(matrix, layer, row, column):
    s = layer.spec
    return matrix[column * s.k : (column + 1) * s.k, row * s.n : (row + 1) * s.n]


def calls_of(layer, numbers):
    """The kernel functions of the positions that occur."""
    return [
        LayerCall(
            f"{layer.name}_{position}",
            f"{layer.name}_kernels.h",
            layer.kernel_at(position),
            shift=numbers.shift,
            multiplier=numbers.multiplier if layer.spec.requantise.form == "tensor" else 0,
        )
        for position in layer.positions
    ]


def weights_text(layer, w, numbers):
    s, name = layer.spec, layer.name
    text = "#pragma once\n#include <adf.h>\n"
    for tile in range(layer.length * layer.count):
        row, column = divmod(tile, layer.length)
        part = slice(row * s.n, (row + 1) * s.n)
        k = layer.kernel(column)
        packed = pack_w(slices(w, layer, row, column), s)
        text += array_text(f"{name}_w{tile}", "int8", packed)
        if k.bias:
            text += array_text(f"{name}_bias{tile}", "int32", pack_column(numbers.bias[part], s))
        if k.stores and k.requantise.form == "channel":
            packed = pack_column(numbers.multiplier[part], s)
            text += array_text(f"{name}_multiplier{tile}", "int32", packed)
    return text


def write_project(layer, folder, w, numbers, iterations):
    name, calls = layer.name, calls_of(layer, numbers)
    views = {"b": layer, "calls": calls}
    files = {
        f"{name}_weights.h": weights_text(layer, w, numbers),
        f"{name}_kernels.h": render_template("aie/block_kernels.h.mako", **views),
        f"{name}_block.h": render_template("aie/block.h.mako", **views),
        "app.cpp": render_template("aie/block_app.cpp.mako", **views, iterations=iterations),
    }
    for call in calls:
        k = call.spec
        files[f"{k.family}.hpp"] = render_template(k.template, k=k)
        files[f"{call.symbol}.cpp"] = render_template("aie/layer.cpp.mako", call=call)
    for path, text in files.items():
        (folder / path).write_text(text)


def build_and_run(folder, compiler, *extra):
    sources = sorted(path.name for path in folder.glob("*.cpp"))
    whole = folder / "whole.cc"  # one translation unit: the headers dominate compilation
    whole.write_text("".join(f'#include "{name}"\n' for name in sources))
    command = (compiler, *FLAGS, "-O0", *extra, "-I", str(include_folder()), whole.name)
    done = subprocess.run(
        (*command, "-o", "app"), cwd=folder, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[:4000]
    environment = {**os.environ, "AIE_EMULATION_COUNTERS": "counters.json"}
    return subprocess.run(
        ("./app",), cwd=folder, capture_output=True, text=True, check=False, env=environment
    )


def expected(layer, x, w, numbers):
    """The whole layer as if it were one kernel; zero padding changes no sum."""
    whole = KernelSpec(
        layer.spec.a,
        "int8",
        Tiling(16, 1, 1, native=False),
        1,
        1,
        16 * -(-layer.m // 16),
        layer.k,
        layer.n,
        layer.spec.requantise,
        relu=layer.spec.relu,
    )
    rows = np.pad(x, ((0, whole.m - layer.m), (0, 0)))
    return dense_reference(whole, rows, w, numbers)[: layer.m]


CASES = {
    "one tile": block(1, 1, 8, 64, 16),
    "cascade of 3, 2 rows, padded, 2 firings": block(3, 2, 13, 148, 44, "channel", most_m=8),
    "u8, tensor": block(2, 1, 16, 100, 12, "tensor", a="uint8", dtype="uint8"),
}


def test_graph_equals_numpy(tmp_path) -> None:
    if "g++" not in COMPILERS:
        pytest.skip("needs g++")
    run_case(tmp_path, CASES["cascade of 3, 2 rows, padded, 2 firings"], "g++")


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_graph_with_clang_and_sanitizers(tmp_path, name) -> None:
    if "clang++" not in COMPILERS:
        pytest.skip("needs clang++")
    sanitizers = ("-fsanitize=address,undefined", "-fno-sanitize-recover=all")
    run_case(tmp_path, CASES[name], "clang++", *sanitizers)


def run_case(folder, layer, compiler, *extra) -> None:
    rng = np.random.default_rng(layer.k)
    iterations = 2
    w = random_matrix(rng, "int8", (layer.k, layer.n))
    x = random_matrix(rng, layer.spec.a, (iterations, layer.m, layer.k))
    form = layer.spec.requantise.form
    multiplier = {"channel": rng.integers(1 << 14, 1 << 15, layer.n), "tensor": 23456}.get(form)
    shift = 10 if form == "shift" else 25
    numbers = Numbers(shift, multiplier, bias=rng.integers(-5000, 5000, layer.n))
    write_project(layer, folder, w, numbers, iterations)
    (folder / "data").mkdir()
    np.savetxt(folder / "data" / "x.txt", x.reshape(-1, layer.k), fmt="%d")
    done = build_and_run(folder, compiler, *extra)
    assert done.returncode == 0, done.stderr[:4000]
    words = (folder / "data" / "y.txt").read_text().split()
    dtype = storage(layer.spec.requantise.dtype)
    y = np.array(words, dtype=np.int64).astype(dtype).reshape(iterations, layer.m, layer.n)
    for sample, result in zip(x, y, strict=True):
        np.testing.assert_array_equal(result, expected(layer, sample, w, numbers))
    check_counters(layer, iterations, json.loads((folder / "counters.json").read_text()))


def check_counters(layer, iterations, counted) -> None:
    assert len(counted) == layer.length * layer.count
    for entry in counted:
        column = entry["column"] - layer.column
        counts = vars(kernel_counts(layer.kernel(column), CORE))
        for name in vars(Counts()):
            assert entry[name] == iterations * layer.repetitions * counts[name], name


def test_slices_must_cover_the_layer() -> None:
    good = CASES["one tile"]
    with pytest.raises(TargetError, match="2 slices of 64 do not fit K = 64"):
        DenseBlock("fc", good.spec, 2, 1, good.m, good.k, good.n)
