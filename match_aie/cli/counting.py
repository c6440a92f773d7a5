"""`match-aie compare-cycles`: what a chip counted beside what was predicted and simulated.

The log is what the program of `make gap9 COUNTERS=1` prints, other lines around it allowed:

    ma_cycles 1
    network NAME
    code SHA-256 of src/NAME.c
    where TEXT
    unit cycles
    run N
    step I CYCLES
    ...
    all CYCLES
    ma_end

There is a table for each run, and a line `step` for each step of the network; of two that run at
the same time only for the first, with the cycles of both.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import match_aie
from match_aie.cli.terminal import say, say_json, working
from match_aie.errors import OptionError, ProjectError, shorten
from match_aie.hardware import SimulatedRun
from match_aie.report.table import table
from match_aie.simulating import simulate
from match_aie.toolchain.record import Record

#: Of the log's form.
VERSION = 1
_WORDS = ("network", "code", "where", "unit", "run")
_HINT = "take the whole output of a program that make gap9 COUNTERS=1 built in this folder"


@dataclass(frozen=True)
class Counted:
    """One run's table.

    Attributes:
        network: its name.
        code: SHA-256 of the network's C.
        where: what counted, in words of whoever built the program.
        unit: "cycles", or what else was counted.
        run: from 1 on.
        steps: what each took, by the step's number.
        whole: what the network's call took, from the control core.
    """

    network: str
    code: str
    where: str
    unit: str
    run: int
    steps: dict[int, int]
    whole: int


@dataclass(frozen=True)
class Compared:
    """One step, or two at the same time.

    Attributes:
        step: its number.
        label: what users know it by, or both names.
        module: who runs it, or both.
        predicted: the cost model's cycles; None of two at the same time, of which it has none.
        simulated: the simulator's.
        modelled: whether these are only a model's.
        counted: what the log says.
    """

    step: int
    label: str
    module: str
    predicted: float | None
    simulated: float
    modelled: bool
    counted: int


def compare_log(folder: Path, log: Path, run: int | None, as_json: bool) -> None:
    """Show a log's cycles beside predicted and simulated ones.

    Args:
        folder: of the project.
        log: file with what its program printed.
        run: of which run; the last one where None.
        as_json: print JSON.

    Raises:
        ProjectError: the log cannot be read, is broken, or of another network or code.
        OptionError: the log has no such run, or the target has no simulator.
    """
    record = match_aie.load(folder).record
    runs = read(log)
    found = next((one for one in reversed(runs) if run in (None, one.run)), None)
    if found is None:
        known = ", ".join(str(one.run) for one in runs)
        raise OptionError(f"the log has no run {run}", where=str(log), hint=f"it has {known}")
    _of_this(record, found, log)
    with working(f"simulating {folder}"):
        simulated = simulate(record, record_events=False)
    rows = compared(record, simulated, found, log)
    if as_json:
        say_json(comparison_json(rows, found, runs))
    else:
        say(comparison_text(rows, found))


def read(log: Path) -> list[Counted]:
    """All tables of a log, in order.

    Raises:
        ProjectError: there is none, or one is cut off, damaged, or of another version.
    """
    try:
        lines = log.read_text(errors="replace").splitlines()
    except OSError as error:
        raise ProjectError(f"the log cannot be read: {error.strerror}", where=str(log)) from error
    found = list(_tables(lines, log))
    if not found:
        raise ProjectError("the log has no table of cycles", where=str(log), hint=_HINT)
    return found


def _tables(lines: Sequence[str], log: Path) -> Iterator[Counted]:
    for at, line in enumerate(lines):
        begin = re.search(r"ma_cycles (\S+)\s*$", line)
        if begin is None:
            continue
        if begin[1] != str(VERSION):
            raise ProjectError(
                f"the log's table is of form {shorten(begin[1], 20)}; {VERSION} can be read",
                where=f"{log}, line {at + 1}",
            )
        # What a terminal puts before every line stands before this one.
        rest = enumerate(lines[at + 1 :], at + 1)
        yield _table([(n, text[begin.start() :]) for n, text in rest], log)


def _table(lines: Sequence[tuple[int, str]], log: Path) -> Counted:
    said: dict[str, str] = {}
    steps: dict[int, int] = {}
    for number, line in lines:
        text = line.strip()
        step = re.fullmatch(r"step (\d{1,6}) (\d{1,10})", text)
        word, _, rest = text.partition(" ")
        if text == "ma_end":
            return _finished(said, steps, f"{log}, line {number + 1}")
        if step is not None and int(step[1]) not in steps:
            steps[int(step[1])] = int(step[2])
        elif word in (*_WORDS, "all") and rest and word not in said:
            said[word] = rest
        elif text:
            raise ProjectError(
                f"the log's table is damaged: it holds {shorten(text, 60)!r}",
                where=f"{log}, line {number + 1}",
                hint=_HINT,
            )
    raise ProjectError(
        f"the log's table is cut off after {len(steps)} steps: its line `ma_end` is missing",
        where=str(log),
        hint=_HINT,
    )


def _finished(said: dict[str, str], steps: dict[int, int], where: str) -> Counted:
    missing = [word for word in (*_WORDS, "all") if word not in said]
    numbers = [said[word] for word in ("run", "all") if word not in missing]
    if missing or not all(re.fullmatch(r"\d{1,10}", number) for number in numbers):
        what = f"it does not say `{missing[0]}`" if missing else "run and all are no numbers"
        raise ProjectError(f"the log's table is damaged: {what}", where=where, hint=_HINT)
    return Counted(
        *(said["network"], said["code"], said["where"], said["unit"]),
        *(int(said["run"]), steps, int(said["all"])),
    )


def _of_this(record: Record, found: Counted, log: Path) -> None:
    """Refuse a table of something else."""
    if found.network != record.network:
        raise ProjectError(
            f"the log is of network {shorten(found.network, 40)}, the project of {record.network}",
            where=str(log),
        )
    digest = record.digests.get(f"src/{record.network}.c")
    if found.code != digest:
        raise ProjectError(
            f"the log is of other code than the project's src/{record.network}.c",
            where=str(log),
            hint="it was compiled again since, or the file was edited: build and run it anew",
        )


def compared(record: Record, run: SimulatedRun, found: Counted, log: Path) -> tuple[Compared, ...]:
    """Every step of the log beside the simulator's.

    Raises:
        ProjectError: steps are missing, or others are there.
    """
    beside = record.everything.get("beside") or ()
    ends = {int(one["step"]): int(one["step"]) + max(one["order"]) + 1 for one in beside}
    wanted = set(range(len(run.steps)))
    for first, end in ends.items():
        wanted -= set(range(first + 1, end))
    strange = sorted(wanted ^ found.steps.keys())
    if strange:
        what = "has no" if strange[0] in wanted else "has a"
        raise ProjectError(
            f"the log {what} step {strange[0]}, of {len(run.steps)} in the project",
            where=str(log),
            hint=_HINT,
        )
    rows = []
    for step in sorted(wanted):
        both = run.steps[step : ends.get(step, step + 1)]
        rows.append(
            Compared(
                step,
                " beside ".join(one.label for one in both),
                " + ".join(one.module for one in both),
                both[0].predicted if len(both) == 1 else None,
                sum(one.cycles for one in both),
                not any(one.simulated for one in both),
                found.steps[step],
            )
        )
    return tuple(rows)


def error_percent(cycles: float | None, counted: int) -> float | None:
    """By how much `cycles` is above what was counted; None where nothing can be said."""
    return None if cycles is None or not counted else 100 * (cycles / counted - 1)


def comparison_json(
    rows: Sequence[Compared], found: Counted, runs: Sequence[Counted]
) -> dict[str, object]:
    """The document of `compare-cycles --json`."""
    alike = found.unit == "cycles"
    errors = [abs(error_percent(row.simulated, row.counted) or 0.0) for row in rows if row.counted]
    return {
        "network": found.network,
        "where": found.where,
        "unit": found.unit,
        "run": found.run,
        "runs": [one.run for one in runs],
        "steps": [
            {
                "step": row.step,
                "name": row.label,
                "module": row.module,
                "predicted": None if row.predicted is None else round(row.predicted),
                "simulated": round(row.simulated),
                "provenance": "modelled" if row.modelled else "simulated",
                "counted": row.counted,
                "predicted_error_percent": _only(alike, row.predicted, row.counted),
                "simulated_error_percent": _only(alike, row.simulated, row.counted),
            }
            for row in rows
        ],
        "simulated": round(sum(row.simulated for row in rows)),
        "counted": sum(row.counted for row in rows),
        "whole": found.whole,
        "mean_error_percent": sum(errors) / len(errors) if alike and errors else None,
        "worst_error_percent": max(errors) if alike and errors else None,
    }


def _only(alike: bool, cycles: float | None, counted: int) -> float | None:
    return error_percent(cycles, counted) if alike else None


def comparison_text(rows: Sequence[Compared], found: Counted) -> str:
    """A row per step, then the sums."""
    alike = found.unit == "cycles"
    shown = [
        (
            row.label,
            row.module,
            "" if row.predicted is None else f"{row.predicted:,.0f}",
            f"{row.simulated:,.0f}{'*' if row.modelled else ''}",
            f"{row.counted:,}",
            _percent(_only(alike, row.predicted, row.counted)),
            _percent(_only(alike, row.simulated, row.counted)),
        )
        for row in rows
    ]
    header = (
        "step",
        "module",
        ">predicted",
        ">simulated",
        ">counted",
        ">predicted %",
        ">simulated %",
    )
    simulated, counted = sum(r.simulated for r in rows), sum(r.counted for r in rows)
    lines = [
        table(header, shown, widest=100),
        "",
        f"counted    run {found.run}, {found.unit}, by {found.where}",
        f"steps      {counted:,} counted, {simulated:,.0f} simulated"
        + (f" ({_percent(_only(alike, simulated, counted))} %)" if alike and counted else ""),
        f"call       {found.whole:,} counted, {found.whole - counted:,} of them between steps",
    ]
    if any(row.modelled for row in rows):
        lines.append("* modelled: no simulator has it")
    if not alike:
        lines.append(f"no errors are shown: {found.unit} are no cycles")
    return "\n".join(lines)


def _percent(value: float | None) -> str:
    return "" if value is None else f"{value:+.1f}"
