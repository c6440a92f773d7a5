"""`match-aie doctor`."""

from __future__ import annotations

import shlex

import typer

from match_aie.cli.terminal import say, say_json
from match_aie.doctor import Diagnosis, diagnose
from match_aie.errors import ToolchainError
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


def diagnosis_text(diagnosis: Diagnosis) -> str:
    """The diagnosis for people: versions, compilers, what is skipped, what is wrong."""
    compilers = [
        (shlex.join(c.command), c.version or "does not run", "used" if c.used else "")
        for c in diagnosis.compilers
    ]
    packages = [(p.name, p.version or "missing", p.purpose) for p in diagnosis.packages]
    lines = [
        f"match_aie {diagnosis.match_aie}, Python {diagnosis.python}, {diagnosis.platform}",
        f"targets: {', '.join(diagnosis.targets) or 'none'}",
        "",
        table(("C compiler", "version", ""), compilers, "", 80),
        "",
        table(("package", "version", "needed for"), packages, "", 80),
        "",
        *(f"skipped: {sentence}" for sentence in diagnosis.skipped),
        *(f"problem: {sentence}" for sentence in diagnosis.problems),
    ]
    if not diagnosis.problems:
        lines.append("everything that is needed is there")
    return "\n".join(lines)
