"""Networks on another machine, or with other flags, than those they are for: said, never wrong."""

import platform
import shutil
import subprocess

import numpy as np
import pytest
from small_network import example

import match_aie
from match_aie.codegen.flags import CORRECTNESS
from match_aie.errors import ToolchainError
from match_aie.targets.cpu import CPU
from match_aie.toolchain import write
from match_aie.toolchain.faults import not_loaded
from tests.needs import needs
from tests.networks.graph import Graph

COMPILER = next(filter(shutil.which, ("cc", "gcc", "clang")), None)
pytestmark = pytest.mark.skipif(COMPILER is None, reason="no C compiler")

#: An ELF header's first bytes: 64 bits, least significant byte first; then a shared object.
SHARED = b"\x7fELF\x02\x01\x01" + bytes(9) + b"\x03\x00"


@pytest.mark.parametrize(("order", "status"), [("LITTLE", 0), ("BIG", 1)])
def test_constants_are_for_one_order_of_bytes(tmp_path, order, status):
    """A machine that would read them backwards does not compile the network."""
    folder = write(example(), tmp_path / "net").folder
    orders = ("-U__BYTE_ORDER__", f"-D__BYTE_ORDER__=__ORDER_{order}_ENDIAN__")
    command = (COMPILER, *CORRECTNESS, "-fsyntax-only", "-Iinclude", *orders, "src/net.c")
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert bool(done.returncode) == bool(status), done.stderr
    assert ("least significant byte first" in done.stderr) == bool(status)


def compiled(folder, *flags, compiler=COMPILER):
    """What the compiler says of the network with flags of a user; "" for nothing."""
    command = (compiler, *CORRECTNESS, *flags, "-fsyntax-only", "-Iinclude", "src/net.c")
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert bool(done.returncode) == bool(done.stderr)
    return done.stderr


@pytest.mark.parametrize("flag", ["-Ofast", "-ffast-math", "-ffinite-math-only"])
def test_flags_that_change_rounded_bits_do_not_compile(tmp_path, flag):
    """Whoever edits a Makefile is told; targets' own flags are checked when they are stated."""
    folder = write(example(), tmp_path / "net").folder
    assert "change rounded bits" in compiled(folder, flag)
    assert compiled(folder, flag, "-fno-fast-math", "-fno-finite-math-only") == ""


@needs("gcc")
@pytest.mark.skipif(platform.machine() not in ("x86_64", "AMD64"), reason="x87 is x86's")
def test_floats_of_more_bits_do_not_compile(tmp_path):
    """gcc's default for 32-bit x86: bits of a sum beyond float32 would reach the next operation."""
    folder = write(example(), tmp_path / "net").folder
    assert "more bits of a float" in compiled(folder, "-mfpmath=387", compiler="gcc")
    assert compiled(folder, "-mfpmath=sse", compiler="gcc") == ""


@needs("gcc")
@pytest.mark.skipif(platform.machine() not in ("x86_64", "AMD64"), reason="a flag of x86's")
def test_processors_with_16_bit_floats_compile(tmp_path):
    """There gcc's own dialect evaluates `_Float16` as it is, and says so; float as ever."""
    folder = write(example(), tmp_path / "net").folder
    flags = ("-std=gnu17", "-march=sapphirerapids")
    assert compiled(folder, *flags, compiler="gcc") == ""


@needs("aarch64-linux-gnu-gcc", "qemu-aarch64")
@pytest.mark.parametrize("vectors", [1, 2, 16])
def test_long_vectors_of_a_users_flags(tmp_path, vectors):
    """gcc 12 stores bytes of a clip wrongly in SVE vectors of more than 128 bits."""
    graph = Graph(5)
    scale, zero = graph.constant(np.float32(0.03)), graph.constant(np.uint8(126))
    stored = graph.add("QuantizeLinear", "x", scale, zero)
    model = graph.model(
        "net", {"x": (1, 490)}, {graph.add("DequantizeLinear", stored, scale, zero): (1, 490)}
    )
    project = match_aie.compile(model, CPU("portable"), name="net", cache=False).write(
        tmp_path / "net"
    )
    x = np.random.default_rng(0).standard_normal((1, 490)).astype(np.float32)
    (tmp_path / "x").write_bytes(x.tobytes())
    flags = "WERROR=-Werror -march=armv8.2-a+sve"
    command = ("make", "static", "CC=aarch64-linux-gnu-gcc", flags)
    subprocess.run(command, cwd=project.folder, check=True)
    program = project.folder / "build" / "net_static"
    emulator = ("qemu-aarch64", "-cpu", f"max,sve-max-vq={vectors}")
    subprocess.run([*emulator, program, tmp_path / "x", tmp_path / "y"], check=True)
    (wanted,) = project.run(x).outputs.values()
    got = np.frombuffer((tmp_path / "y").read_bytes(), np.float32)
    np.testing.assert_array_equal(got, wanted.ravel())


@pytest.mark.parametrize(("machine", "name"), [(183, "aarch64"), (243, "riscv"), (999, "another")])
def test_a_library_for_another_machine_is_named(tmp_path, machine, name):
    """Loaders say that there is no such file."""
    library = tmp_path / "net.so"
    library.write_bytes(SHARED + machine.to_bytes(2, "little"))
    error = not_loaded("cannot open shared object file: No such file or directory", library)
    assert isinstance(error, ToolchainError)
    if library.read_bytes()[18:20] != own_machine():
        assert f"for {name}" in str(error)
        assert "make static" in str(error)
        assert "No such file" not in str(error)


def own_machine():
    with open("/proc/self/exe", "rb") as file:
        return file.read(20)[18:20]


def test_a_library_for_this_machine_fails_as_the_loader_says(tmp_path):
    library = tmp_path / "net.so"
    library.write_bytes(SHARED + own_machine())
    assert "does not load: file too short" in str(not_loaded("file too short", library))
    assert "does not load: gone" in str(not_loaded("gone", tmp_path / "none.so"))
