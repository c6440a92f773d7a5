"""Emitted projects with the chip's own binding, on a stand-in for PMSIS, built and run here.

The project's sources and pmsis/*.c are compiled as they are, with the project's own stand-in
(pmsis/alone), whose cores are threads here.
"""

import hashlib
import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

import numpy as np

HERE = Path(__file__).parent
RUNTIME = HERE.parents[2] / "targets" / "gap9" / "runtime"
ALONE = RUNTIME / "pmsis" / "alone"
#: What stands in for PMSIS, and for the machine below it.
STAND_IN = [str(ALONE / "ma_alone.c"), str(HERE / "alone_host.c")]
#: NE16's emulation under other names: the binding has its own.
RENAMED = [
    f"-D{name}=host_{name.removeprefix('ma_')}"
    for name in ("ma_ne16_acquire", "ma_ne16_write", "ma_ne16_commit", "ma_ne16_wait")
] + ["-Dma_l1_address=host_l1_address", "-DMA_NE16_EMULATED"]
#: Addresses have 32 bits on the chip.
FLAGS = ["-std=c11", "-O1", "-Wall", "-Wextra", "-Werror", "-fno-pie"]
FLAGS += ["-ffp-contract=off", "-fno-strict-aliasing", "-DMA_CHIP", "-DMA_NE16_LOOKS=1000"]


@dataclass(frozen=True)
class Ran:
    """What a program gave: its status, what it said, its outputs."""

    status: int
    said: str
    outputs: list


def build(project, out, again=(), flags=(), compiler="gcc"):
    """A program of a project's folder for the mocked chip; objects are kept in `build`.

    Args:
        project: the folder.
        out: name of the program, in `build`.
        again: paths of sources to compile anew, with `flags`, to objects of their own.
        flags: see there.
        compiler: of C.
    """
    folder = Path(project)
    made = folder / "build"
    made.mkdir(exist_ok=True)
    include = [f"-I{path}" for path in (folder / "include", ALONE, folder / "emulation")]
    patterns = ("src/*.c", "src/*_weights.S", "kernels/*.c", "pmsis/*.c")
    sources = [str(p.relative_to(folder)) for pattern in patterns for p in folder.glob(pattern)]
    objects = []
    for source in [*sorted(sources), "emulation/ma_ne16_host.c", *STAND_IN]:
        anew = source in again
        target = made / f"{out if anew else ''}{Path(source).name}.o"
        objects.append(str(target))
        if target.exists() and not anew:
            continue
        names = (
            RENAMED
            if source.startswith("emulation")
            else ["-include", str(ALONE / "ma_alone_registers.h")]
        )
        more = flags if anew else ()
        _done([compiler, *FLAGS, *names, *more, *include, "-c", source, "-o", str(target)], folder)
    _done([compiler, "-no-pie", *objects, "-lm", "-pthread", "-o", str(made / out)])
    return made / out


def build_emulated(project, *flags, compiler="gcc"):
    """A program of a project's folder for the emulated chip, with other memories.

    What `flags` change is the emulation; objects of all else are kept until it changes.
    """
    folder = Path(project)
    made = folder / "build" / "emulated_objects"
    made.mkdir(exist_ok=True, parents=True)
    patterns = ("src/*.c", "src/*.S", "kernels/*.c")
    sources = [path for pattern in patterns for path in sorted(folder.glob(pattern))]
    usual = [flag for flag in FLAGS if not flag.startswith("-DMA_") and flag != "-fno-pie"]
    objects = []
    for source in sources:
        digest = hashlib.sha256(source.read_bytes()).hexdigest()[:16]
        objects.append(made / f"{source.name}_{digest}.o")
        if not objects[-1].exists():
            command = [compiler, *usual, "-Iinclude", "-c", str(source), "-o", str(objects[-1])]
            _done(command, folder)
    emulation = [str(path) for path in sorted(folder.glob("emulation/*.c"))]
    out = folder / "build" / "emulated"
    rest = [*emulation, *map(str, objects), "-lm", "-o", str(out)]
    _done([compiler, *usual, *flags, "-Iinclude", *rest], folder)
    return out


def _done(command, folder=None):
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def run(program, inputs, outputs, *, fail="", flash=None):
    """Run it on arrays; `outputs` are empty arrays; `fail` is the call of PMSIS that fails."""
    folder = program.parent
    paths = []
    for at, array in enumerate(inputs):
        paths.append(folder / f"in{at}.bin")
        paths[-1].write_bytes(np.ascontiguousarray(array).tobytes())
    results = [folder / f"out{at}.bin" for at in range(len(outputs))]
    environment = {**os.environ, "ALONE_FAIL": fail, "ALONE_FLASH": str(flash or folder)}
    done = subprocess.run(
        [str(program), *map(str, [*paths, *results])],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    found = [
        np.frombuffer(path.read_bytes(), array.dtype).reshape(array.shape)
        if path.exists()
        else None
        for path, array in zip(results, outputs, strict=True)
    ]
    return Ran(done.returncode, done.stderr.strip(), found)
