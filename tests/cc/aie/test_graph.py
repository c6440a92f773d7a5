"""Emitted graphs of dense layers: cascades, memory tiles that cut, pad and gather, parameters."""

import ctypes
import json
import os
import subprocess
import sys
from dataclasses import dataclass, replace

import numpy as np
import pytest
from aie_harness import COMPILERS, FASTEST, FLAGS, include_folder, random_matrix

from match_aie.codegen.sources import units
from match_aie.targets.aie_ml import device
from match_aie.targets.aie_ml.array.layer import ArrayMapping
from match_aie.targets.aie_ml.graph.dense import DenseGraph
from match_aie.targets.aie_ml.graph.dense_plan import dense_layer
from match_aie.targets.aie_ml.graph.region import region
from match_aie.targets.aie_ml.graph.write import Placed, host_layer, network_units, pack
from match_aie.workload import with_fixed_tail
from match_aie.workload.build import Quantized, dense, full_range
from match_aie.workload.reference import reference
from tests.emulation_object import emulation_object
from tests.kernel_counts import Counts, kernel_counts

CORE = device("vek280").architecture.core
INCLUDE = include_folder().parent / "include"


@dataclass(frozen=True)
class Case:
    """A dense layer and its split: rows, inputs, outputs; cascade, parts of columns and rows."""

    name: str
    size: tuple[int, int, int]
    split: tuple[int, int, int]
    call: tuple[int, int]
    form: str = "shift"
    a: str = "int8"
    out: str = "int8"
    block: tuple[int, int] = (2, 2)
    zero: int = 0


CASES = (
    Case("one_tile", (8, 64, 16), (1, 1, 1), (8, 16)),
    Case("cascade", (13, 148, 44), (3, 2, 1), (8, 32), "channel", zero=-5),
    Case("tensor", (16, 100, 12), (2, 1, 1), (16, 16), "tensor", "uint8", "uint8", zero=9),
    Case("gathered", (20, 32, 61), (2, 4, 2), (8, 16)),
    Case("sums", (1, 24, 40), (1, 2, 2), (4, 32), "none", "int16", "int32", (1, 4)),
)
# Parts of the rows of one row tile each: as many as there are.
CASES = (*CASES[:-1], replace(CASES[-1], size=(5, 24, 40)))


def planned(case, column, rng):
    """The layer's graph, its workload and constants, all numbers random."""
    rows, k, n = case.size
    workload = dense(
        Quantized(case.a, 1.0, case.zero),
        Quantized(case.out, 1.0),
        rows=rows,
        inputs=k,
        outputs=n,
        tail=None if case.form == "none" else full_range(case.out, 0),
        scales=0 if case.form == "none" else 1,
    )
    if workload.tail is not None:
        multiplier = {"shift": 0, "tensor": 1, "channel": n}[case.form]
        tail = replace(workload.tail, shift=9 if case.form == "shift" else 24, bits=64)
        workload = with_fixed_tail(workload, tail, multiplier=multiplier, offset=n, bias=False)
    constants = {
        "weight": random_matrix(rng, "int8", (n, k)),
        "bias": rng.integers(-5000, 5000, n).astype(np.int32),
        "offset": rng.integers(-(1 << 20), 1 << 20, n).astype(np.int32),
        "multiplier": rng.integers(1 << 14, 1 << 15, n).astype(np.int32),
    }
    constants = {o.name: constants[o.name][: o.size].reshape(o.shape) for o in workload.constants}
    length, columns, parts = case.split
    mapping = ArrayMapping(
        dense_layer(workload),
        CORE.tilings_of(case.a, "int8")[0],
        case.block,
        "overlapped",
        length,
        columns,
        parts,
        *case.call,
    )
    made = DenseGraph(case.name, mapping, region("vek280", 8, 8), workload, constants)
    return Placed(made.graph, column, workload), constants


def written(folder, layers):
    """All sources of the layers, and a function that ends every graph."""
    for path, data in units(network_units("net", layers, 1024)).items():
        (folder / path).parent.mkdir(exist_ok=True)
        (folder / path).write_bytes(data)
    ends = "".join(f"    {layer.graph.name}.end();\n" for layer in layers)
    (folder / "whole.cpp").write_text(
        f'#include "emulation/net_array.cpp"\nextern "C" void finish() {{\n{ends}}}\n'
    )


def compiled(folder, compiler, *extra):
    paths = ("-I", str(include_folder()), "-I", str(INCLUDE), "-Iaie", "-I.")
    flags = (*FLAGS, "-O0", *extra, "-fPIC")
    command = (compiler, *flags, "-shared", *paths, "whole.cpp")
    done = subprocess.run(
        (*command, emulation_object(compiler, *flags), "-o", "net.so"),
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[:4000]
    return folder / "net.so"


def call(library, placed, constants, x):
    """The layer's host function on x."""
    workload = placed.workload
    host = host_layer(placed.graph, workload)
    packed = pack(placed.graph, workload).constants
    y = np.zeros(workload.output.shape, workload.output.dtype)
    arrays = [x if name == "x" else packed[name] for name in host.arguments]
    function = getattr(library, f"{placed.graph.name}_array")
    function(*(ctypes.c_void_p(a.ctypes.data) for a in (*arrays, y)))
    return y


def layers_of(seed):
    rng, column, found = np.random.default_rng(seed), 0, []
    for case in CASES:
        found.append(planned(case, column, rng))
        column += found[-1][0].graph.columns
    return found


@pytest.mark.skipif("g++" not in COMPILERS, reason="not installed: g++")
def test_graphs_equal_numpy(tmp_path, monkeypatch) -> None:
    """Five graphs side by side in one library, each run twice."""
    monkeypatch.setenv("AIE_EMULATION_COUNTERS", str(tmp_path / "counters.json"))
    found = layers_of(1)
    written(tmp_path, [placed for placed, _ in found])
    library = ctypes.CDLL(str(compiled(tmp_path, FASTEST)))
    rng = np.random.default_rng(2)
    for placed, constants in found:
        operand = placed.workload.operand("x")
        for _ in range(2):
            x = random_matrix(rng, operand.dtype, operand.shape)
            wanted = reference(placed.workload, [x], constants)
            np.testing.assert_array_equal(call(library, placed, constants, x), wanted)
        assert np.unique(wanted).size > 5
    library.finish()
    counted = json.loads((tmp_path / "counters.json").read_text())
    check_counters([placed.graph for placed, _ in found], counted)


def check_counters(graphs, counted) -> None:
    assert len(counted) == sum(len(graph.kernels) for graph in graphs)
    rows = iter(counted)
    for graph in graphs:
        by_place = {(e["column"], e["row"]): e for e in [next(rows) for _ in graph.kernels]}
        left = min(column for column, _ in by_place)
        for kernel in graph.kernels:
            counts = vars(kernel_counts(kernel.call.spec, CORE))
            entry = by_place[left + kernel.place[0], kernel.place[1]]
            for name in vars(Counts()):
                assert entry[name] == 2 * kernel.firings * counts[name], (graph.name, name)


@pytest.mark.slow
@pytest.mark.skipif("clang++" not in COMPILERS, reason="not installed: clang++")
def test_graphs_with_clang_and_sanitizers(tmp_path) -> None:
    """In a process of its own: a sanitized library does not load into this one."""
    found = layers_of(3)
    written(tmp_path, [placed for placed, _ in found])
    main = "int main() {\n"
    for placed, _ in found:
        host = host_layer(placed.graph, placed.workload)
        sizes = [max(b.nbytes for b in host.buffers) + (1 << 18)] * (len(host.arguments) + 1)
        main += "".join(
            f"    static char {placed.graph.name}_{i}[{s}];\n" for i, s in enumerate(sizes)
        )
        names = ", ".join(f"{placed.graph.name}_{i}" for i in range(len(sizes)))
        main += f"    {placed.graph.name}_array({names});\n"
    with (tmp_path / "whole.cpp").open("a") as whole:
        whole.write(main + "    finish();\n}\n")
    sanitizers = ("-fsanitize=address,undefined", "-fno-sanitize-recover=all")
    paths = ("-I", str(include_folder()), "-I", str(INCLUDE), "-Iaie", "-I.")
    flags = (*FLAGS, "-O0", *sanitizers)
    made = emulation_object("clang++", *flags)
    command = ("clang++", *flags, *paths, "whole.cpp", made, "-o", "net")
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[:4000]
    environment = {**os.environ, "ASAN_OPTIONS": "detect_leaks=0"}
    done = subprocess.run(
        ("./net",), cwd=tmp_path, capture_output=True, text=True, check=False, env=environment
    )
    assert done.returncode == 0, (sys.platform, done.stderr[:4000])
