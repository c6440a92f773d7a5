"""`match-aie simulate`: one inference in simulated cycles."""

from __future__ import annotations

from pathlib import Path

import match_aie
from match_aie.cli.files import write_file
from match_aie.cli.terminal import say, say_json, working
from match_aie.errors import ProjectError
from match_aie.hardware import SimulatedRun
from match_aie.report.table import table
from match_aie.simulating import simulate
from match_aie.toolchain.places import try_instead


def simulate_project(folder: Path, trace: Path | None, as_json: bool) -> None:
    """Show cycles per layer, predicted and simulated, and write a trace where asked for.

    Raises:
        OptionError: the project's target has no simulator.
        ProjectError: the trace cannot be written.
    """
    record = match_aie.load(folder).record
    with working(f"simulating {folder}"):
        run = simulate(record, record_events=True)
    if trace is not None:
        try:
            write_file(trace, run.trace_json().encode())
        except OSError as error:
            raise ProjectError(
                f"the trace cannot be written: {error.strerror or error}",
                where=str(trace),
                hint=try_instead(error),
            ) from error
    if as_json:
        say_json(simulation_json(run))
        return
    say(simulation_text(run))
    if trace is not None:
        say(f"trace      {trace} (open it in ui.perfetto.dev or chrome://tracing)")


def simulation_json(run: SimulatedRun) -> dict[str, object]:
    """The document of `simulate --json`; every number says where it is from."""
    return {
        "cycles": round(run.cycles),
        "microseconds": run.microseconds,
        "frequency_hz": run.frequency_hz,
        "provenance": _provenance(run),
        "layers": [
            {
                "name": step.label,
                "module": step.module,
                "start": round(step.start),
                "cycles": round(step.cycles),
                "predicted": round(step.predicted),
                "picojoules": step.picojoules,
                "provenance": "simulated" if step.simulated else "modelled",
            }
            for step in run.steps
        ],
        "utilization": run.utilisation(),
        "picojoules": picojoules(run),
    }


def picojoules(run: SimulatedRun) -> float | None:
    """Of all steps, simulated as their cycles are; None where the chip's energy is not known."""
    each = [step.picojoules for step in run.steps]
    return None if None in each else sum(much or 0.0 for much in each)


def _provenance(run: SimulatedRun) -> str:
    """Of the sum: simulated where anything is."""
    return "simulated" if any(step.simulated for step in run.steps) else "modelled"


def simulation_text(run: SimulatedRun) -> str:
    """A row per call, then the sum and how busy each unit was."""
    rows = [
        (
            step.label,
            step.module,
            f"{step.predicted:,.0f}",
            f"{step.cycles:,.0f}",
            "simulated" if step.simulated else "modelled",
        )
        for step in run.steps
    ]
    how = _provenance(run)
    modelled = sum(step.cycles for step in run.steps if not step.simulated)
    part = f", {modelled:,.0f} of them modelled" if modelled and how == "simulated" else ""
    energy = picojoules(run)
    busy = ", ".join(f"{name} {share:.0%}" for name, share in run.utilisation().items())
    return "\n".join(
        [
            table(("layer", "module", ">predicted", ">cycles", "how known"), rows, widest=100),
            "",
            f"cycles     {run.cycles:,.0f} {how}{part}",
            f"time       {run.microseconds:,.1f} us at {run.frequency_hz / 1e6:g} MHz, {how}",
            *([] if energy is None else [f"energy     {energy / 1e6:,.3f} uJ {how}"]),
            f"busy       {busy}",
        ]
    )
