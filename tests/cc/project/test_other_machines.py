"""Networks on another machine than the one they are for: said, never computed wrongly."""

import shutil
import subprocess

import pytest
from small_network import example

from match_aie.codegen.flags import CORRECTNESS
from match_aie.errors import ToolchainError
from match_aie.toolchain import write
from match_aie.toolchain.faults import not_loaded

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
