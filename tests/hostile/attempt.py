"""Compiles a case in a process of its own, and says how that ended."""

from __future__ import annotations

import os
import resource
import signal
import sys
import tempfile
import time
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal

import numpy as np
from onnx import TensorProto, helper, numpy_helper

from tests.hostile.case import Case

Verdict = Literal["passed", "refused", "crashed", "hung", "heavy"]

#: What a child may use at most: resident bytes, seconds.
MEMORY = 4 << 30
SECONDS = 30.0

#: A child that waits instead of working is given this many times its seconds; on a busy machine
#: the seconds it works are what counts.
PATIENCE = 6

#: Between two looks at the child, in seconds.
INTERVAL = 0.02


@dataclass(frozen=True)
class Attempt:
    """How compiling a case ended.

    Attributes:
        name: of the case.
        verdict: "passed"; "refused" by a typed error; "crashed" by anything else, a signal
            included; "hung" beyond the time; "heavy" beyond the memory.
        seconds: processor time of the child.
        peak_bytes: largest resident set, what the parent had loaded included.
        text: the error's class and message.
    """

    name: str
    verdict: Verdict
    seconds: float
    peak_bytes: int
    text: str


def warm() -> None:
    """Load the compiler in this process, so that children begin with it."""
    from match_aie import codegen, fallback, frontend, mapping, partition, pipeline  # noqa: F401
    from match_aie.fallback import stages  # noqa: F401
    from match_aie.frontend import load, onnx_import, relay, tflite_import  # noqa: F401

    _first()


@cache
def _first() -> None:
    """Compile a small network: what is imported, or read, at the first time then is there."""
    import match_aie

    rng = np.random.default_rng(0)
    node = helper.make_node("Conv", ["x", "w"], ["y"], kernel_shape=[1, 1])
    graph = helper.make_graph(
        [node, helper.make_node("Softmax", ["y"], ["z"])],
        "first",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 4, 3, 3])],
        [helper.make_tensor_value_info("z", TensorProto.FLOAT, [1, 8, 3, 3])],
        [numpy_helper.from_array(rng.standard_normal((8, 4, 1, 1), np.float32), "w")],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    match_aie.compile(model, "CPU", cache=False).sources()


def attempt(
    case: Case, target: str = "CPU", *, seconds: float = SECONDS, memory: int = MEMORY
) -> Attempt:
    """Compile `case` in a forked child, sources included; nothing is built."""
    warm()
    with tempfile.TemporaryDirectory(prefix="hostile_") as folder:
        inside = Path(folder, "model")
        inside.mkdir()
        path = case.build(inside)
        said = Path(folder, "said")
        sys.stdout.flush()
        sys.stderr.flush()
        child = os.fork()
        if child == 0:
            _child(path, target, said)
        verdict, status, peak, took = _watch(child, seconds, memory)
        text = said.read_text() if said.exists() else ""
    if verdict is not None:
        return Attempt(case.name, verdict, took, peak, text)
    ended = {0: "passed", 1: "refused"}.get(os.waitstatus_to_exitcode(status), "crashed")
    text = text or f"wait status {status}"
    return Attempt(case.name, ended, took, peak, "" if ended == "passed" else text)


def _child(path: Path, target: str, said: Path) -> None:
    """Compile; leaves with 0, 1 for a typed error, 2 for any other; never returns."""
    code = 2
    try:
        os.setsid()
        quiet = os.open(os.devnull, os.O_WRONLY)
        os.dup2(quiet, 1)
        os.dup2(quiet, 2)
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        code, text = _compile(path, target)
        said.write_text(text, errors="backslashreplace")
    finally:
        os._exit(code)


def _compile(path: Path, target: str) -> tuple[int, str]:
    import traceback
    import warnings

    import match_aie
    from match_aie.errors import InternalError, MatchError, MismatchError

    warnings.simplefilter("ignore")
    try:
        match_aie.compile(path, target=target, cache=False).sources()
    except MatchError as error:
        typed = not isinstance(error, InternalError | MismatchError)
        text = f"{type(error).__name__}: {error}"
        return (1, text) if typed else (2, text + "\n" + traceback.format_exc())
    except BaseException as error:  # noqa: BLE001  whatever it is, the parent is told
        shown = traceback.format_exc()
        return (
            2,
            f"{type(error).__name__}: {str(error)[-300:]}\n{shown[:1500]}\n...\n{shown[-2500:]}",
        )
    return 0, ""


def _watch(child: int, seconds: float, memory: int) -> tuple[Verdict | None, int, int, float]:
    """Wait for the child: (why it was killed, wait status, peak in bytes, busy seconds)."""
    verdict: Verdict | None = None
    end = time.monotonic() + PATIENCE * seconds
    while True:
        pid, status, used = os.wait4(child, os.WNOHANG)
        if pid:
            peak = used.ru_maxrss * 1024
            if verdict is None and peak > memory:
                verdict = "heavy"
            return verdict, status, peak, used.ru_utime + used.ru_stime
        if verdict is None:
            if time.monotonic() > end or _busy(child) > seconds:
                verdict = "hung"
            elif _resident(child) > memory:
                verdict = "heavy"
            if verdict is not None:
                os.kill(child, signal.SIGKILL)
        time.sleep(INTERVAL)


def _busy(pid: int) -> float:
    """Seconds of processor time that a process has taken; 0 where it is gone."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _resident(pid: int) -> int:
    """Resident bytes of a process; 0 where it is gone."""
    try:
        pages = Path(f"/proc/{pid}/statm").read_text().split()[1]
    except (OSError, IndexError):
        return 0
    return int(pages) * resource.getpagesize()
