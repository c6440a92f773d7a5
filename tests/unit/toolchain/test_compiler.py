import pytest

from match_aie.errors import ToolchainError
from match_aie.toolchain import compiler
from match_aie.toolchain.step import compile_file


@pytest.fixture
def machine(monkeypatch):
    """A machine with chosen programs and Python packages."""

    def having(*programs, packages=(), cc=None):
        monkeypatch.setattr(
            compiler.shutil, "which", lambda name: f"/bin/{name}" if name in programs else None
        )
        monkeypatch.setattr(
            compiler.importlib.util, "find_spec", lambda name: name if name in packages else None
        )
        monkeypatch.delenv("CC", raising=False)
        if cc is not None:
            monkeypatch.setenv("CC", cc)

    return having


def test_cc_of_the_environment_comes_first_then_the_usual_names(machine):
    machine("gcc", "clang", "ccache", cc="ccache clang")
    assert compiler.find_compiler() == ("ccache", "clang")
    assert compiler.find_compiler("gcc -m32") == ("gcc", "-m32")
    machine("gcc", "clang")
    assert compiler.find_compiler() == ("gcc",)
    machine("clang")
    assert compiler.find_compiler() == ("clang",)


def test_the_ziglang_package_is_the_last_resort(machine):
    machine(packages=("ziglang",))
    assert compiler.find_compiler()[1:] == ("-m", "ziglang", "cc")


def test_without_any_compiler_the_error_says_what_to_install(machine):
    machine()
    with pytest.raises(ToolchainError) as caught:
        compiler.find_compiler()
    assert "apt install gcc" in caught.value.hint
    assert "pip install ziglang" in caught.value.hint
    assert caught.value.exit_code == 3


@pytest.mark.parametrize("asked", ["icc", ["icc"]])
def test_a_compiler_that_is_not_there_is_no_reason_to_take_another(machine, asked):
    machine("gcc")
    with pytest.raises(ToolchainError, match="icc"):
        compiler.find_compiler(asked)
    machine("gcc", cc="icc")
    with pytest.raises(ToolchainError, match="icc"):
        compiler.find_compiler()


def test_a_command_with_an_open_quote_is_refused(machine):
    machine("gcc", cc="gcc '-O1")
    with pytest.raises(ToolchainError, match="no closing quotation"):
        compiler.find_compiler()


def made(folder, script):
    """What a compiler that is `script` gives."""
    program = folder / "compiler"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    command = (str(program), "-o", "build/x")
    with pytest.raises(ToolchainError) as caught:
        compile_file(folder, command, "build/x", folder / "build" / "log")
    assert not list(folder.glob("build/x*"))
    return caught.value


def test_a_compiler_that_writes_nothing_is_named(tmp_path):
    error = made(tmp_path, "exit 0")
    assert error.what.endswith("reports success and has written nothing")


def test_a_compiler_without_16_bit_floats_is_told_of(tmp_path):
    error = made(
        tmp_path, "echo 'net.c:1:1: error: _Float16 is not supported on this target'; exit 1"
    )
    assert "clang 15" in (error.hint or "")
