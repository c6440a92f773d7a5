"""Built networks in processes of their own: an endless or crashing kernel is a named error."""

from __future__ import annotations

import marshal
import math
import mmap
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import numpy as np

from match_aie.codegen.port import PortRecord
from match_aie.errors import OptionError, ProjectError, ToolchainError
from match_aie.toolchain import child
from match_aie.toolchain.faults import (
    expected_sizes,
    no_sizes,
    not_loaded,
    not_supported,
    sanitizer_error,
    size_error,
    stopped,
    unfinished,
)
from match_aie.toolchain.library import Written
from match_aie.toolchain.record import Record, element_dtype

#: Seconds that a run may take by default.
TIMEOUT = 600.0

#: Characters kept of the beginning and of the end of what a process says.
_KEPT = 16 << 10


@dataclass(frozen=True)
class Ended:
    """How a process ended.

    Attributes:
        status: exit status, minus a signal's number, or None where its time was over.
        said: on stderr; the middle is left out where it is long.
    """

    status: int | None
    said: str


@dataclass(frozen=True, eq=False)
class Once:
    """What one run gave: outputs by the model's own names, and what every step wrote."""

    outputs: Mapping[str, np.ndarray]
    trace: tuple[Written, ...]


def supervise(
    command: Sequence[str],
    timeout: float | None,
    *,
    task: bytes = b"",
    env: Mapping[str, str] | None = None,
    files: Sequence[int] = (),
) -> Ended:
    """Run a command to its end, or until its time is over; it never outlives this call.

    Args:
        command: to run.
        timeout: in seconds; None for no limit.
        task: what it reads.
        env: its environment variables; those of this process by default.
        files: descriptors that it inherits.

    Raises:
        OptionError: no such time.
        ToolchainError: it cannot be started.
    """
    if timeout is not None and not timeout > 0:
        raise OptionError(f"a timeout of {timeout:g} s", hint="a positive number, or none")
    try:
        process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            env=env,
            pass_fds=files,
            start_new_session=True,  # whoever types Ctrl-C stops this process, which stops it
        )
    except OSError as error:
        raise ToolchainError(
            f"a process cannot be started: {error.strerror or error}", where=str(command[0])
        ) from error
    assert process.stdin is not None
    assert process.stderr is not None
    said: list[bytes] = []
    reader = threading.Thread(target=_drain, args=(process.stderr, said), daemon=True)
    reader.start()
    try:
        try:
            process.stdin.write(task)
            process.stdin.close()
        except BrokenPipeError:
            pass  # it ended before; its status says how
        seconds = None if timeout is None or math.isinf(timeout) else timeout
        status: int | None = process.wait(seconds)
    except subprocess.TimeoutExpired:
        status = None
    finally:
        process.kill()
        process.wait()
        # Whoever it started may still hold the pipe: what they say is not waited for.
        reader.join(1.0)
    return Ended(status, b"".join(said).decode(errors="replace"))


def _drain(pipe: IO[bytes], said: list[bytes]) -> None:
    """Read to the end, keeping the beginning and the end, however the speech is cut in reads."""
    said[:] = [b"", b""]
    with pipe:
        while data := os.read(pipe.fileno(), _KEPT):
            room = _KEPT - len(said[0])
            said[0] += data[:room]
            said[1] = (said[1] + data[room:])[-_KEPT:]


def run_once(
    path: Path,
    record: Record,
    inputs: Mapping[str, np.ndarray],
    *,
    trace: bool,
    timeout: float | None = TIMEOUT,
) -> Once:
    """Call the network of a library, built with the trace, in a process of its own.

    Args:
        path: of the library.
        record: its manifest.
        inputs: by the model's own names.
        trace: keep what every step writes.
        timeout: in seconds; None for no limit.

    Raises:
        RunError: it crashed, ended its process, or did not end in time; says in which layer.
        ToolchainError: the library does not load, this processor cannot run it, or the network
            stopped with a status; or there is no room for inputs and outputs.
        ProjectError: the library's sizes are not the manifest's.
        OptionError: no such timeout.
    """
    places, size = _places(record)
    with ExitStack() as stack:
        shared = stack.enter_context(_file("match_aie"))
        written = stack.enter_context(_file("match_aie_trace")) if trace else None
        with room_for(f"{size:,} bytes of inputs and outputs"):
            shared.truncate(size)
            memory = mmap.mmap(shared.fileno(), size)
        words = np.frombuffer(memory, np.int64, 8)
        words[child.STEP] = -1
        for port, place in zip(record.inputs, places[0], strict=True):
            _view(memory, port, place)[...] = inputs[port.name]
        files = [file.fileno() for file in (shared, written) if file is not None]
        task = {
            "library": str(path),
            "network": record.network,
            "sizes": [size for _, size in expected_sizes(record)],
            "shared": files[0],
            "trace": files[1] if trace else None,
            "inputs": places[0],
            "outputs": places[1],
            "counts": [port.nbytes for port in record.outputs],
            "values": record.values,
            "arena": record.arena,
            "alignment": record.alignment,
            "parent": os.getpid(),
            "seconds": None if timeout is None or math.isinf(timeout) else timeout,
        }
        command = [sys.executable, "-I", "-S", child.__file__]
        ended = supervise(command, timeout, task=marshal.dumps(task), files=files)
        _refuse(ended, [int(word) for word in words], memory, path, record, timeout)
        found = tuple(_trace(written)) if written is not None else ()
        outputs = {
            port.name: _view(memory, port, place).copy()
            for port, place in zip(record.outputs, places[1], strict=True)
        }
        return Once(outputs, found)


def run_sanitized(
    program: Path, record: Record, files: Sequence[Path], scratch: Path, timeout: float | None
) -> None:
    """Run a build with sanitizers on raw files.

    Args:
        program: the executable.
        record: its project's manifest, of the run's sizes.
        files: inputs to read, then outputs to write.
        scratch: a folder for files of this run.
        timeout: in seconds; None for no limit.

    Raises:
        RunError: a sanitizer found something, a layer did not end in time, or it failed otherwise.
        ToolchainError: it cannot be started.
        OptionError: no such timeout.
    """
    progress = scratch / "progress"
    # Leaks are looked for by means that containers forbid, and nothing here allocates.
    options = {
        "ASAN_OPTIONS": "detect_leaks=0",
        "UBSAN_OPTIONS": "print_stacktrace=1",
        "MATCH_AIE_PROGRESS": str(progress),
    }
    command = [str(program), *map(str, (*record.values, *files))]
    ended = supervise(command, timeout, env={**os.environ, **options})
    if ended.status == 0 and all(path.is_file() for path in files):
        return
    done, said = _last(progress), ended.said.strip().splitlines()
    if not ended.status:
        raise unfinished(ended.status, done, record, timeout=timeout)
    raise sanitizer_error(ended.status, done, record, program, said)


def _last(progress: Path) -> int | None:
    """The last step that a program says was done, -1 for none; None where it had not begun."""
    try:
        text = progress.read_bytes()[:20]
        return int(text) if text.strip() else -1
    except (OSError, ValueError):
        return None


@contextmanager
def room_for(what: str) -> Iterator[None]:
    """Say in an error of the project's own that `what` finds no room in memory or on the disk.

    Raises:
        ToolchainError: an OSError left the block.
    """
    try:
        yield
    except OSError as error:
        raise ToolchainError(
            f"there is no room for {what}: {error.strerror or error}",
            hint="free memory, or space where temporary files lie (TMPDIR says where)",
        ) from error


def _file(name: str) -> IO[bytes]:
    """A file in memory where the system has such files, else one without a name."""
    if hasattr(os, "memfd_create"):
        return os.fdopen(os.memfd_create(name), "w+b")
    return tempfile.TemporaryFile()


def _places(record: Record) -> tuple[tuple[list[int], list[int]], int]:
    """Where in the shared memory each input and each output begins, and its size."""
    if record.alignment > mmap.ALLOCATIONGRANULARITY:
        raise ProjectError(f"buffers aligned to {record.alignment} bytes cannot be run here")
    step = max(record.alignment, 64)
    found: tuple[list[int], list[int]] = [], []
    at = -(-child.HEAD // step) * step
    for places, ports in zip(found, (record.inputs, record.outputs), strict=True):
        for port in ports:
            places.append(at)
            at += -(-max(1, port.nbytes) // step) * step
    return found, at


def _view(memory: mmap.mmap, port: PortRecord, place: int) -> np.ndarray:
    kind = element_dtype(port.dtype)
    return np.frombuffer(memory, kind, port.elements, place).reshape(port.shape)


def _trace(file: IO[bytes]) -> Iterator[Written]:
    """What the steps wrote, in order."""
    size = os.fstat(file.fileno()).st_size
    if not size:
        return
    data = memoryview(mmap.mmap(file.fileno(), size, access=mmap.ACCESS_READ))
    at = 0
    while at < size:
        step, tensor, nbytes = child.RECORD.unpack_from(data, at)
        at += child.RECORD.size
        yield Written(step, tensor, data[at : at + nbytes])
        at += nbytes


def _refuse(
    ended: Ended,
    words: Sequence[int],
    memory: mmap.mmap,
    path: Path,
    record: Record,
    timeout: float | None,
) -> None:
    """Raise what went wrong; nothing where the network ran to its end.

    Args:
        ended: how the process did.
        words: how far it said it was.
        memory: the rest of what it said.
        path: of the library.
        record: its manifest.
        timeout: in seconds.

    Raises:
        RunError, ToolchainError, ProjectError: see `run_once`.
    """
    state = words[child.STATE]
    text = memory[child.TEXT : child.HEAD].split(b"\0")[0].decode(errors="replace")
    if state == child.NOT_LOADED:
        raise not_loaded(text, path)
    if state == child.NO_SIZES:
        raise no_sizes(text, path)
    if state == child.OTHER_SIZE:
        raise size_error(record, words[child.INDEX], words[child.SIZE], path)
    if state == child.UNSUPPORTED:
        raise not_supported(text, path)
    if state == child.NO_ROOM:
        raise ToolchainError(
            f"what the layers wrote cannot be kept: {text}", hint="run without the check"
        )
    if state == child.DONE and ended.status is not None:
        if words[child.STATUS]:
            raise stopped(words[child.STATUS], text, record)
        return
    done = words[child.STEP] if state in (child.RUNNING, child.DONE) else None
    said = ended.said.strip().splitlines()
    raise unfinished(ended.status, done, record, timeout=timeout, said=said)
