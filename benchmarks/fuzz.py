"""Random and hostile models through the compiler, judged, and what fails cut down to a few nodes.

    python benchmarks/fuzz.py [--json FILE] [--case NAME ...] [--seed N] [--count N] [--full]
    python benchmarks/fuzz.py --replay MODEL.onnx --target NAME [--seed N] [--quick]

Float and quantised networks of the project's own generators (`tests/fuzzing`) are compiled, built,
run, and compared: every layer with its numpy reference, the outputs with onnxruntime unoptimised.
Mutated files and bombs (`tests/hostile`) must compile or be refused with a typed error, within 30 s
and 4 GB. Outcomes: `passed`; `refused` by a typed error; `wrong`; `crashed` (an untyped error, a
signal, a project that does not build or run); `hung` (out of time or memory). The last three are
defects, and the script then exits with 1.

A failing model is reduced and lies in `--failures FOLDER` with the command that shows it again.
`--json FILE` is written after every case; a case that is in it already, whole and with the same
seeds, is not run again. Models by NNSmith: `--nnsmith PYTHON`, a Python that has `nnsmith` and
`torch` (this one where it has them), or a folder of what `nnsmith_models.py` wrote; without either
the case `cpu_nnsmith` is left out. `--full` adds random quantised networks for every instruction
set of the CPU target, emulated where this machine does not execute it.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from machine import machine_row
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

METRICS = ("tried", "passed", "refused", "wrong", "crashed", "hung")
DEFECTS = ("wrong", "crashed", "hung")
#: Seconds between the lines of a run that no terminal shows.
SAY_EVERY = 60.0
#: Models of each kind of failure that are reduced, and kinds in all, per case.
ALIKE, REDUCED = 1, 10
NNSMITH, NNSMITH_FULL = 300, 1000
ARCH_COUNT = 500


@dataclass
class Tally:
    """What a case has given so far."""

    case: str
    seed: int
    count: int
    counts: Counter[str] = field(default_factory=Counter)
    kinds: Counter[str] = field(default_factory=Counter)
    widened: int = 0
    seconds: float = 0.0
    whole: bool = False

    def add(self, verdict: Any) -> None:
        """Count one verdict."""
        self.counts["tried"] += 1
        self.counts[verdict.status] += 1
        self.widened += verdict.widened
        if verdict.status != "passed":
            self.kinds[f"{verdict.status}: {verdict.kind}"] += 1

    def note(self) -> str:
        """Which models these were; the same text where the same ones were asked for."""
        return f"seed {self.seed}, {self.count} models"

    def rows(self) -> list[dict[str, object]]:
        """A row for every metric."""
        ended = "" if self.whole else "; interrupted"
        extra = {
            "tried": ended,
            "passed": f"; {self.widened} within the spread of onnxruntime's own perturbed runs",
        }
        rows: list[dict[str, object]] = []
        for metric in METRICS:
            why = "; ".join(f"{n} {k}" for k, n in self.kinds.most_common() if k.startswith(metric))
            note = self.note() + extra.get(metric, f"; {why}" if why else "")
            rows.append(
                {
                    "case": self.case,
                    "metric": metric,
                    "value": self.counts[metric],
                    "unit": "models",
                    "provenance": "measured",
                    "note": note,
                }
            )
        rows.append(
            {
                **{"case": self.case, "metric": "seconds", "value": round(self.seconds, 1)},
                **{"unit": "s", "provenance": "measured"},
                "note": "of wall time, without the reduction of failures",
            }
        )
        return rows


def known(path: Path | None) -> list[dict[str, Any]]:
    """The rows of an earlier run."""
    if path is None or not path.is_file():
        return []
    return [row for row in json.loads(path.read_text()) if row["case"] != "machine"]


def whole(rows: Sequence[dict[str, Any]], tally: Tally) -> bool:
    """Whether `rows` hold this case, with the same models, to its end."""
    return any(
        r["case"] == tally.case and r["metric"] == "tried" and r["note"] == tally.note()
        for r in rows
    )


def keep(path: Path | None, tally: Tally) -> None:
    """Replace the case's rows in the file."""
    if path is None:
        return
    others = [row for row in known(path) if row["case"] != tally.case]
    partial = path.with_name(f".{path.name}.{os.getpid()}")
    partial.write_text(json.dumps([machine_row(), *others, *tally.rows()], indent=1) + "\n")
    partial.replace(path)


def run_case(
    tally: Tally, items: Iterator[Any], options: argparse.Namespace, console: Console
) -> None:
    """All items of a case; then the failures reduced. An interrupt leaves the counts."""
    from tests.fuzzing import cases
    from tests.fuzzing.workers import each

    failures: list[tuple[Any, Any]] = []
    start = said_at = time.perf_counter()
    # It draws when told to: another thread would be in the way of forking.
    with Progress(
        TextColumn("{task.description:<14}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("{task.fields[said]}"),
        console=console,
        auto_refresh=False,
    ) as progress:
        task = progress.add_task(tally.case, total=tally.count, said="")
        for item, answer in each(cases.work, items, options.jobs, cases.LIMITS):
            verdict = cases.verdict_of(answer)
            tally.add(verdict)
            said = " ".join(f"{tally.counts[m]} {m}" for m in METRICS[2:] if tally.counts[m])
            progress.update(task, advance=1, said=said, refresh=tally.counts["tried"] % 5 == 0)
            if not console.is_terminal and time.perf_counter() - said_at > SAY_EVERY:
                said_at = time.perf_counter()
                print(f"{tally.case} {tally.counts['tried']}/{tally.count} {said}", flush=True)
            if verdict.status in DEFECTS:
                failures.append((item, verdict))
                progress.console.print(
                    f"{item.case} seed {item.seed}: {verdict.status}: {verdict.detail}",
                    markup=False,
                    highlight=False,
                    soft_wrap=True,
                )
        progress.refresh()
    tally.seconds = time.perf_counter() - start
    tally.whole = True
    keep(options.json, tally)
    reduce_all(failures, options, console)


def reduce_all(
    failures: Sequence[tuple[Any, Any]], options: argparse.Namespace, console: Console
) -> None:
    """Save every failure; the first of each kind as a model of a few nodes."""
    from tests.fuzzing import cases
    from tests.fuzzing.reduce import Budget

    seen: Counter[str] = Counter()
    for item, verdict in failures:
        seen[verdict.kind] += 1
        smallest = None
        if not options.no_reduce and seen[verdict.kind] <= ALIKE and len(seen) <= REDUCED:
            smallest = cases.cut_down(item, verdict.kind, Budget(seconds=options.reduce_seconds))
        place = cases.save(options.failures, item, verdict, smallest)
        size = f", {len(smallest.graph.node)} nodes" if smallest is not None else ""
        console.print(f"  {place}{size}", markup=False, highlight=False, soft_wrap=True)


def nnsmith_models(options: argparse.Namespace, folder: Path, count: int) -> Iterator[Path]:
    """Models that NNSmith made, or makes meanwhile in a process of its own."""
    if Path(options.nnsmith).is_dir():
        yield from sorted(Path(options.nnsmith).glob("nnsmith_*.onnx"))[:count]
        return
    script = Path(__file__).with_name("nnsmith_models.py")
    command = [options.nnsmith, str(script), str(folder), f"--count={count}"]
    command.append(f"--seed={options.seed}")
    quiet = subprocess.DEVNULL
    with subprocess.Popen(command, stdout=quiet, stderr=quiet) as maker:
        given: set[Path] = set()
        try:
            while True:
                ended = maker.poll() is not None
                new = sorted(set(folder.glob("nnsmith_*.onnx")) - given)
                given |= set(new)
                yield from new
                if ended and not new:
                    return
                if not new:
                    time.sleep(0.2)
        finally:
            maker.kill()


def nnsmith_here() -> str | None:
    """This Python, where it has NNSmith and PyTorch."""
    there = all(importlib.util.find_spec(name) for name in ("nnsmith", "torch"))
    return sys.executable if there else None


def plan(
    options: argparse.Namespace, quick: tuple[str, ...], scratch: Path
) -> Iterator[tuple[Tally, Iterator[Any]]]:
    """The cases asked for, each with its items."""
    from tests.fuzzing import cases

    wanted = set(options.case or ())
    for case in cases.CASES:
        if wanted and case.name not in wanted:
            continue
        count = options.count or case.count
        yield (
            Tally(case.name, options.seed, count),
            cases.items(case, options.seed, count, quick),
        )
        if case.name == "cpu_float" and options.nnsmith and (not wanted or "cpu_nnsmith" in wanted):
            yield nnsmith_case(options, quick, scratch)
    if "cpu_nnsmith" in wanted and "cpu_float" not in wanted and options.nnsmith:
        yield nnsmith_case(options, quick, scratch)
    if options.full:
        from tests.fuzzing.archs import arch_cases

        count = options.count or ARCH_COUNT
        for name in arch_cases():
            case = cases.Case(name, "CPU", count, None)
            if not wanted or name in wanted:
                yield Tally(name, options.seed, count), cases.items(case, options.seed, count, ())


def nnsmith_case(
    options: argparse.Namespace, quick: tuple[str, ...], scratch: Path
) -> tuple[Tally, Iterator[Any]]:
    """Models by NNSmith on the CPU target."""
    from tests.fuzzing.cases import Item

    count = options.count or (NNSMITH_FULL if options.full else NNSMITH)
    folder = scratch / "nnsmith"
    folder.mkdir()
    made = (
        Item("cpu_nnsmith", "CPU", int(path.stem[-6:]), quick, path.read_bytes())
        for path in nnsmith_models(options, folder, count)
    )
    return Tally("cpu_nnsmith", options.seed, count), made


def replay(options: argparse.Namespace, quick: tuple[str, ...]) -> int:
    """Judge one model file; 1 where it is a defect."""
    from tests.fuzzing import cases
    from tests.fuzzing.workers import each

    data = options.replay.read_bytes()
    item = cases.Item("replay", options.target, options.seed, quick if options.quick else (), data)
    [(_, answer)] = each(cases.work, [item], 1, cases.LIMITS)
    verdict = cases.verdict_of(answer)
    print(f"{verdict.status}: {verdict.detail}")
    return int(verdict.status in DEFECTS)


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--json", type=Path, help="rows; cases in it already are left out")
    parser.add_argument("--case", nargs="+", help="only these cases")
    parser.add_argument("--seed", type=int, default=0, help="of the first model")
    parser.add_argument("--count", type=int, help="models of each case")
    parser.add_argument(
        "--full", action="store_true", help="every instruction set (cases arch_...), more models"
    )
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--nnsmith", metavar="PYTHON|FOLDER", default=nnsmith_here())
    parser.add_argument("--failures", type=Path, default=Path("fuzz_failures"))
    parser.add_argument("--no-reduce", action="store_true", help="save failing models as they are")
    parser.add_argument("--reduce-seconds", type=float, default=120.0, help="for each model")
    parser.add_argument("--replay", type=Path, help="judge this model only")
    parser.add_argument("--target", default="CPU", help="of --replay")
    parser.add_argument("--quick", action="store_true", help="--replay builds with -O1")
    return parser.parse_args()


def main() -> int:
    """Run the cases, print and write the rows."""
    options = arguments()
    console = Console(stderr=True)
    from tests.fuzzing import cases

    cases.load()
    defects = 0
    with tempfile.TemporaryDirectory(prefix="fuzz_") as folder:
        quick = cases.quick_compiler(Path(folder))
        if options.replay is not None:
            return replay(options, quick)
        for tally, items in plan(options, quick, Path(folder)):
            if whole(known(options.json), tally):
                console.print(f"{tally.case}: in {options.json} already")
                continue
            try:
                run_case(tally, items, options, console)
            except KeyboardInterrupt:
                keep(options.json, tally)
                console.print("interrupted")
                return 130
            defects += sum(tally.counts[m] for m in DEFECTS)
            print(tally.case, dict(tally.counts), flush=True)
    return int(defects > 0)


if __name__ == "__main__":
    sys.exit(main())
