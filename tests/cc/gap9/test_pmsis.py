"""The binding to the chip's SDK, executed: bits as in emulation, and nothing fails silently."""

import platform
import shutil
import subprocess
import warnings

import numpy as np
import pytest
from cluster_harness import COMMON, RUNTIME
from pmsis_project import build, build_emulated, run

import match_aie as match
from match_aie.demo import digits, digits_model
from match_aie.errors import ToolchainError
from match_aie.lowering.streams import taken
from match_aie.targets.gap9 import GAP9
from match_aie.targets.gap9.facts import facts

pytestmark = pytest.mark.skipif(
    platform.system() != "Linux", reason="programs below 4 GB are made for Linux"
)

IMAGE = digits().images[:1]
#: Before the emulation's number of cores: it has no L3.
NO_L3 = "\n#define MA_BACKING_BYTES 0\n#define MA_CORES"


def compiled(**options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return match.compile(digits_model(), GAP9(**options))


def copied(project, folder):
    """The project's files elsewhere, to be changed."""
    for path in project.folder.rglob("*"):
        if path.is_file() and "build" not in path.relative_to(project.folder).parts:
            to = folder / path.relative_to(project.folder)
            to.parent.mkdir(parents=True, exist_ok=True)
            to.write_bytes(path.read_bytes())
    return folder


@pytest.fixture(scope="module")
def net():
    """A network with default options."""
    return compiled()


@pytest.fixture(scope="module")
def whole(net, tmp_path_factory):
    """Its project's folder, and its outputs in emulation."""
    project = net.write(tmp_path_factory.mktemp("pmsis") / "net")
    wanted = list(project.run(IMAGE).outputs.values())
    return copied(project, tmp_path_factory.mktemp("mocked")), wanted


@pytest.fixture(scope="module")
def program(whole):
    return build(whole[0], "mocked")


@pytest.fixture(scope="module")
def streamed(net, tmp_path_factory):
    """One whose constants are in L3: its folder."""
    bound = taken(net.program, net.target.build_profile().alignment) - 1000
    project = compiled(l2_bytes=bound).write(tmp_path_factory.mktemp("l3") / "net")
    return copied(project, tmp_path_factory.mktemp("l3mocked"))


@pytest.fixture(scope="module")
def streaming(streamed):
    return build(streamed, "mocked")


def test_default_options_compute_what_emulation_computes(whole, program):
    ran = run(program, [IMAGE], whole[1])
    assert (ran.status, ran.said) == (0, "")
    for got, want in zip(ran.outputs, whole[1], strict=True):
        np.testing.assert_array_equal(got, want)


def test_stacks_and_layers_fit_into_l1_together():
    memory, cores = facts().memory, facts().cores
    stacks = cores.controller_stack_bytes + cores.workers * cores.worker_stack_bytes
    taken = memory.l1_usable_bytes + memory.l1_list_bytes + stacks
    assert taken + 4096 <= memory.l1_bytes


@pytest.mark.parametrize(
    ("call", "says"),
    [
        ("cluster_open", "cluster cannot be opened"),
        ("send_task", "no room for its stacks"),
        ("ne16", "NE16 does not answer"),
    ],
)
def test_a_call_that_fails_is_an_error(whole, program, call, says):
    ran = run(program, [IMAGE], whole[1], fail=call)
    assert ran.status == 1
    assert says in ran.said


@pytest.mark.parametrize(
    ("flag", "says"),
    [
        ("-DMA_L1_BYTES=120000", "beside the stacks L1 has no room"),
        ("-DMA_WORKER_STACK_BYTES=20480", "no room for its stacks"),
        ("-DMA_L1_BYTES=2048", "a layer needs more of L1"),
    ],
)
def test_too_little_l1_is_an_error(whole, program, flag, says):
    del program  # its objects are there
    changed = build(whole[0], "less", ["pmsis/ma_gap9_pmsis.c"], [flag])
    ran = run(changed, [IMAGE], whole[1])
    assert ran.status == 1
    assert says in ran.said


def failing(source, fault='ma_fail("the kernel saw what it cannot do");'):
    """The network's C with one kernel that says that it failed."""
    at = source.index("{", source.index("_start(const struct ma_tile *t, const void *context)"))
    return f"{source[: at + 1]}\n    {fault}{source[at + 1 :]}"


@pytest.mark.skipif(not shutil.which("gcc"), reason="no gcc")
@pytest.mark.parametrize(("waits", "fine"), [(1, True), (255, True), (0, False), (256, False)])
def test_waits_at_banks_fit_their_bits(waits, fine):
    """Beyond them the register's next bits, who goes first, would be others."""
    source = RUNTIME / "pmsis" / "ma_ne16_pmsis.c"
    includes = [f"-I{RUNTIME / 'include'}", f"-I{RUNTIME / 'pmsis' / 'alone'}", f"-I{COMMON}"]
    words = ["gcc", "-fsyntax-only", "-w", f"-DMA_NE16_MOST_WAITS={waits}u", *includes, source]
    assert (subprocess.run(words, capture_output=True, check=False).returncode == 0) == fine


def test_a_kernel_that_fails_is_an_error(whole, program):
    del program
    folder = whole[0]
    (source,) = (path for path in (folder / "src").glob("*.c") if not path.match("*_main.c"))
    good = source.read_text()
    try:
        source.write_text(failing(good))
        mocked = build(folder, "failing", [f"src/{source.name}"])
        emulated = build_emulated(folder)
    finally:
        source.write_text(good)
    for changed, status in ((mocked, 1), (emulated, 70)):
        ran = run(changed, [IMAGE], whole[1])
        assert (ran.status, ran.said) == (status, "the kernel saw what it cannot do")


def test_constants_come_from_l3(whole, streamed, streaming):
    ran = run(streaming, [IMAGE], whole[1], flash=streamed / "weights")
    assert (ran.status, ran.said) == (0, "")
    for got, want in zip(ran.outputs, whole[1], strict=True):
        np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize(
    ("call", "says"),
    [
        ("ram_open", "RAM cannot be opened"),
        ("ram_alloc", "RAM has no room"),
        ("flash_open", "flash cannot be opened"),
        ("fs_mount", "no read-only file system"),
        ("fs_read", "cannot be read to its end"),
    ],
)
def test_l3_that_fails_is_an_error(whole, streamed, streaming, call, says):
    ran = run(streaming, [IMAGE], whole[1], fail=call, flash=streamed / "weights")
    assert ran.status == 1
    assert says in ran.said


def rebuilt(folder, fault, before=""):
    """The project with a main function that runs it seven times.

    Args:
        folder: of the project, whose objects are there.
        fault: C in a kernel; empty for none.
        before: C before run `i`.
    """
    (main,) = (folder / "src").glob("*_main.c")
    source = main.with_name(main.name.replace("_main", ""))
    good = {path: path.read_text() for path in (main, source)}
    many = f"""int status = 1;
    for (int i = 0; i < 7; ++i) {{
        {before}
        status = digits_run_in(arena, in, out);
        fprintf(stderr, "%s\\n", status ? digits_fault() : "fine");
    }}"""
    once = "const int status = digits_run_in(arena, in, out);"
    assert once in good[main]
    try:
        main.write_text(good[main].replace(once, many))
        source.write_text(failing(good[source], fault) if fault else good[source])
        return build(folder, "again", [f"src/{main.name}", f"src/{source.name}"])
    finally:
        for path, text in good.items():
            path.write_text(text)


def test_runs_after_errors_start_anew(whole, streamed, streaming):
    """Six runs end in a kernel while constants are on their way: the seventh finds none of them."""
    del streaming
    says = 'ma_fail("the kernel saw what it cannot do");'
    again = rebuilt(streamed, f"static int runs;\n    if (++runs < 7) {says}")
    ran = run(again, [IMAGE], whole[1], flash=streamed / "weights")
    assert ran.said.splitlines() == ["the kernel saw what it cannot do"] * 6 + ["fine"]
    assert ran.status == 0
    np.testing.assert_array_equal(ran.outputs[0], whole[1][0])


def test_lists_that_could_not_be_placed_are_placed_by_the_next_run(whole, program):
    del program
    first = "extern int setenv(const char *, const char *, int);\n"
    first += '        setenv("ALONE_FAIL", i ? "" : "send_task", 1);'
    ran = run(rebuilt(whole[0], "", first), [IMAGE], whole[1])
    assert "no room for its stacks" in ran.said.splitlines()[0]
    assert ran.said.splitlines()[1:] == ["fine"] * 6
    np.testing.assert_array_equal(ran.outputs[0], whole[1][0])


def test_l3_without_the_constants_is_an_error(whole, streamed, streaming, tmp_path):
    assert "has no file" in run(streaming, [IMAGE], whole[1], flash=tmp_path).said
    (file,) = (streamed / "weights").glob("*_backing.bin")
    (tmp_path / file.name).write_bytes(file.read_bytes()[:-1])
    ran = run(streaming, [IMAGE], whole[1], flash=tmp_path)
    assert ran.status == 1
    assert "of another network" in ran.said


@pytest.mark.parametrize(
    ("flag", "says"),
    [("-DMA_L1_BYTES=2048", "of L1"), ("-DMA_BACKING_BYTES=0", "backing memory (L3)")],
)
def test_emulation_says_the_same(whole, streamed, flag, says):
    ran = run(build_emulated(streamed, flag), [IMAGE], whole[1])
    assert ran.status == 70
    assert says in ran.said


@pytest.mark.slow
@pytest.mark.parametrize(
    ("backed", "file", "change", "says"),
    [
        (False, "emulation/ma_chip.h", ("MA_L1_BYTES 73728", "MA_L1_BYTES 2048"), "of L1"),
        (True, "emulation/ma_chip.h", ("\n#define MA_CORES", NO_L3), "backing memory"),
        (False, "src", None, "the kernel saw what it cannot do"),
    ],
)
def test_python_says_the_same(whole, streamed, tmp_path, backed, file, change, says):
    """`run` of a project in which something fails raises with the sentence of the C."""
    shutil.copytree(
        streamed if backed else whole[0],
        tmp_path / "net",
        ignore=shutil.ignore_patterns("build"),
    )
    edited = tmp_path / "net" / file
    if change is None:
        (edited,) = (path for path in edited.glob("*.c") if not path.match("*_main.c"))
    text = edited.read_text()
    edited.write_text(failing(text) if change is None else text.replace(*change, 1))
    assert edited.read_text() != text
    with pytest.raises(ToolchainError, match=says):
        match.load(tmp_path / "net", edited=True).run(IMAGE, quick=True)
