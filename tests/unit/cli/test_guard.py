"""Whatever happens ends as one screen of text and an exit code."""

import os
import subprocess
import sys
import warnings
from collections.abc import Callable

import pytest

import match_aie
from match_aie.cli.guard import run
from match_aie.errors import (
    Infeasible,
    InfeasibleError,
    MatchError,
    MismatchError,
    ModelError,
    ProjectError,
    TargetError,
    ToolchainError,
)
from match_aie.version import SCHEMA_VERSION

Capture = pytest.CaptureFixture[str]


def raising(error: BaseException) -> Callable[..., None]:
    def compile_(*_: object, **__: object) -> None:
        raise error

    return compile_


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (ModelError("what", where="node 'a'", hint="that"), 1),
        (TargetError("what", where="node 'a'", hint="that"), 1),
        (ProjectError("what", where="node 'a'", hint="that"), 1),
        (ToolchainError("what", where="node 'a'", hint="that"), 3),
        (MismatchError("what", where="node 'a'", hint="that"), 4),
    ],
)
def test_errors_are_shown_whole_and_chosen_by_class(
    error: MatchError, code: int, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    monkeypatch.setattr(match_aie, "compile", raising(error))
    assert run(["compile", "x.onnx"]) == code
    shown = capsys.readouterr()
    assert shown.err == "error: what\n  where: node 'a'\n  try:   that\n"
    assert shown.out == ""


def test_infeasible_has_a_code_of_its_own(monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    reason = Infeasible("arena", 1292536, 64, "bytes", ("a larger limit",), (("conv", 80.5),))
    monkeypatch.setattr(match_aie, "compile", raising(InfeasibleError(reason)))
    assert run(["compile", "x.onnx", "--memory-limit", "64"]) == 2
    shown = capsys.readouterr().err
    assert "arena does not fit: 1,292,536 bytes needed, 64 available (1,292,472 too many)" in shown
    assert "conv: 80.5 bytes" in shown
    assert "a larger limit" in shown


@pytest.mark.parametrize("place", [0, 1, 2])
def test_debug_shows_the_traceback_wherever_it_stands(
    place: int, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    monkeypatch.setattr(match_aie, "compile", raising(ModelError("no good")))
    arguments = ["compile", "x.onnx"]
    arguments.insert(place, "--debug")
    assert run(arguments) == 1
    shown = capsys.readouterr().err
    assert "Traceback" in shown
    assert shown.endswith("error: no good\n")


def test_a_defect_is_one_sentence_and_says_how_to_report(
    monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    monkeypatch.setattr(match_aie, "compile", raising(KeyError("\x1b[31m" + "x" * 5000)))
    assert run(["compile", "x.onnx"]) == 1
    shown = capsys.readouterr().err
    assert "Traceback" not in shown
    assert "KeyError" in shown
    assert "--debug" in shown
    assert "\x1b" not in shown
    assert len(shown) < 1000


def test_an_interrupt_is_quiet(monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    monkeypatch.setattr(match_aie, "compile", raising(KeyboardInterrupt()))
    assert run(["compile", "x.onnx"]) == 130
    assert capsys.readouterr().err == "interrupted\n"


def test_a_warning_is_a_sentence(monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    def compile_(*_: object, **__: object) -> None:
        warnings.warn("the cache cannot be used", UserWarning, stacklevel=1)
        raise ModelError("no good")

    monkeypatch.setattr(match_aie, "compile", compile_)
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        assert run(["compile", "x.onnx"]) == 1
        assert capsys.readouterr().err == "warning: the cache cannot be used\nerror: no good\n"
        assert run(["compile", "x.onnx", "-q"]) == 1
        assert capsys.readouterr().err == "error: no good\n"


INTERRUPTED_EARLY = """
import sys

class Interrupting:
    def find_spec(self, name, path=None, target=None):
        if name == "match_aie.errors":
            raise KeyboardInterrupt

sys.meta_path.insert(0, Interrupting())
sys.argv = ["match-aie", "targets"]
from match_aie.cli import main
main()
"""


def test_an_interrupt_before_the_first_verb_is_quiet() -> None:
    """Nothing of ours is imported before somebody catches an interrupt."""
    done = subprocess.run(
        [sys.executable, "-c", INTERRUPTED_EARLY], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (130, "interrupted\n")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["frobnicate"], ["frobnicate", "match-aie --help"]),
        (["compile"], ["MODEL", "match-aie compile --help"]),
        (["compile", "x.onnx", "--colour"], ["--colour", "match-aie compile --help"]),
        (["run", "x", "--seed", "abc"], ["abc", "match-aie run --help"]),
        (["run", "x", "--seed", "-1"], ["-1", "match-aie run --help"]),
    ],
)
def test_wrong_use_names_the_help(arguments: list[str], words: list[str], capsys: Capture) -> None:
    assert run(arguments) == 1
    shown = capsys.readouterr().err
    assert shown.startswith("error: ")
    assert all(word in shown for word in words)
    assert len(shown.splitlines()) <= 24


def test_a_shell_completes_the_names_of_targets() -> None:
    words = {"_MATCH_AIE_COMPLETE": "complete_bash", "COMP_CWORD": "4"}
    words["COMP_WORDS"] = "match-aie compile x.onnx -t GA"
    done = subprocess.run(
        [sys.executable, "-m", "match_aie"],
        capture_output=True,
        text=True,
        check=True,
        env=os.environ | words,
    )
    assert done.stdout.split() == ["GAP9"]


def test_help_and_version_succeed(capsys: Capture) -> None:
    assert run(["--version"]) == 0
    said = f"match-aie {match_aie.__version__} (projects of schema {SCHEMA_VERSION})\n"
    assert capsys.readouterr().out == said
    assert run([]) == 0
    listed = capsys.readouterr().out
    for verb in ("compile", "run", "explain", "targets", "doctor", "demo"):
        assert verb in listed
        assert run([verb, "--help"]) == 0


def test_unknown_target_suggests_the_nearest(tmp_path: object, capsys: Capture) -> None:
    assert run(["compile", f"{tmp_path}/x.onnx", "--target", "cpuu"]) == 1
    assert "did you mean CPU" in capsys.readouterr().err


def test_a_reader_that_goes_away_is_no_error() -> None:
    command = [sys.executable, "-m", "match_aie", "targets", "--json"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.close()  # long before the first line is written
    said = process.stderr.read()
    process.stderr.close()
    assert (process.wait(), said) == (141, b"")


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs a device that is full")
def test_a_full_disk_under_what_is_printed_is_one_sentence() -> None:
    command = [sys.executable, "-m", "match_aie", "targets"]
    with open("/dev/full", "w") as full:
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, check=False)
    assert done.returncode == 1
    assert done.stderr.startswith(b"error: what is to be printed cannot be written: No space left")
    assert b"Exception ignored" not in done.stderr


@pytest.mark.parametrize("closed", ["stdout", "stderr"])
def test_a_stream_that_is_closed_takes_nothing(
    closed: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, closed, None)
    assert run(["targets"]) == 0
    assert run(["explain", "nowhere"]) == 1
