"""Facts about processors, and which of them this machine fulfils."""

import json
import platform
from dataclasses import replace
from importlib.resources import files

import pytest

from match_aie.errors import TargetError
from match_aie.targets.cpu import CPU
from match_aie.targets.cpu.machine import NATIVE, PIN, PORTABLE, executes, machine, names, native


@pytest.fixture(autouse=True)
def unpinned(monkeypatch):
    """What is detected here, whatever the run is pinned to."""
    monkeypatch.delenv(PIN, raising=False)


def cpuinfo(tmp_path, key, features):
    path = tmp_path / "cpuinfo"
    path.write_text(
        f"processor\t: 0\nmodel\t: 1\n{key}\t: {' '.join(features)}\n\nprocessor\t: 1\n"
    )
    return path


V3 = ["fpu", "avx", "avx2", "bmi1", "bmi2", "f16c", "fma", "abm", "movbe"]
V4 = [*V3, "avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"]


@pytest.mark.parametrize(
    ("features", "expected"),
    [
        (["fpu", "sse2"], PORTABLE),
        (V3, "x86-64-v3"),
        ([*V3, "avx_vnni"], "x86-64-v3+avxvnni"),
        (V4, "x86-64-v4"),
        ([*V4, "avx512_vnni"], "x86-64-v4+avx512vnni"),
    ],
)
def test_native_takes_the_widest_vectors(tmp_path, monkeypatch, features, expected):
    monkeypatch.setattr(platform, "machine", lambda: "x86_64")
    found = native(cpuinfo(tmp_path, "flags", features), tmp_path)
    assert found == machine(expected)


def test_native_on_arm(tmp_path, monkeypatch):
    monkeypatch.setattr(platform, "machine", lambda: "aarch64")
    assert native(cpuinfo(tmp_path, "Features", ["asimd", "asimddp"]), tmp_path).dot == "sdot"
    assert native(cpuinfo(tmp_path, "Features", ["asimd"]), tmp_path).name == "cortex-a72"
    assert native(cpuinfo(tmp_path, "Features", ["fp"]), tmp_path).name == PORTABLE


def test_native_reads_cache_sizes(tmp_path, monkeypatch):
    monkeypatch.setattr(platform, "machine", lambda: "x86_64")
    for index, (kind, level, size) in enumerate(
        [
            ("Data", 1, "48K"),
            ("Instruction", 1, "32K"),
            ("Unified", 2, "2048K"),
            ("Unified", 3, "x"),
        ]
    ):
        folder = tmp_path / f"index{index}"
        folder.mkdir()
        for name, text in (("type", kind), ("level", level), ("size", size)):
            (folder / name).write_text(f"{text}\n")
    found = native(cpuinfo(tmp_path, "flags", V3), tmp_path)
    sizes = [cache.bytes for cache in found.caches]
    assert sizes == [48 << 10, 2 << 20, machine("x86-64-v3").caches[2].bytes]


@pytest.mark.parametrize(("size", "expected"), [("32768K", 4 << 20), ("2048K", 2 << 20)])
def test_no_more_of_a_shared_cache_than_facts_state(tmp_path, monkeypatch, size, expected):
    monkeypatch.setattr(platform, "machine", lambda: "x86_64")
    folder = tmp_path / "index3"
    folder.mkdir()
    for name, text in (("type", "Unified"), ("level", "3"), ("size", size)):
        (folder / name).write_text(f"{text}\n")
    found = native(cpuinfo(tmp_path, "flags", V3), tmp_path)
    assert found.caches[2].bytes == expected


@pytest.mark.parametrize(
    ("pin", "expected"),
    [(name, name) for name in names()] + [("x86-64", PORTABLE), ("x86-64-v2", PORTABLE)],
)
def test_a_variable_says_what_is_found(tmp_path, monkeypatch, pin, expected):
    monkeypatch.setattr(platform, "machine", lambda: "x86_64")
    monkeypatch.setenv(PIN, f" {pin} ")
    facts = machine(expected)
    found = native(cpuinfo(tmp_path, "flags", V4), tmp_path)
    # A run that is pinned itself builds what is not executed here with an emulation's flags.
    assert replace(found, flags=(), compilers=()) == replace(facts, flags=(), compilers=())
    assert CPU().built_for() == expected
    assert CPU("x86-64-v4").built_for() == "x86-64-v4"


def test_a_variable_that_names_nothing_is_refused(tmp_path, monkeypatch):
    monkeypatch.setenv(PIN, "z80")
    with pytest.raises(TargetError, match="MATCH_AIE_ARCH names no processor architecture: 'z80'"):
        CPU()
    monkeypatch.setenv(PIN, NATIVE)
    assert CPU().built_for() in names()


def test_what_is_executed_is_not_pinned(tmp_path, monkeypatch):
    monkeypatch.setattr(platform, "machine", lambda: "x86_64")
    monkeypatch.setenv(PIN, "x86-64-v4")
    here = cpuinfo(tmp_path, "flags", V3)
    ran = {name for name in names() if executes(machine(name), here)}
    assert ran == {"x86-64-v3", PORTABLE}


def test_without_linux_it_is_portable(tmp_path, monkeypatch):
    monkeypatch.setattr(platform, "machine", lambda: "x86_64")
    assert native(tmp_path / "nowhere", tmp_path).name == PORTABLE


def test_every_file_is_whole_and_names_its_sources():
    folder = files("match_aie.targets.cpu").joinpath("facts")
    assert {"x86-64-v3", "x86-64-v4", "aarch64", "rv64gcv", "rv32imc"} <= set(names())
    for name in names():
        data = json.loads(folder.joinpath(f"{name}.json").read_text())
        assert len(data["sources"]) >= 1
        facts = machine(name)
        assert facts.lanes >= 1
        assert facts.caches
        for module in CPU(name).modules():
            assert module.patterns()


def test_an_unknown_arch_is_refused_with_what_there_is():
    with pytest.raises(TargetError, match=r"called 'z80'") as caught:
        CPU("z80")
    assert "x86-64-v3" in caught.value.hint
    assert NATIVE in caught.value.hint


@pytest.mark.parametrize(
    ("arch", "cores"), [("x86-64-v3", 0), ("x86-64-v3", 257), ("portable", 2), ("rv32imc", 2)]
)
def test_cores_that_there_are_not_are_refused(arch, cores):
    with pytest.raises(TargetError, match=f"over {cores} cores of {arch}"):
        CPU(arch, cores=cores)


def test_more_cores_are_part_of_the_project():
    one, four = CPU("x86-64-v3"), CPU("x86-64-v3", cores=4)
    assert four.built_for() == "x86-64-v3, 4 cores"
    assert "-DMA_CORES=4" in four.build_profile().flags
    assert "include/ma_cores.h" in four.runtime().files
    assert "include/ma_cores.h" not in one.runtime().files
    assert not [flag for flag in one.build_profile().flags if "thread" in flag]


def test_projects_say_what_they_were_built_for():
    assert CPU("x86-64-v4").built_for() == "x86-64-v4"
    assert "-march=x86-64-v4" in CPU("x86-64-v4").build_profile().flags
    assert CPU(PORTABLE).build_profile().flags == ("-O3",)
