"""Kernels of a program as cores call them: compiled with the emulation's headers, and run.

What goes into each call is recorded while the interpreter executes the program; the compiled
functions get the same, at the text's addresses, and must store the same.
"""

import ctypes
import subprocess
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from match_aie.codegen.fragment import render_template
from match_aie.hardware import Unit, runtime_files
from match_aie.targets.aie_ml.emulation import ARCH_MACRO, include_folder
from match_aie.targets.aie_ml.execute import execute, machine
from match_aie.targets.aie_ml.execute.memory import POISON
from match_aie.targets.aie_ml.kernels.floats import FloatSoftmaxCall
from match_aie.targets.aie_ml.kernels.softmax import SoftmaxCall
from match_aie.targets.aie_ml.known import device
from match_aie.targets.xdna.mlir.body import body
from match_aie.targets.xdna.mlir.kernels import arguments, names
from match_aie.targets.xdna.mlir.objects import initial, objects, scratch_bytes
from match_aie.targets.xdna.mlir.overlay import objects_of_overlay
from match_aie.targets.xdna.mlir.places import addresses, stack_bytes
from match_aie.targets.xdna.mlir.turns import told_shift, turned_names
from match_aie.targets.xdna.mlir.units import KERNEL_FILES, kernel_units

#: A core's memory.
BYTES = 64 * 1024

HARNESS = """
struct Held {
    aie_emulation::Core core;
    aie_emulation::Queue west;
    aie_emulation::Queue *east = nullptr;
    std::optional<aie_emulation::Mapped> mapped;
};
template <std::size_t>
using Any = void *;
template <std::size_t... At>
static void spread(void (*f)(), void **args, int number, int shift, std::index_sequence<At...>) {
    // Who is not told a shift does not look at it.
    reinterpret_cast<void (*)(Any<At>..., int, int)>(f)(args[At]..., number, shift);
}
extern "C" Held *core_of(unsigned char *memory, std::size_t bytes, std::size_t stack) {
    Held *held = new Held;
    held->core.stack_bytes = stack;  // as the text says
    held->mapped.emplace(held->core, memory, bytes, "the tile");
    return held;
}
extern "C" void join(Held *west, Held *east) { west->east = &east->west; }
extern "C" void run(Held *held, void (*f)(), void **args, int count, int number, int shift) {
    const aie_emulation::Running running(held->core);
    ma_npu::from_west = &held->west;
    ma_npu::to_east = held->east;
    switch (count) {
%s
    default: std::abort();
    }
}
extern "C" std::size_t left(Held *held) { return held->west.size(); }
"""


class Recorder:
    """A function that remembers what it was called with, and what it stored."""

    def __init__(self, inner):
        self.inner, self.calls = inner, []

    def call(self, number, inputs):
        self.calls.append([number, [np.array(each) for each in inputs], None])
        made = self.inner.call(number, inputs)
        if isinstance(made, np.ndarray):
            self.calls[-1][2] = made
        return made

    def finish(self, number, sums):
        made = self.calls[-1][2] = self.inner.finish(number, sums)
        return made


@contextmanager
def recording(found):
    """Functions of the interpreter, in the order of the program's cores."""
    before = machine.function

    def function(call, values):
        found.append(Recorder(before(call, values)))
        return found[-1]

    machine.function = function
    try:
        yield
    finally:
        machine.function = before


def recorded(program, runs):
    """Calls of every core: number, bytes of inputs, what was stored."""
    found = []
    with recording(found):
        execute(program, device(program.device), runs)
    return dict(zip((core.tile for core in program.cores), found, strict=True))


def library(program, folder: Path, made):
    """Object files of a program, compiled as the emulation compiles."""
    for unit in [*kernel_units(made), *graph_files(made)]:
        path = folder / unit.path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(render_template(unit.template, **unit.values))
    for path, data in runtime_files("match_aie.targets.xdna", KERNEL_FILES).items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(data)
    most = max(len(one.entries[0].arguments) for one in made) + 1
    cases = "\n".join(
        f"    case {n}: spread(f, args, number, shift, std::make_index_sequence<{n}>()); break;"
        for n in range(1, most + 1)
    )
    sources = "".join(f'#include "{one.symbol}.cc"\n' for one in made)
    whole = folder / "all.cpp"
    whole.write_text(f"#include <optional>\n#include <utility>\n{sources}{HARNESS % cases}")
    arch = ARCH_MACRO[device(program.device).architecture.name]
    flags = [f"-I{include_folder()}", f"-I{folder / 'mlir/kernels'}", f"-I{folder / 'aie'}"]
    flags += ["-std=c++20", "-O1", "-Wall", "-Wextra", "-Werror", f"-D__AIE_ARCH__={arch}"]
    library = folder / "kernels.so"
    command = ["g++", *flags, "-shared", "-fPIC", str(whole), "-o", str(library)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return ctypes.CDLL(str(library))


def graph_files(made):
    """The functions themselves and their declarations, which a project has for its graphs."""
    calls = {}
    for one in made:
        if one.kind == "whole":
            calls.setdefault(one.call.header, []).append(one.call)
            yield Unit(f"aie/{one.symbol}.cpp", one.call.template, {"call": one.call})
    for header, mine in calls.items():
        values = {"name": header, "calls": tuple(mine)}
        yield Unit(f"aie/{header}", "aie/graph_kernels.h.mako", values)


def compare(program, runs, folder, of=None):
    """Run every core's calls, two runs of them; how many results were compared.

    By the kernels of program `of` where the number of turns comes at run time.
    """
    seen = recorded(program, runs)
    files = objects(program) if of is None else objects_of_overlay(of)
    made = library(of or program, folder, files)
    called = names(program) if of is None else turned_names(program)
    made.core_of.restype = made.left.restype = ctypes.c_void_p
    tiles = {core.tile: Tile(program, core, made, called[core.tile]) for core in program.cores}
    for link in program.cascades:
        made.join(*(ctypes.c_void_p(tiles[end].held) for end in (link.source, link.sink)))
    fed = {link.sink for link in program.cascades}
    order = [core.tile for core in program.cores if core.tile not in fed]
    after = {link.source: link.sink for link in program.cascades}
    count = 0
    while order:
        tile = order.pop(0)
        count += tiles[tile].run(seen[tile].calls)
        order = [after[tile], *order] if tile in after else order
    assert all(not made.left(ctypes.c_void_p(one.held)) for one in tiles.values())
    return count


def minded(call, stored):
    """Without what lies behind the columns of rows, which no result depends on."""
    if isinstance(call, FloatSoftmaxCall):
        return stored.view(np.uint16).reshape(-1, call.width)[:, : call.columns]
    if not isinstance(call, SoftmaxCall):
        return stored
    return stored.reshape(call.rows, -1)[:, : call.columns]


class Tile:
    """One core's memory, and its program."""

    def __init__(self, program, core, made, called):
        self.core, self.made = core, made
        self.buffers = arguments(program, core.tile)
        self.calls = body(program, core, called)
        self.at = addresses(program, device(program.device))
        room = np.full(BYTES + 64, POISON, np.uint8)
        self.memory = room[-room.ctypes.data % 64 :][:BYTES]
        for buffer in self.buffers:
            values = initial(program, buffer)
            if values is not None:
                data = np.ascontiguousarray(values).reshape(-1).view(np.uint8)
                self.copy(buffer.name, 0)[: data.size] = data
        self.scratch = scratch_bytes(core.function)
        self.far = stack_bytes(program, self.at, core.tile, self.scratch)
        begin = self.memory.ctypes.data_as(ctypes.c_void_p)
        self.held = made.core_of(begin, ctypes.c_size_t(BYTES), ctypes.c_size_t(self.far))

    def copy(self, name, number):
        """Bytes of a copy of a buffer."""
        (buffer,) = (b for b in self.buffers if b.name == name)
        begin = self.at[self.core.tile, name][number]
        return self.memory[begin : begin + buffer.bytes]

    def run(self, calls):
        inputs = sorted(name for name in self.core.buffers if name != "out")
        wanted, count = None, 0
        for at, (number, data, stored) in enumerate(calls):
            one = self.calls[at % len(self.calls)]
            assert one.at == number
            held = dict(zip((b.name for b in self.buffers), one.copies, strict=True))
            for name in one.takes:
                if name != "out":
                    self.copy(name, held[name])[...] = data[inputs.index(name)]
            self.call(one)
            wanted = stored if stored is not None else wanted
            for name in one.gives:
                if name == "out":
                    bytes_of = np.ascontiguousarray(wanted).reshape(-1).view(np.uint8)
                    got = self.copy("out", held["out"])[: bytes_of.size]
                    got, bytes_of = (
                        minded(self.core.function, got),
                        minded(self.core.function, bytes_of),
                    )
                    np.testing.assert_array_equal(got, bytes_of, err_msg=f"{one.name}, {number}")
                    count += 1
                self.copy(name, held[name])[...] = POISON
        return count

    def call(self, one):
        base = self.memory.ctypes.data
        places = [
            base + self.at[self.core.tile, b.name][copy]
            for b, copy in zip(self.buffers, one.copies, strict=True)
        ]
        places += [base + self.far] if self.scratch else []
        given = (ctypes.c_void_p * len(places))(*places)
        function = ctypes.cast(getattr(self.made, one.name), ctypes.c_void_p)
        told = told_shift(self.core) or 0
        self.made.run(ctypes.c_void_p(self.held), function, given, len(places), one.at, told)
