"""Float32 layers of the CPU modules as C, compiled and run on arrays, many to a compilation."""

import ctypes
import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import match_aie.targets.cpu as package
from match_aie.codegen.layer import render_layer
from match_aie.hardware import Cost, Loop, Mapping
from match_aie.lowering import LayerProgram
from match_aie.targets.cpu.float_module import float_modules
from match_aie.targets.cpu.machine import machine
from match_aie.workload import (
    is_narrow,
    narrow_table,
    real_expected,
)
from match_aie.workload.bfloat16 import to_bfloat16
from match_aie.workload.running import share, wrong

INCLUDE = Path(package.__file__).parent / "runtime" / "include"
COMPILERS = [name for name in ("gcc", "clang") if shutil.which(name)]
FLAGS = ("-std=c11", "-Wall", "-Wextra", "-Werror", "-ffp-contract=off", "-fno-strict-aliasing")
SANITIZERS = ("-g", "-O1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all")
ROWS = (
    "function",
    "add",
    "mul",
    "conv2d",
    "avg_pool2d",
    "max_pool2d",
    "softmax",
    "layer_norm",
    "rms_norm",
    "attention",
    "gru",
    "lstm",
)
#: This processor, and the narrowest vectors there are.
MACHINES = {facts.name: facts for facts in (machine(), machine("portable"))}
GUARD = 16


@dataclass(frozen=True, eq=False)
class Case:
    workload: object
    inputs: list
    constants: dict
    mapping: object

    def expected(self, got):
        return real_expected(self.workload, self.inputs, self.constants, got)


def module_of(workload, facts):
    products, rows = float_modules(facts)
    return rows if workload.kind in ROWS else products


def case(workload, seed, *steps):
    """Random operands; blocks of `steps`, (dimension, size) pairs, outermost first."""
    rng = np.random.default_rng(seed)
    made = {o.name: draw(o, rng) for o in workload.operands[:-1]}
    if is_narrow(workload) and workload.kind == "function":
        made["table"] = narrow_table(workload)
    if workload.integer_rows:
        made |= {name: integers(workload.operand(name), rng) for name in ("weight", "recurrent")}
    loops = tuple(Loop(dim, -(-workload.sizes[dim] // step), step) for dim, step in steps)
    return Case(
        workload,
        [made[o.name] for o in workload.inputs],
        {o.name: made[o.name] for o in workload.constants},
        Mapping((), loops, len(loops)),
    )


def integers(operand, rng):
    """Integers of 8 bits times a scale for each row; a row may be all zeros."""
    codes = rng.integers(-128, 128, operand.shape) * rng.integers(0, 9, (operand.shape[0], 1))
    scales = rng.uniform(0.001, 0.004, (operand.shape[0], 1)).astype(np.float32)
    return np.clip(codes, -128, 127).astype(np.float32) * scales


def draw(operand, rng):
    scale = 0.3 if operand.name in ("weight", "recurrent") else 1.0
    drawn = (scale * rng.standard_normal(operand.shape)).astype(np.float32)
    return to_bfloat16(drawn) if operand.dtype == "bfloat16" else drawn


def lying(array, operand):
    """A tensor as it lies in memory: bfloat16 by its bits."""
    if operand.dtype != "bfloat16":
        return np.ascontiguousarray(array)
    return (np.ascontiguousarray(array).view(np.uint32) >> 16).astype(np.uint16)


def meant(array):
    """The float32 numbers of a tensor as it lies in memory."""
    if array.dtype != np.uint16:
        return array
    return (array.astype(np.uint32) << 16).view(np.float32)


def c_text(cases, facts):
    names = ("math.h", "stdint.h", "string.h", "stdio.h", "stdlib.h")
    lines = [f"#include <{name}>" for name in names] + ['#include "ma_cpu_float.h"']
    for number, one in enumerate(cases):
        module, workload = module_of(one.workload, facts), one.workload
        program = LayerProgram(
            f"t_layer{number}",
            module.name,
            "test",
            module.template(workload),
            workload,
            one.mapping,
            Cost(1.0),
            (),
        )
        count = len(workload.operands) + bool(module.scratch_bytes(workload))
        lines.append(render_layer(program, module))
        passed = ", ".join(f"p[{i}]" for i in range(count))
        head = f"__attribute__((noinline)) void run{number}(void **p)"
        lines.append(f"{head};\n{head}\n{{\n    t_layer{number}({passed});\n}}\n")
    return "\n".join(lines)


def build(text, folder, compiler, facts, *flags):
    source, out = folder / "layers.c", folder / f"layers.{compiler}.out"
    source.write_text(text)
    command = [compiler, *FLAGS, *facts.flags, f"-I{INCLUDE}", *flags]
    done = subprocess.run(
        [*command, str(source), "-o", str(out), "-lm"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, f"{compiler}: {done.stderr[:3000]}"
    return out


def operands(one, facts):
    """Arrays in the order of the C parameters, the output as NaN, then the scratch."""
    module = module_of(one.workload, facts)
    packed = dict(module.pack(one.workload, one.constants))
    packed.update(zip((o.name for o in one.workload.inputs), one.inputs, strict=True))
    given = [lying(packed[o.name], o) for o in one.workload.operands[:-1]]
    y = lying(np.full(one.workload.output.size, np.nan, np.float32), one.workload.output)
    scratch = np.full(module.scratch_bytes(one.workload) // 4, np.nan, np.float32)
    return [*given, y, *([scratch] if scratch.size else [])]


def guard(array):
    return 7 if array.dtype == np.uint16 else -7.0


def guarded(array):
    """A copy of `array` (flat) between two guards: (storage, the copy)."""
    storage = np.full(array.size + 2 * GUARD, guard(array), array.dtype)
    storage[GUARD:-GUARD] = array.reshape(-1)
    return storage, storage[GUARD:-GUARD]


def check(cases, folder, compiler, facts):
    """Compile all of `cases` at once; every one must be close to its reference."""
    library = ctypes.CDLL(
        build(c_text(cases, facts), folder, compiler, facts, "-O2", "-shared", "-fPIC")
    )
    for number, one in enumerate(cases):
        places = [guarded(array) for array in operands(one, facts)]
        pointers = (ctypes.c_void_p * len(places))(*(view.ctypes.data for _, view in places))
        library[f"run{number}"](pointers)
        for storage, _ in places:
            mark = guard(storage)
            assert (storage[:GUARD] == mark).all(), f"written before: {one.workload}"
            assert (storage[-GUARD:] == mark).all(), f"written after: {one.workload}"
        got = places[len(one.workload.operands) - 1][1].reshape(one.workload.output.shape)
        compare(meant(got), one)


def compare(got, one):
    expected = one.expected(got)
    far, used = wrong(got, expected), share(got, expected)
    assert not far.any(), f"{far.sum()} wrong, {used} of the bound: {one.workload} {one.mapping}"


def whole_program(cases, facts):
    """(C text of a program that reads all operands and writes all outputs, what it reads)."""
    calls, blob = [], b""
    for number, one in enumerate(cases):
        arrays = operands(one, facts)
        y = len(one.workload.operands) - 1
        body = [f"void *p[{len(arrays)}];"]
        for at, array in enumerate(arrays):
            body.append(f"p[{at}] = malloc({array.nbytes});")
            body.append(f"if (fread(p[{at}], 1, {array.nbytes}, stdin) != {array.nbytes}) exit(9);")
            blob += array.tobytes()
        body += [f"run{number}(p);", f"fwrite(p[{y}], 1, {arrays[y].nbytes}, stdout);"]
        body += [f"free(p[{at}]);" for at in range(len(arrays))]
        calls += ["{", *body, "}"]
    text = "\n".join([c_text(cases, facts), "int main(void)", "{", *calls, "return 0;", "}", ""])
    return text, blob


def compare_all(cases, data):
    """What such a program wrote against the references."""
    for one in cases:
        y = one.workload.output
        dtype = np.uint16 if y.dtype == "bfloat16" else np.float32
        results = np.frombuffer(data, dtype, y.size)
        compare(meant(results).reshape(y.shape), one)
        data = data[results.nbytes :]


def sanitize(cases, folder, compiler, facts):
    """All of `cases` in one program, every operand in a heap block of its exact size."""
    text, blob = whole_program(cases, facts)
    program = build(text, folder, compiler, facts, *SANITIZERS)
    environment = {**os.environ, "ASAN_OPTIONS": "detect_leaks=0"}
    done = subprocess.run(
        [str(program)], input=blob, capture_output=True, env=environment, check=False
    )
    assert done.returncode == 0, done.stderr.decode()[:3000]
    compare_all(cases, done.stdout)
