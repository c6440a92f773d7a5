"""Vector kernels for machines that are not here: under emulators, or in C that models them.

AArch64 and RISC-V run under QEMU's user mode. No packaged emulator runs AVX-VNNI or AVX-512: the
former's two instructions trap into `emulate_avxvnni.c`, which computes them, and the latter runs
where this processor has it. All of them run everywhere with their intrinsics in plain C.
"""

import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

HERE = Path(__file__).parent
sys.path[:0] = [
    str(HERE.parent / "cc" / "layers"),
    str(HERE.parent / "unit" / "workload"),
]

import vector_cases  # noqa: E402
from layer_harness import COMPILERS  # noqa: E402
from test_instruction_sets import ARCHS  # noqa: E402
from vector_harness import (  # noqa: E402
    FLAGS,
    INCLUDE,
    bare_text,
    build,
    emulated,
    filtered,
    layer,
    run,
    small_cache,
)

import match_aie as match  # noqa: E402
from match_aie.targets.cpu.machine import executes, machine, native  # noqa: E402
from match_aie.targets.versal import VersalAIEML  # noqa: E402
from tests.needs import needs, needs_one_of  # noqa: E402
from tests.networks.graph import Graph  # noqa: E402

pytestmark = pytest.mark.slow
RISCV_ROOT = Path("/usr/riscv64-linux-gnu")


@needs("riscv64-linux-gnu-gcc", "qemu-riscv64")
def test_a_versals_arm_layers_on_riscv_without_vectors(tmp_path):
    """What a host computes for the Arm core of a chip: vectors of 128 bits, in plain C."""
    graph = Graph(5)
    y = graph.add("Softmax", graph.linear("x", 24, 20), axis=-1)
    model = graph.model("net", {"x": (6, 24)}, {y: (6, 20)})
    net = match.compile(model, target=VersalAIEML(modules=("arm",)))
    assert {layer.module for layer in net.program.schedule.chosen} & {"cpu_float", "cpu_rows"}
    project = net.write(tmp_path / "net")
    x = np.random.default_rng(0).standard_normal((6, 24)).astype(np.float32)
    (tmp_path / "x").write_bytes(x.tobytes())
    command = ("make", "static", "CC=riscv64-linux-gnu-gcc")
    subprocess.run(command, cwd=project.folder, check=True)
    (program,) = (project.folder / "build").glob("*_static")
    subprocess.run(["qemu-riscv64", program, tmp_path / "x", tmp_path / "y"], check=True)
    result = project.run(x)
    (wanted,) = result.outputs.values()
    assert result.matches_reference
    np.testing.assert_array_equal(
        np.frombuffer((tmp_path / "y").read_bytes(), np.float32), wanted.ravel()
    )


CLANGS = ("clang-22", "clang-21", "clang-20", "clang-19")


NORMS = ("layer_norm", "rms_norm")


def everything(facts):
    # Norms of bytes are layers of machines with vectors alone.
    taken = [w for w in vector_cases.everything() if facts != "rv32imc" or w.kind not in NORMS]
    layers = [layer(w, facts, seed) for seed, w in enumerate(taken)]
    cases = enumerate(vector_cases.filtered())
    return layers + [made for seed, w in cases for made in filtered(w, facts, seed)]


@needs("aarch64-linux-gnu-gcc", "qemu-aarch64")
@pytest.mark.parametrize(("arch", "processor"), [("aarch64", "max"), ("cortex-a72", "cortex-a72")])
def test_aarch64(arch, processor, tmp_path):
    """Whole and, with a small cache, tiled."""
    layers = everything(arch)
    tiled = everything(small_cache(machine(arch), 1500))[::3]
    layers += tiled
    program = build(layers, tmp_path, ("aarch64-linux-gnu-gcc",), "-O2", "-static")
    run(layers, program, ("qemu-aarch64", "-cpu", processor))


def riscv_clang():
    return next(name for name in CLANGS if shutil.which(name))


@needs("riscv64-linux-gnu-gcc", "qemu-riscv64")
@needs_one_of(*CLANGS)
@pytest.mark.parametrize("bits", [128, 256, 512])
def test_riscv_vectors(bits, tmp_path):
    layers = everything("rv64gcv" if bits == 128 else f"rv64gcv_zvl{bits}b")
    command = (riscv_clang(), "--target=riscv64-linux-gnu", f"--sysroot={RISCV_ROOT}",
               "-isystem", f"{RISCV_ROOT}/include")  # fmt: skip
    link = ("riscv64-linux-gnu-gcc", "-static")
    program = build(layers, tmp_path, command, "-O1", link=link)
    emulator = ("qemu-riscv64", "-cpu", f"rv64,v=true,vlen={bits},elen=64,vext_spec=v1.0")
    run(layers, program, emulator)


@needs("riscv64-linux-gnu-gcc", "qemu-riscv64")
@needs_one_of(*CLANGS)
def test_vectors_that_are_too_short_are_refused(tmp_path):
    layers = [layer(next(vector_cases.products()), "rv64gcv_zvl512b")]
    command = (riscv_clang(), "--target=riscv64-linux-gnu", f"--sysroot={RISCV_ROOT}",
               "-isystem", f"{RISCV_ROOT}/include")  # fmt: skip
    program = build(layers, tmp_path, command, link=("riscv64-linux-gnu-gcc", "-static"))
    emulator = ("qemu-riscv64", "-cpu", "rv64,v=true,vlen=128,elen=64,vext_spec=v1.0")
    done = subprocess.run([*emulator, str(program)], capture_output=True, check=False)
    assert done.returncode == 3
    assert b"longer vectors" in done.stderr


PICOLIBC = ("--specs=picolibc.specs", "-nostartfiles")
PLACES = ("__flash=0x10000", "__flash_size=4M", "__ram=0x1000000", "__ram_size=4M")


@needs("riscv64-unknown-elf-gcc", "qemu-riscv32")
def test_rv32imc(tmp_path):
    """Bare metal, float32 in software."""
    layers, compiler = everything("rv32imc"), "riscv64-unknown-elf-gcc"
    for wrong, status in ((None, 0), (4, 5)):
        source, program = tmp_path / "layers.c", tmp_path / "layers"
        source.write_text(bare_text(layers, wrong))
        words = [compiler, *PICOLIBC, *FLAGS, *layers[0].module.machine.flags, "-O2", INCLUDE]
        places = [f"-Wl,--defsym={place}" for place in PLACES]
        subprocess.run([*words, source, *places, "-o", program, "-lm"], check=True)
        done = subprocess.run(["qemu-riscv32", "-s", "8388608", program], check=False)
        assert done.returncode == status


@needs("gcc", "qemu-x86_64")
def test_a_processor_without_avx2_is_refused(tmp_path):
    """A sentence, not SIGILL."""
    layers = [layer(next(vector_cases.products()), "x86-64-v3")]
    program = build(layers, tmp_path, ("gcc",), "-O3", "-static")
    emulator = ("qemu-x86_64", "-cpu", "Nehalem", str(program))
    done = subprocess.run(emulator, capture_output=True, check=False)
    assert done.returncode == 3
    assert b"AVX2" in done.stderr


def avx2_only():
    has = {arch for arch in ARCHS if executes(machine(arch))}
    return executes(machine("x86-64-v3")) and not has & {"x86-64-v3+avxvnni"}


def instructions(program, name):
    done = subprocess.run(["objdump", "-d", str(program)], capture_output=True, check=True)
    return done.stdout.count(name.encode())


@needs("objdump")
@pytest.mark.skipif(not avx2_only(), reason="needs AVX2 and no AVX-VNNI, so that it traps")
@pytest.mark.parametrize("compiler", [pytest.param(c, marks=needs(c)) for c in ("gcc", "clang")])
def test_avx_vnni(compiler, tmp_path):
    layers = everything("x86-64-v3+avxvnni")
    traps = str(HERE.parent / "cc" / "layers" / "emulate_avxvnni.c")
    program = build(layers, tmp_path, (compiler,), "-O2", "-DEMULATED", traps)
    assert instructions(program, "vpdpbusd") > 50
    assert instructions(program, "vpdpwssd") > 50
    run(layers, program)


@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize("arch", ["x86-64-v4", "x86-64-v4+avx512vnni"])
def test_avx512(arch, compiler, tmp_path):
    """Natively where this processor has it; elsewhere compiled as it is, and emulated below."""
    if native().family != "x86-64":
        pytest.skip("compilers here are not for x86-64")
    layers = everything(arch)
    program = build(layers, tmp_path, (compiler,), "-O3")
    assert instructions(program, "zmm") > 1000
    assert bool(instructions(program, "vpdpbusd")) == arch.endswith("vnni")
    if executes(machine(arch)):
        run(layers, program)


@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize("arch", ARCHS)
def test_emulated(arch, compiler, tmp_path):
    """All layers of every architecture with its intrinsics in plain C; whole and in tiles."""
    facts = emulated(arch)
    layers = everything(facts) + everything(small_cache(facts, 1500))[::3]
    run(layers, build(layers, tmp_path, (compiler,), "-O1"))
