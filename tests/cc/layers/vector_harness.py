"""Layers of the CPU target's vector modules as programs: operands from stdin, outputs to stdout.

The same program runs on this machine, under sanitizers, and under emulators of other machines.
"""

import subprocess
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from layer_harness import COMPILERS
from workload_cases import arrays

import match_aie.targets.cpu as cpu
from match_aie.codegen.ctype import ctype
from match_aie.codegen.layer import render_layer
from match_aie.lowering import LayerProgram
from match_aie.mapping import search
from match_aie.targets.cpu.machine import Cache, machine
from match_aie.targets.cpu.module import Int8Module
from match_aie.targets.cpu.vector_module import VectorModule
from match_aie.targets.cpu.winograd import refuses
from match_aie.targets.cpu.winograd_module import Winograd2Module, Winograd4Module
from match_aie.workload import reference
from tests import emulation

FLAGS = ("-std=c11", "-Wall", "-Wextra", "-Werror", "-ffp-contract=off", "-fno-strict-aliasing")
INCLUDE = f"-I{Path(cpu.__file__).resolve().parent / 'runtime' / 'include'}"
SANITIZERS = ("-g", "-O1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all")
#: What compiles fastest; gcc folds the constants of its intrinsics only where it optimises.
FASTEST = COMPILERS[-1:]
QUICK = "-O0" if FASTEST == ["clang"] else "-Og"
HEAD = r"""
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "ma_cpu.h"
#ifdef MA_CORES
#include "ma_cores.h"
#endif
"""
#: With a main that needs no C library where there is none to link.
MAIN = r"""
static void *read_block(size_t bytes)
{
    void *block = malloc(bytes ? bytes : 1);
    if (!block || fread(block, 1, bytes, stdin) != bytes) {
        exit(9);
    }
    return block;
}
"""


def small_cache(facts, nbytes):
    """The same machine with caches so small that layers are tiled, and weights asked for ahead."""
    first, *others = facts.caches
    others = [replace(cache, bytes=4 * nbytes) for cache in others[:1]] + others[1:]
    return replace(facts, caches=(Cache(nbytes, first.bytes_per_cycle), *others))


def emulated(facts):
    """The same machine, its code compiled for this one: intrinsics as plain C."""
    facts = machine(facts) if isinstance(facts, str) else facts
    return replace(facts, flags=emulation.flags(facts))


@dataclass(frozen=True, eq=False)
class Layer:
    """A workload with random operands, as the module that takes it runs it."""

    workload: object
    module: object
    mapping: object
    seed: int

    def data(self):
        return arrays(self.workload, self.seed)

    def sent(self):
        inputs, constants = self.data()
        found = dict(self.module.pack(self.workload, constants))
        found.update(zip((o.name for o in self.workload.inputs), inputs, strict=True))
        return [np.ascontiguousarray(found[o.name]) for o in self.workload.operands[:-1]]

    def expected(self):
        return reference(self.workload, *self.data())


def layer(workload, facts, seed=0):
    """`workload` with the best mapping on `facts`, a Machine or the name of one."""
    facts = machine(facts) if isinstance(facts, str) else facts
    module = next(
        m
        for m in (Int8Module(facts), VectorModule(facts))
        if any(p.kind == workload.kind for p in m.patterns())
    )
    found = search(workload, module)
    assert isinstance(found, list), found
    return Layer(workload, module, found[0].mapping, seed)


def filtered(workload, facts, seed=0):
    """`workload` in both ways of minimal filtering, where `facts` has vectors for it."""
    facts = machine(facts) if isinstance(facts, str) else facts
    if refuses(facts, workload) is not None:
        return []
    modules = (Winograd2Module(facts), Winograd4Module(facts))
    return [Layer(workload, m, search(workload, m)[0].mapping, seed) for m in modules]


def _call(number, made):
    operands, module = made.workload.operands, made.module
    scratch = module.workspace_bytes(made.workload, made.mapping)
    sizes = [array.nbytes for array in made.sent()]
    last = len(operands) - 1
    passed = [f"(const {ctype(o.dtype)} *)p[{i}]" for i, o in enumerate(operands[:-1])]
    passed.append(f"({ctype(operands[-1].dtype)} *)p[{last}]")
    if module.scratch_bytes(made.workload):
        passed.append(f"(uint8_t *)p[{last + 1}]")
    lines = ["{", f"void *p[{last + 2}];"]
    lines += [f"p[{i}] = read_block({size});" for i, size in enumerate(sizes)]
    lines += [f"p[{last}] = malloc({operands[-1].nbytes});"]
    lines += [f"p[{last + 1}] = malloc({max(1, scratch)});"]
    lines += [f"t_layer{number}({', '.join(passed)});"]
    lines += [f"fwrite(p[{last}], 1, {operands[-1].nbytes}, stdout);"]
    return "\n".join([*lines, *(f"free(p[{i}]);" for i in range(last + 2)), "}"])


def text(layers):
    """The whole program."""
    parts = [HEAD]
    for number, made in enumerate(layers):
        module = made.module
        program = LayerProgram(
            f"t_layer{number}", module.name, "test", module.template(made.workload),
            made.workload, made.mapping, None, (),
        )  # fmt: skip
        # Inlined into one function, that many layers take clang minutes.
        made_apart = f"static __attribute__((noinline)) void t_layer{number}("
        rendered = render_layer(program, module)
        parts.append(rendered.replace(f"static void t_layer{number}(", made_apart))
    calls = [_call(number, made) for number, made in enumerate(layers)]
    refusal = "const char *no = ma_cpu_missing();\nif (no) {\nfputs(no, stderr);\nreturn 3;\n}"
    refusal = f"#ifndef EMULATED\n{refusal}\n#endif"
    return "\n".join([*parts, MAIN, "int main(void)\n{", refusal, *calls, "return 0;\n}\n"])


def bare_text(layers, wrong=None):
    """A program without a C library's start-up: operands inside, the status names a wrong layer.

    Args:
        layers: all for one 32-bit RISC-V.
        wrong: number of a layer to expect something else of, so that the program must notice.
    """
    parts, calls = ["#include <math.h>", '#include "ma_cpu.h"'], []
    for number, made in enumerate(layers):
        module, y = made.module, made.workload.output
        program = LayerProgram(
            f"t_layer{number}", module.name, "test", module.template(made.workload),
            made.workload, made.mapping, None, (),
        )  # fmt: skip
        parts.append(render_layer(program, module))
        passed = []
        operands = made.workload.operands
        for i, (array, operand) in enumerate(zip(made.sent(), operands[:-1], strict=True)):
            parts.append(_data(f"d{number}_{i}", array.tobytes()))
            passed.append(f"(const {ctype(operand.dtype)} *)(const void *)d{number}_{i}")
        expected = bytearray(made.expected().tobytes())
        expected[-1] ^= number == wrong
        parts.append(_data(f"e{number}", bytes(expected)))
        passed.append(f"({ctype(y.dtype)} *)(void *)y{number}")
        parts.append(f"static _Alignas(16) uint8_t y{number}[{y.nbytes}];")
        if module.scratch_bytes(made.workload):
            size = module.workspace_bytes(made.workload, made.mapping)
            parts.append(f"static _Alignas(16) uint8_t s{number}[{size}];")
            passed.append(f"s{number}")
        call = f"t_layer{number}({', '.join(passed)});"
        calls.append(f"{call}\nif (memcmp(y{number}, e{number}, {y.nbytes})) quit({number + 1});")
    return "\n".join([*parts, BARE_MAIN, *calls, "quit(0);\n}\n"])


#: Exits by Linux's system call 93; sets the global pointer, which start-up files would.
BARE_MAIN = r"""
static void quit(int status)
{
    register int a0 __asm__("a0") = status;
    register int a7 __asm__("a7") = 93;
    __asm__ volatile("ecall" ::"r"(a0), "r"(a7));
}
void _start(void);
void _start(void)
{
__asm__ volatile(".option push\n.option norelax\nla gp, __global_pointer$\n.option pop");
"""


def _data(name, data):
    return f"static const _Alignas(16) uint8_t {name}[] = {{{','.join(map(str, data))}}};"


def threads(facts):
    """Flags of a machine on which layers are divided over cores."""
    if facts.cores == 1:
        return ()
    return ("-pthread", "-D_POSIX_C_SOURCE=200809L", f"-DMA_CORES={facts.cores}")


def build(layers, folder, command, *flags, link=()):
    """The program of `layers`, which are all for one machine; `link` where another tool links."""
    source, out = folder / "layers.c", folder / "layers"
    source.write_text(text(layers))
    own = (*layers[0].module.machine.flags, *threads(layers[0].module.machine))
    words = [*command, *FLAGS, *own, *(flags or ("-O3",)), INCLUDE, str(source)]
    if link:
        _call_tool([*words, "-c", "-o", f"{out}.o"])
        _call_tool([*link, f"{out}.o", "-o", str(out), "-lm"])
    else:
        _call_tool([*words, "-o", str(out), "-lm"])
    return out


def _call_tool(words):
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{words}: {done.stderr[:3000]}"


def run(layers, program, emulator=()):
    """Run `program`; every layer must equal its reference."""
    blob = b"".join(a.tobytes() for made in layers for a in made.sent())
    done = subprocess.run([*emulator, str(program)], input=blob, capture_output=True, check=False)
    assert done.returncode == 0, f"{done.returncode}: {done.stderr.decode()[:3000]}"
    compare(layers, done.stdout)


def compare(layers, data):
    """Compare what a program wrote with the references."""
    at = 0
    for made in layers:
        y = made.workload.output
        got = np.frombuffer(data[at : at + y.nbytes], y.dtype).reshape(y.shape)
        at += y.nbytes
        expected = made.expected()
        np.testing.assert_array_equal(
            got.view(np.uint8), expected.view(np.uint8), f"{made.workload} as {made.mapping}"
        )
    assert at == len(data)
