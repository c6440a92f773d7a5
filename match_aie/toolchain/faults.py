"""What can go wrong with a built network, in words."""

from __future__ import annotations

import re
import signal
from collections.abc import Sequence
from pathlib import Path

from match_aie.errors import ProjectError, RunError, ToolchainError, shorten
from match_aie.toolchain.record import Record

#: How linkers and loaders say that a function is called and is nowhere.
UNDEFINED = re.compile(r"undefined (?:reference to|symbol:) [`'\"]?(?P<name>\w+)")

#: Machines of ELF files (elf.h, EM_*), as Linux names processors.
MACHINES = {
    number.to_bytes(2, "little"): name
    for number, name in ((3, "i386"), (40, "arm"), (62, "x86_64"), (183, "aarch64"), (243, "riscv"))
}

#: Lines shown of what a process said.
_SHOWN = 12


def not_loaded(reason: str, path: Path) -> ToolchainError:
    """The library does not load: it is another machine's, lacks a function, or for `reason`."""
    made, here = _machine(path), _machine(Path("/proc/self/exe"))
    if made and here and made != here:
        return ToolchainError(
            f"the library was built for {MACHINES.get(made, 'another processor')}, "
            "which this machine is not",
            where=str(path),
            hint="compile the model for this machine, as CPU() does, or take what `make static` "
            "in the project builds there, or under QEMU",
        )
    missing = UNDEFINED.search(reason)
    hint = "delete the project's build folder and build again"
    if missing:
        hint = (
            "have the target's runtime() bring a C file below emulation/ that defines "
            f"{missing['name']}()"
        )
    return ToolchainError(f"the built library does not load: {reason}", where=str(path), hint=hint)


def _machine(path: Path) -> bytes:
    """The two bytes by which a little-endian ELF file names its machine; none for other files."""
    try:
        with path.open("rb") as file:
            head = file.read(20)
    except OSError:
        return b""
    return head[18:20] if head[:4] == b"\x7fELF" else b""


def no_sizes(reason: str, path: Path) -> ToolchainError:
    """The library is not one of ours."""
    return ToolchainError(
        f"the built library does not say its sizes: {reason}",
        where=str(path),
        hint="compile the model again",
    )


def not_supported(reason: str, path: Path) -> ToolchainError:
    """This processor lacks what the code was built for."""
    return ToolchainError(
        reason, where=str(path), hint="compile the model for this machine, as CPU() does"
    )


def stopped(status: int, fault: str, record: Record) -> ToolchainError:
    """The network gave back a status other than 0; `fault` is what its runtime says."""
    colon = ": " if fault else ""
    return ToolchainError(
        f"the network stopped with status {status}{colon}{fault}", where=record.network
    )


def expected_sizes(record: Record) -> list[tuple[str, int]]:
    """What the library must say of its sizes, by name, in its order: of the largest run."""
    record = record.largest or record
    ports = [("input", p) for p in record.inputs] + [("output", p) for p in record.outputs]
    return [
        ("alignment", record.alignment),
        ("arena", record.arena),
        ("inputs", len(record.inputs)),
        ("outputs", len(record.outputs)),
        *((f"{kind} {shorten(port.name, 60)!r}", port.nbytes) for kind, port in ports),
    ]


def size_error(record: Record, index: int, own: int, path: Path) -> ProjectError:
    """The library's size number `index` is `own`, and not the manifest's.

    Args:
        record: the project's manifest.
        index: of the size.
        own: what the library says.
        path: of the library.
    """
    what, size = expected_sizes(record)[index]
    return ProjectError(
        f"the library and match_aie.json do not agree: {what} is {own} in the "
        f"code and {size} in the manifest",
        where=str(path),
        hint="a changed size needs a changed model: compile it again",
    )


def unfinished(
    status: int | None,
    done: int | None,
    record: Record,
    *,
    timeout: float | None,
    said: Sequence[str] = (),
) -> RunError:
    """A run that did not come to its end.

    Args:
        status: of its process, minus a signal's number; None where its time was over.
        done: the last step that was done, -1 for none; None where it had not begun.
        record: the project's manifest.
        timeout: in seconds.
        said: lines to show.
    """
    out = status is None or status == -signal.SIGALRM
    who, label = _running(done, record)
    how = f"did not end within {timeout:g} s" if out and timeout else _how(status or 0)
    return RunError(
        "\n    ".join([f"{who} {how}", *_shown(said)]),
        step=label,
        where=record.network,
        hint="more time (--timeout, timeout=), or mend the code of this layer"
        if out
        else "mend the code of this layer; if it is match_aie's own, report it as a defect",
    )


def sanitizer_error(
    status: int, done: int | None, record: Record, program: Path, said: Sequence[str]
) -> RunError:
    """A build with sanitizers that failed.

    Args:
        status: of its process.
        done: see `unfinished`.
        record: the project's manifest.
        program: that failed.
        said: lines to show.
    """
    who, label = _running(done, record)
    return RunError(
        "\n    ".join(
            [f"the sanitized build failed with status {status}, in {who}:", *_shown(said)]
        ),
        step=label,
        where=str(program),
        hint="mend the code of this layer; if it is match_aie's own, report it as a defect",
    )


def _running(done: int | None, record: Record) -> tuple[str, str]:
    """What was running after step `done`, for people, and the label of the step if it was one."""
    if done is None:
        return "the program, before the network began,", ""
    if done + 1 >= len(record.steps):
        return "the network, after its last step,", ""
    step = record.steps[done + 1]
    kind = "step" if step.layer is None else "layer"
    return f"{kind} {shorten(step.label, 60)!r} ({step.symbol})", step.label


def _shown(said: Sequence[str]) -> list[str]:
    return [shorten(line, 200) for line in said[:_SHOWN]]


def _how(status: int) -> str:
    if status >= 0:
        return f"ended the process with status {status}"
    try:
        name = signal.Signals(-status).name
    except ValueError:
        name = f"signal {-status}"
    return f"crashed: {name} ({signal.strsignal(-status) or 'unknown'})"
