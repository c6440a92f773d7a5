"""`make gap9` of an emitted project: with a plain RISC-V compiler, and as SDKs are asked to do it.

No SDK is here: two that only compile with the host's compiler show that all is handed over.
"""

import json
import os
import shutil
import subprocess
import warnings

import numpy as np
import pytest
from cluster_harness import HERE
from pmsis_project import ALONE, STAND_IN

import match_aie as match
from match_aie.cli.guard import run as cli
from match_aie.demo import digits, digits_model
from match_aie.lowering.streams import taken
from match_aie.targets.gap9 import GAP9
from match_aie.toolchain.ours import refuse_foreign
from tests.networks import network
from tests.networks.exported import exported_cnn
from tests.networks.recurrent import keyword_gru
from tests.networks.transformers import Sizes, quantised_encoder
from tests.riscv import GCC

IMAGE = digits().images[:1]
needs_gcc = pytest.mark.skipif(not shutil.which(GCC), reason=f"no {GCC}")
needs_qemu = pytest.mark.skipif(
    not (shutil.which(GCC) and shutil.which("qemu-riscv32")),
    reason="no RISC-V compiler, or no qemu",
)
#: What a compiler says that has no Xpulp, of a plan for it.
WITHOUT = "message: planned for Xpulp, compiled without"
#: Bytes from the chip's addresses on, by what lies there.
L2 = range(0x1C000000, 0x1C000000 + (1536 << 10))


def compiled(**options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return match.compile(digits_model(), GAP9(**options))


def make(folder, *words, status=0, **environment):
    """What `make` says in the project's folder; with nobody's SDK but the one that is given."""
    rest = {k: v for k, v in os.environ.items() if k not in ("GAP_SDK_HOME", "RULES_DIR")}
    done = subprocess.run(
        ["make", *words], cwd=folder, env={**rest, **environment}, capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    assert done.returncode == status, done.stdout + done.stderr
    return done.stdout + done.stderr


def fnv(data):
    value = 2166136261
    for byte in data:
        value = (value ^ byte) * 16777619 % 2**32
    return value


def said(arrays):
    """The lines in which the program says these outputs."""
    found = [np.ascontiguousarray(array).tobytes() for array in arrays]
    return [
        f"ma_output {at} {len(data)} {fnv(data):08x} {data[:64].hex()}"
        for at, data in enumerate(found)
    ]


def outputs(text):
    return [line for line in text.splitlines() if line.startswith("ma_output")]


def counts(folder, text, place, capsys, unit="calls of the stand-in"):
    """`compare-cycles` takes what the program printed; every step is there."""
    log = place / "log.txt"
    log.write_text(text)
    assert cli(["compare-cycles", str(folder), str(log), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["unit"], found["runs"], found["run"]) == (unit, [1, 2], 2)
    assert all(step["counted"] > 0 for step in found["steps"])
    assert found["counted"] <= found["whole"]
    return found


@pytest.fixture(scope="module")
def net(tmp_path_factory):
    """(folder, what its outputs are in emulation, a file of its input)."""
    project = compiled().write(tmp_path_factory.mktemp("chip") / "net")
    wanted = said(project.run(IMAGE).outputs.values())
    given = tmp_path_factory.mktemp("input") / "x.bin"
    given.write_bytes(np.ascontiguousarray(IMAGE).tobytes())
    return project.folder, wanted, given


@needs_qemu
def test_plain_riscv_program_computes_what_emulation_computes(net, tmp_path, capsys):
    """Compiled for rv32imc, linked into the chip's memories, run: every output bit for bit."""
    folder, wanted, given = net
    text = make(folder, "gap9-run", f"INPUT={given}", "COUNTERS=1")
    assert outputs(text) == wanted
    counts(folder, text, tmp_path, capsys)
    assert text.count(WITHOUT) == 1
    elf = folder / "build" / "chip" / "digits.elf"
    asked = [GCC.replace("-gcc", "-readelf"), "-hSW", str(elf)]
    header = subprocess.run(asked, capture_output=True, text=True, check=True).stdout
    assert "ELF32" in header
    assert "RISC-V" in header
    places = {
        words[1]: int(words[3], 16)
        for line in header.splitlines()
        if (words := line.replace("[", "").split()) and len(words) > 4 and words[1][:1] == "."
        and words[2] in ("PROGBITS", "NOBITS")
    }  # fmt: skip
    assert all(places[name] in L2 for name in (".text", ".rodata", ".bss"))
    # Nothing changed, so nothing is built; another input builds it anew.
    assert "ma_app.c" not in make(folder, "gap9", f"INPUT={given}", "COUNTERS=1")
    assert outputs(make(folder, "gap9-run", "COUNTERS=1")) != wanted
    # And the project may be replaced: what was built is nobody's.
    refuse_foreign(folder)


#: A compiler that has Xpulp, as far as `make` can see: GCC with the builtins' emulation.
XPULP_GCC = """#!/bin/sh
for word; do
    shift
    case "$word" in
    -march=rv32imcxpulpv2) set -- "$@" -march=rv32imc; xpulp="-ffreestanding -include {header}" ;;
    -march=rv32imcxgap9) exit 1 ;;
    *) set -- "$@" "$word" ;;
    esac
done
exec {gcc} $xpulp "$@"
"""


@needs_qemu
def test_a_compiler_with_xpulp_is_noticed_and_its_paths_are_right(net, tmp_path):
    folder, wanted, given = net
    compiler = tmp_path / "riscv32-unknown-elf-gcc"
    compiler.write_text(XPULP_GCC.format(header=HERE / "xpulp.h", gcc=GCC))
    compiler.chmod(0o755)
    path = f"{tmp_path}:{os.environ['PATH']}"
    text = make(folder, "gap9-run", f"INPUT={given}", "GAP9_FLAGS=-O1", PATH=path)
    assert "rv32imcxpulpv2" in text
    assert WITHOUT not in text
    assert outputs(text) == wanted


@needs_gcc
@pytest.mark.parametrize("planned", ["xpulp", "rv32imc"])
def test_a_plan_for_other_cores_is_said_once(planned, tmp_path):
    """By the compiler, in one line: it is no error."""
    folder = compiled(instruction_set=planned).write(tmp_path / "net").folder
    text = make(folder, "gap9", "GAP9_FLAGS=-O0", "WERROR=-Werror")
    assert text.count(WITHOUT) == (planned == "xpulp")


@needs_gcc
def test_too_much_for_l2_does_not_link(net):
    """The stand-in's program has the chip's memories: 1.5 MiB of L2."""
    folder = net[0]
    source = folder / "build" / "big.c"
    source.parent.mkdir(exist_ok=True)
    source.write_text("char big[2 << 20]; int main(void) { return big[1]; }")
    script = ALONE / "alone.ld"
    command = [GCC, "-march=rv32imc", "-mabi=ilp32", "-nostdlib", f"-T{script}", str(source)]
    done = subprocess.run(
        [*command, "-o", str(source.with_suffix(".elf"))],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    source.unlink()
    assert done.returncode
    assert "region `L2' overflowed" in done.stderr


def test_without_compiler_make_says_what_to_install(net, tmp_path):
    for name in ("sh", "make", "mkdir", "printf", "cmp", "mv", "rm", "test", "echo", "sha256sum"):
        tool = shutil.which(name)
        if tool:
            (tmp_path / name).symlink_to(tool)
    text = make(net[0], "gap9", status=2, PATH=str(tmp_path))
    assert "no SDK and no RISC-V compiler" in text
    assert "apt install gcc-riscv64-unknown-elf picolibc-riscv64-unknown-elf" in text
    wrong = make(net[0], "gap9", "RISCV_CC=false", status=2)
    assert "false has no rv32imc" in wrong


#: An SDK with pmsis_rules.mk: it compiles what it was given, with the stand-in, for this machine.
RULES = (
    ".PHONY: build\nbuild:\n\t$(CC) -no-pie -fno-pie $(APP_CFLAGS) -DMA_NE16_LOOKS=1000"
    " -include {alone}/ma_alone_registers.h -I{alone} -Iemulation $(APP_SRCS) $(PULP_APP_ASM_SRCS)"
    " {stand_in} $(BUILDDIR)/ne16.o -o $(BUILDDIR)/$(APP) -lm -pthread\n"
    '\techo "$(READFS_FILES)" > $(BUILDDIR)/files\n'
)
NE16 = "-DMA_CHIP -DMA_NE16_EMULATED -Dma_l1_address=host_l1_address " + " ".join(
    f"-Dma_ne16_{name}=host_ne16_{name}" for name in ("acquire", "write", "commit", "wait")
)


def host_ne16(folder, place):
    """NE16's emulation under the stand-in's names, as an object."""
    place.mkdir(parents=True, exist_ok=True)
    command = ["cc", "-c", "-fno-pie", *NE16.split(), "-Iinclude", "-Iemulation"]
    command += ["emulation/ma_ne16_host.c", "-o", str(place / "ne16.o")]
    subprocess.run(command, cwd=folder, check=True)
    return place / "ne16.o"


def ran(program, **environment):
    done = subprocess.run(
        [str(program)],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_an_sdk_with_rules_is_given_everything(net, tmp_path):
    folder, wanted, given = net
    (tmp_path / "pmsis_rules.mk").write_text(RULES.format(alone=ALONE, stand_in=" ".join(STAND_IN)))
    place = folder / "build" / "chip" / "pmsis"
    host_ne16(folder, place)
    words = [f"INPUT={given}", "COUNTERS=1", "WHERE=this host", "GAP9_FLAGS=-O1"]
    assert WITHOUT in make(folder, "gap9", *words, RULES_DIR=str(tmp_path))
    text = ran(place / "digits")
    assert outputs(text) == wanted
    assert text.count("ma_cycles 1") == 2
    assert "where this host" in text
    assert (place / "files").read_text().strip() == ""


#: The macros of GreenWaves' SDK that the project uses: an executable for this machine.
SETUP = """
macro(setupos NAME)
    target_sources(${{NAME}} PRIVATE {sources})
    set_source_files_properties({ne16} PROPERTIES EXTERNAL_OBJECT TRUE)
    target_compile_options(${{NAME}} PRIVATE -fno-pie -include {alone}/ma_alone_registers.h)
    target_compile_definitions(${{NAME}} PRIVATE MA_NE16_LOOKS=1000 _Thread_local=__thread)
    target_include_directories(${{NAME}} PRIVATE {alone} {emulation})
    target_link_options(${{NAME}} PRIVATE -no-pie)
    target_link_libraries(${{NAME}} m pthread)
    file(WRITE ${{CMAKE_BINARY_DIR}}/files "${{READFS_FILES}}")
endmacro()
"""


def cmake_sdk(folder, home):
    """Its place, with `setup.cmake` where that of GreenWaves has it."""
    made = home / "utils" / "cmake"
    made.mkdir(parents=True)
    (home / "board").mkdir()
    ne16 = host_ne16(folder, home / "objects")
    text = SETUP.format(
        sources=" ".join([*STAND_IN, str(ne16)]),
        ne16=ne16,
        alone=ALONE,
        emulation=folder / "emulation",
    )
    (made / "setup.cmake").write_text(text)
    return home


@pytest.mark.skipif(not shutil.which("cmake"), reason="no cmake")
def test_the_vendors_sdk_is_given_everything(net, tmp_path):
    folder, wanted, given = net
    sdk = cmake_sdk(folder, tmp_path / "sdk")
    words = [f"INPUT={given}", "COUNTERS=1", "WHERE=this host", "GAP9_FLAGS=-O1"]
    assert WITHOUT in make(folder, "gap9", *words, GAP_SDK_HOME=str(sdk))
    text = ran(folder / "build" / "chip" / "cmake" / "digits")
    assert outputs(text) == wanted
    assert "where this host" in text


@needs_qemu
@pytest.mark.slow
def test_two_engines_at_once(tmp_path, capsys):
    """Cores take turns while workers stand by; two steps are counted as one."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        made = match.compile(network("branches_u8.onnx"), GAP9(), integer_io=True)
    assert made.program.schedule.beside
    project = made.write(tmp_path / "net")
    x = np.random.default_rng(7).integers(0, 256, project.record.inputs[0].shape).astype(np.uint8)
    given = tmp_path / "x.bin"
    given.write_bytes(x.tobytes())
    text = make(project.folder, "gap9-run", f"INPUT={given}", "COUNTERS=1", "GAP9_FLAGS=-O1")
    assert outputs(text) == said(project.run(x).outputs.values())
    found = counts(project.folder, text, tmp_path, capsys)
    assert any(" beside " in step["name"] for step in found["steps"])


@needs_qemu
@pytest.mark.slow
@pytest.mark.parametrize("name", ["resnet8", "mobilenetv1_025", "dscnn", "dae"])
def test_whole_networks(name, tmp_path):
    """Of MLPerf Tiny's architectures, with default options."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        made = match.compile(network(f"{name}_u8.onnx"), GAP9(), integer_io=True)
    project = made.write(tmp_path / "net")
    x = np.random.default_rng(3).integers(0, 256, project.record.inputs[0].shape).astype(np.uint8)
    given = tmp_path / "x.bin"
    given.write_bytes(x.tobytes())
    text = make(project.folder, "gap9-run", f"INPUT={given}", "GAP9_FLAGS=-O2")
    assert outputs(text) == said(project.run(x, quick=True).outputs.values())


SEQUENCES = {
    "encoder": (lambda: quantised_encoder(Sizes(24, 32, 2, 48, 1)), "core"),
    "gru": (lambda: keyword_gru(steps=9, features=20, hidden=32), "int8"),
    "lstm": (lambda: keyword_gru(steps=9, features=20, hidden=32, kind="LSTM"), "int8"),
    "half precision": (lambda: exported_cnn(16, 8), "fp16"),
    "bfloat16": (lambda: exported_cnn(16, 8), "bf16"),
}


@needs_qemu
@pytest.mark.slow
@pytest.mark.parametrize("name", SEQUENCES)
def test_networks_on_sequences_and_of_floats(name, tmp_path):
    """A transformer's kernels, recurrent ones and floats, which are libgcc's on plain rv32imc."""
    made, floats = SEQUENCES[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        net = match.compile(made(), GAP9(floats=floats))
    project = net.write(tmp_path / "net")
    shape = project.record.inputs[0].shape
    x = np.random.default_rng(3).standard_normal(shape).astype(np.float32)
    given = tmp_path / "x.bin"
    given.write_bytes(x.tobytes())
    text = make(project.folder, "gap9-run", f"INPUT={given}", "GAP9_FLAGS=-O2")
    assert outputs(text) == said(project.run(x, quick=True).outputs.values())


@needs_qemu
@pytest.mark.slow
def test_constants_of_l3_and_failures_of_it(net, tmp_path_factory):
    """The program reads them from the flash's file; without it says so, and ends with 1."""
    whole = compiled()
    bound = taken(whole.program, whole.target.build_profile().alignment) - 1000
    project = compiled(l2_bytes=bound).write(tmp_path_factory.mktemp("chip") / "streamed")
    text = make(project.folder, "gap9-run", f"INPUT={net[2]}")
    assert outputs(text) == net[1]
    elf = project.folder / "build" / "chip" / "digits.elf"
    done = subprocess.run(
        ["qemu-riscv32", str(elf)], env={**os.environ, "ALONE_FLASH": str(net[2].parent)},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 1
    assert "ma_failed: L3: the flash has no file" in done.stdout


@needs_qemu
@pytest.mark.slow
@pytest.mark.skipif(not shutil.which("clang"), reason="no clang")
def test_clang_compiles_it_too(net):
    folder, wanted, given = net
    include = "/usr/lib/picolibc/riscv64-unknown-elf/include"
    words = [f"RISCV_CC=clang --target=riscv32-unknown-elf -isystem {include}", f"RISCV_LD={GCC}"]
    assert outputs(make(folder, "gap9-run", f"INPUT={given}", *words)) == wanted
