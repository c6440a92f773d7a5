"""Layers of the CPU module as C, compiled and run on arrays, many to a compilation."""

import ctypes
import shutil
import subprocess
from dataclasses import dataclass

import numpy as np

from match_aie.codegen.ctype import ctype
from match_aie.codegen.layer import render_layer
from match_aie.lowering import LayerProgram
from match_aie.mapping import search
from match_aie.targets.cpu import CPUModule
from match_aie.workload import reference

MODULE = CPUModule()
FLAGS = ("-std=c11", "-Wall", "-Wextra", "-Werror", "-ffp-contract=off")
COMPILERS = [name for name in ("gcc", "clang") if shutil.which(name)]
GUARD = 64
FILL = 0xA5


@dataclass(frozen=True, eq=False)
class Case:
    workload: object
    inputs: list
    constants: dict

    def expected(self):
        return reference(self.workload, self.inputs, self.constants)

    def arguments(self):
        """Arrays of all operands but the output, in the order of the C parameters."""
        packed = dict(MODULE.pack(self.workload, self.constants))
        packed.update(zip((o.name for o in self.workload.inputs), self.inputs, strict=True))
        return [np.ascontiguousarray(packed[o.name]) for o in self.workload.operands[:-1]]


def layer(workload, symbol):
    (best,) = search(workload, MODULE)
    return LayerProgram(
        symbol,
        MODULE.name,
        "test",
        MODULE.template(workload),
        workload,
        best.mapping,
        best.cost,
        (),
    )


def entry(workload, symbol):
    """An exported function that takes every operand's address in an array."""
    last = len(workload.operands) - 1
    passed = ", ".join(
        f"(const {ctype(o.dtype)} *)p[{i}]" if i < last else f"({ctype(o.dtype)} *)p[{i}]"
        for i, o in enumerate(workload.operands)
    )
    if MODULE.scratch_bytes(workload):
        passed += f", p[{last + 1}]"
    head = f"void run_{symbol}(void **p)"
    return f"{head};\n{head}\n{{\n    {symbol}({passed});\n}}\n"


def c_text(workloads):
    parts = ["#include <math.h>\n#include <stdint.h>\n"]
    for number, workload in enumerate(workloads):
        symbol = f"t_layer{number}"
        parts += [render_layer(layer(workload, symbol), MODULE), entry(workload, symbol)]
    return "\n".join(parts)


def build(text, folder, compiler, *flags, name="layers"):
    """`text` compiled in `folder`; the path of what came out."""
    source, out = folder / f"{name}.c", folder / f"{name}.{compiler}.out"
    source.write_text(text)
    command = [compiler, *FLAGS, *(flags or ("-O3", "-shared", "-fPIC"))]
    done = subprocess.run(
        [*command, str(source), "-o", str(out), "-lm"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, f"{compiler}: {done.stderr}\n{text}"
    return out


def guarded(size):
    """(buffer, its `size` bytes between two guards), full of a pattern."""
    buffer = np.full(size + 2 * GUARD, FILL, np.uint8)
    return buffer, buffer[GUARD : GUARD + size]


def run(function, case, in_place=None):
    """The output of `function`; y shares the storage of input `in_place` where that is given."""
    arguments = case.arguments()
    y = case.workload.output
    storage, inner = guarded(y.nbytes)
    view = inner.view(y.dtype).reshape(y.shape)
    around, scratch = guarded(MODULE.scratch_bytes(case.workload))
    if in_place is not None:
        index = [o.name for o in case.workload.operands].index(in_place)
        view.view(np.uint8)[...] = arguments[index].view(np.uint8)
        arguments[index] = view
    addresses = [array.ctypes.data for array in (*arguments, view, scratch)]
    function((ctypes.c_void_p * len(addresses))(*addresses))
    for buffer, what in ((storage, "y"), (around, "scratch")):
        assert (buffer[:GUARD] == FILL).all(), f"written before {what}"
        assert (buffer[-GUARD:] == FILL).all(), f"written after {what}"
    return view.copy()


def check(cases, folder, compiler):
    """Compile all of `cases` at once; every one must equal its reference, in place too."""
    library = ctypes.CDLL(build(c_text([c.workload for c in cases]), folder, compiler))
    for number, case in enumerate(cases):
        function = library[f"run_t_layer{number}"]
        expected = case.expected()
        for shared in (None, *MODULE.in_place(case.workload)):
            got = run(function, case, shared)
            note = f"{case.workload} with y in {shared}"
            np.testing.assert_array_equal(got.view(np.uint8), expected.view(np.uint8), note)
