"""`match-aie doctor` and `match-aie check-target`: is everything there, and right?"""

from __future__ import annotations

import os
import shlex
import sys
import warnings
from collections.abc import Sequence
from pathlib import Path

import typer

from match_aie.cli.terminal import program, say, say_json, working
from match_aie.doctor import Diagnosis, diagnose
from match_aie.errors import OptionError, ToolchainError
from match_aie.hardware import load_target
from match_aie.report.table import table


def show_doctor(as_json: bool) -> None:
    """Show what is there and what is not; exit code 3 where something necessary is missing."""
    diagnosis = diagnose()
    if as_json:
        say_json(diagnosis.to_json())
    else:
        say(diagnosis_text(diagnosis))
    if diagnosis.problems:
        raise typer.Exit(ToolchainError.exit_code)


def check_named(
    name: str,
    compiler: str | None,
    limits: tuple[float | None, float | None],
    words: Sequence[str],
    as_json: bool,
) -> None:
    """Try an installed target on the zoo, show what was found.

    Args:
        name: of the target.
        compiler: command of the C compiler.
        limits: seconds that each run may take, and those for each module without the others.
        words: only layers of the zoo whose name holds one of them; all where empty.
        as_json: print JSON.

    Raises:
        OptionError: no layer's name holds such a word.
        TargetError: there is no such target.
        ToolchainError: there is no C compiler.
        MismatchError: something is wrong with the target.
    """
    from match_aie.testing import ZOO, check_target

    target = load_target(name)
    timeout, budget = limits
    cases = [case for case in ZOO if not words or any(word in case.name for word in words)]
    if not cases:
        kinds = dict.fromkeys(case.name.split()[0] for case in ZOO)
        raise OptionError(
            f"no layer of the zoo is called like {', '.join(words)}",
            hint=f"a part of a name, such as 'conv 3x3'; names begin with {', '.join(kinds)}",
        )
    with warnings.catch_warnings(), working(f"checking {target.name}") as progress:
        warnings.simplefilter("ignore")
        check = check_target(
            target,
            cases=cases,
            compiler=compiler,
            timeout=timeout,
            budget=budget,
            progress=progress,
            part=bool(words),
        )
    if as_json:
        say_json(check.to_json())
    else:
        say(str(check))
    check.require()


def show_new_target(name: str, folder: Path | None, tiled: bool, as_json: bool) -> None:
    """Write a new target's package, say what comes next.

    Args:
        name: what users call the chip.
        folder: where to write.
        tiled: whether the chip has a scratchpad.
        as_json: print JSON.

    Raises:
        OptionError: the name is none, or taken.
        ProjectError: the folder cannot be written.
    """
    from match_aie.scaffolding import new_target

    made = new_target(name, folder, tiled=tiled)
    files = sorted(p.relative_to(made).as_posix() for p in made.rglob("*") if p.is_file())
    if as_json:
        say_json({"name": name, "folder": str(made), "files": files})
        return
    say("\n".join([f"written to {made}", *(f"  {path}" for path in files)]))
    place = shlex.quote(os.path.relpath(made))
    # Where PATH lacks match-aie, it lacks the pip beside it, too, or has another one.
    pip = "pip" if program() == "match-aie" else f"{shlex.quote(sys.executable)} -m pip"
    say(f"\nnext: {pip} install -e {place}; {program()} check-target {name}")


def diagnosis_text(diagnosis: Diagnosis) -> str:
    """The diagnosis for people: versions, compilers, what is skipped, what is wrong."""
    compilers = [
        (shlex.join(c.command), c.version or "does not run", "used" if c.used else "")
        for c in diagnosis.compilers
    ]
    cxx = [
        (shlex.join(c.command), c.version or "does not run", "used for C++")
        for c in (diagnosis.cxx,)
        if c is not None
    ]
    packages = [(p.name, p.version or "missing", p.purpose) for p in diagnosis.packages]
    lines = [
        f"match_aie {diagnosis.match_aie}, Python {diagnosis.python}, {diagnosis.platform}",
        f"targets: {', '.join(diagnosis.targets) or 'none'}",
        "",
        table(("compiler", "version", ""), [*compilers, *cxx], "", 80),
        "",
        table(("package", "version", "needed for"), packages, "", 80),
        "",
        *(f"skipped: {sentence}" for sentence in diagnosis.skipped),
        *(f"problem: {sentence}" for sentence in diagnosis.problems),
    ]
    if not diagnosis.problems:
        lines.append("everything that is needed is there")
    return "\n".join(lines)
