"""All benchmarks, one after the other, then the tables of the documents from what they found.

    python benchmarks/run_all.py [--quick] [--only NAME ...] [--out FOLDER]

Results go to `benchmarks/results`, and the documents' tables are rewritten from them
(`tables.py`). `--quick` runs a small part of each into `build/bench` and touches no document; its
numbers are no measurements. What a script prints is kept in `build/bench/NAME.log`. Nothing is
downloaded; networks are generated, engines that are not installed are left out.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import tables
from machine import machine_row
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

ROOT = Path(__file__).resolve().parents[1]
LOGS = ROOT / "build" / "bench"
DIGITS = str(ROOT / "match_aie" / "demo" / "digits_int8.onnx")


@dataclass(frozen=True)
class Job:
    """A benchmark script with its arguments.

    Attributes:
        script: its name, and that of its results.
        seconds: of processor time that it takes, about.
        arguments: beside `--json`; `{out}` is the folder of the results.
        quick: arguments in their place for a small part of it; None: it is quick.
    """

    script: str
    seconds: int
    arguments: tuple[str, ...] = ()
    quick: tuple[str, ...] | None = None


#: Timed ones last and one at a time, so that nothing of ours runs beside them.
JOBS = (
    Job("gap9_timing", 5),
    Job("gap9_controller", 180),
    Job("gap9_gvsoc", 10),
    Job("gap9", 300, (), ("--parts", "networks", "l1", "time", "--networks", "dae")),
    Job("gap9_beside", 150, (), ("--networks", "dae")),
    Job("gap9_sequences", 60, (), ("--networks", "gru")),
    Job("gap9_floats", 90, (), ("--networks", "dae")),
    Job("gap9_energy", 150, (), ("--networks", "dae")),
    Job("diana_walk", 40, (), ("--networks", "DAE")),
    Job("diana", 90, (), ("--networks", "DAE")),
    Job("versal", 120, (), ("--networks", "digits")),
    Job("versal_layers", 300, (), ("--quick",)),
    Job("aie_layer", 240, (), ("--quick",)),
    Job("aie_network", 450, ("--emulate",), ("--cases", "mlp7_512", "--emulate")),
    Job("xdna", 180, (), ("--quick",)),
    Job("aie_sequence", 30, (), ("--cases", "gru_h32_bf16")),
    Job("aie_rows", 20, (), ("--cases", "exp_bf16")),
    Job("search", 300, ("--markdown", "{out}/search.md"), ("--l1", "16", "--modes", "sum")),
    Job(
        *("operators", 400, ("--markdown", "{docs}/operators.md")),
        ("--only", "test_relu", "--jobs", "1"),
    ),
    Job("report_page", 180, (), ("--layers", "12")),
    Job("relay_parse", 20, (), ("--megabytes", "0.1")),
    Job("compile_time", 60, (), ("--rounds", "1", DIGITS)),
    Job(
        *("cpu", 120, ("--clock", "cpu", "--markdown", "{out}/cpu.md")),
        ("--only", "dae_u8", "--rounds", "1", "--window", "0.01"),
    ),
    Job(
        *("byoc", 120, ("--rounds", "15", "--window", "0.05")),
        ("--only", "resnet8_u8", "--rounds", "1", "--window", "0.01"),
    ),
    # Wall-clock time: the clock of the processor does not resolve calls of less than a microsecond.
    Job("constructs", 400, (), ("--only", "GRU", "--targets", "CPU")),
    Job(
        *("models", 300, ("--clock", "cpu")),
        ("--only", "bert_tiny", "--rounds", "1", "--window", "0.01"),
    ),
    Job("sizes", 120, (), ("--small", "--lengths", "8", "--rounds", "1")),
    Job("models_static", 200, (), ("--only", "bert_tiny")),
    Job("cpu_cores", 60, (), ("--only", "dae_u8", "--rounds", "1", "--window", "0.01")),
    Job("cpu_prediction", 300, (), ("--only", "dae_u8", "--rounds", "1")),
)


def command(job: Job, out: Path, *, quick: bool) -> list[str]:
    """What runs a job."""
    chosen = job.arguments if not quick or job.quick is None else job.quick
    places = {"{out}": str(out), "{docs}": str(ROOT / "docs")}
    filled = []
    for word in chosen:
        for place, path in places.items():
            word = word.replace(place, path)
        filled.append(word)
    script = ROOT / "benchmarks" / f"{job.script}.py"
    return [sys.executable, str(script), *filled, "--json", str(out / f"{job.script}.json")]


def run(jobs: Sequence[Job], out: Path, console: Console, *, quick: bool) -> list[str]:
    """Every job; the names of those that failed."""
    failed = []
    columns = (
        *(TextColumn("{task.description:16}"), BarColumn(), MofNCompleteColumn()),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=console) as progress:
        task = progress.add_task("", total=len(jobs))
        for job in jobs:
            progress.update(task, description=job.script)
            start, log = time.perf_counter(), LOGS / f"{job.script}.log"
            with log.open("w") as output:
                done = subprocess.run(
                    command(job, out, quick=quick), stdout=output, stderr=output, check=False
                )
            took = time.perf_counter() - start
            verdict = "done" if done.returncode == 0 else f"FAILED ({done.returncode}), {log}"
            console.print(f"{job.script:16} {took:7.1f} s  {verdict}")
            if done.returncode:
                failed.append(job.script)
                console.print("".join(log.read_text().splitlines(keepends=True)[-5:]))
            progress.advance(task)
    return failed


def main() -> None:
    """Run them, and write the tables."""
    names = [job.script for job in JOBS]
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--only", nargs="*", default=names, choices=names)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    jobs = [job for job in JOBS if job.script in options.only]
    out = (options.out or (LOGS if options.quick else tables.RESULTS)).resolve()
    for folder in (out, LOGS):
        folder.mkdir(parents=True, exist_ok=True)
    console, machine = Console(), machine_row()
    console.print(f"{machine['value']}, {machine['note']}")
    if not options.quick:
        minutes = sum(job.seconds for job in jobs) / 60
        console.print(f"{len(jobs)} benchmarks, about {minutes:.0f} minutes on an idle core")
    failed = run(jobs, out, console, quick=options.quick)
    if not options.quick:
        changed = tables.write(out)
        console.print(f"tables rewritten in: {', '.join(changed) or 'no document'}")
    if failed:
        sys.exit(f"failed: {', '.join(failed)}")


if __name__ == "__main__":
    main()
