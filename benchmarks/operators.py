"""Every ONNX backend node test through `match.compile(..., CPU())`, built, run, and compared.

    python benchmarks/operators.py [--json FILE] [--markdown docs/operators.md] [--only SUBSTRING]
                                   [--quick] [--part K/N] [--join FILE ...]

Where a model does not compile with all its inputs at run time, some are bound to their values
(`match.compile(..., values=...)`), as a deployed model would have them: first those by which an
operator is set up (`SETTINGS`) and those without elements, which have one value only; then all that
are no floats, such as indices. Data in floats is never bound. An outcome is
`pass` (every output within the test's own tolerance), `unsupported` (a typed error that names the
operator), `wrong` or `crash`; the last two are defects, and the script then exits with 1.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import re
import shutil
import sys
import tempfile
import warnings
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from machine import machine_row


@dataclass(frozen=True)
class Outcome:
    """What became of one node test.

    `float32` says whether it has a float32 input and a float32 output.
    """

    test: str
    operator: str
    status: str
    detail: str
    float32: bool


def node_tests() -> list[Any]:
    """The node tests of the installed onnx, without the expanded function bodies' duplicates."""
    from onnx.backend.test.case.node import collect_testcases

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return list(collect_testcases(None))


def is_float32(test: Any) -> bool:
    """Whether the test has a float32 tensor among its inputs and one among its outputs."""
    return all(
        any(isinstance(a, np.ndarray) and a.dtype == np.float32 for a in arrays)
        for arrays in samples(test)
    )


def samples(test: Any) -> tuple[list[Any], list[Any]]:
    """Inputs and expected outputs of the test as arrays, where they are tensors."""
    inputs, outputs = ([_array(a) for a in arrays] for arrays in test.data_sets[0])
    return inputs, outputs


def _array(value: Any) -> Any:
    """`value` as an array where it is a numpy scalar or a TensorProto, else as it is."""
    import onnx
    from onnx import numpy_helper

    if isinstance(value, onnx.TensorProto):
        return numpy_helper.to_array(value)
    return np.asarray(value) if isinstance(value, np.generic) else value


#: Inputs by which an operator is set up, and which exported networks store: their names in the
#: node tests. Some are floats.
SETTINGS = frozenset(
    """
    roi scales sizes depth pads value axis axes k repeats split starts ends steps shape size
    output_shape image_shape block_shape condition start limit delta num_mel_bins dft_length
    sample_rate lower_edge_hertz upper_edge_hertz x_scale x_zero_point y_scale y_zero_point r t
    """.split()
)


def bindings(model: Any, inputs: Sequence[Any]) -> list[dict[str, Any]]:
    """Values to bind inputs to, in the order in which they are tried; first nothing."""
    arrays = {
        port.name: value
        for port, value in zip(model.graph.input, inputs, strict=False)
        if isinstance(value, np.ndarray)
    }
    settings = {n: v for n, v in arrays.items() if n in SETTINGS or not v.size}
    whole = {name: value for name, value in arrays.items() if value.dtype.kind in "iub"}
    found: list[dict[str, Any]] = [{}]
    for values in (settings, whole, whole | settings):
        if all(values.keys() != other.keys() for other in found):
            found.append(values)
    return found


def attempt(test: Any, values: Mapping[str, Any], quick: bool) -> tuple[str, str]:
    """(status, detail) of one test with these of its inputs bound; `quick` does not optimise."""
    import match_aie as match
    from match_aie.errors import MatchError, ToolchainError

    folder = Path(tempfile.mkdtemp(prefix="operators-"))
    inputs, expected = samples(test)
    given = {
        port.name: value
        for port, value in zip(test.model.graph.input, inputs, strict=False)
        if port.name not in values
    }
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            shapes = {name: v.shape for name, v in given.items() if isinstance(v, np.ndarray)}
            compiled = match.compile(test.model, "CPU", shapes=shapes, values=values, name="net")
            project = compiled.write(folder / "net")
            feeds = {p.name: v for p, v in zip(compiled.inputs, given.values(), strict=True)}
            outputs = project.run(feeds, check=False, quick=quick).outputs
        return compare(list(outputs.values()), expected, test)
    except ToolchainError as error:
        return "crash", str(error)[:300]
    except MatchError as error:
        return "unsupported", str(error).replace("\n", " ")[:300]
    except Exception as error:  # noqa: BLE001  a crash is what this script looks for
        return "crash", f"{type(error).__name__}: {str(error)[:300]}"
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def compare(outputs: Sequence[Any], expected: Sequence[Any], test: Any) -> tuple[str, str]:
    """`pass` or `wrong`, by shape, element type and the test's tolerance."""
    for index, (got, want) in enumerate(zip(outputs, expected, strict=True)):
        want = np.asarray(want)
        if got.shape != want.shape or got.dtype != want.dtype:
            return "wrong", (
                f"output {index} is {got.dtype}{list(got.shape)}, "
                f"expected {want.dtype}{list(want.shape)}"
            )
        atol = test.atol
        if test.name.startswith(("test_dft", "test_stft")):
            # Expected values come from a transform in float32: what should be zero is its rounding.
            atol = max(atol, 4 * np.finfo(np.float32).eps * float(np.abs(want).max()))
        close = np.allclose(
            got.astype(np.float64), want.astype(np.float64), test.rtol, atol, equal_nan=True
        )
        if not close:
            worst = np.nanmax(np.abs(got.astype(np.float64) - want.astype(np.float64)))
            return "wrong", f"output {index} differs by up to {worst:g}"
    return "pass", ""


def run_test(test: Any, quick: bool = False) -> Outcome:
    """Compile, build, run and compare one node test; `quick` builds without optimisation."""
    nodes = test.model.graph.node
    operator = nodes[0].op_type if len(nodes) == 1 else f"{test.name.removeprefix('test_')}"
    if test.name.endswith("_expanded") or "_expanded_" in test.name:
        operator = "(expanded functions)"
    inputs, _ = samples(test)
    status, detail = "", ""
    for values in bindings(test.model, inputs):
        found = attempt(test, values, quick)
        if not status or found[0] != "unsupported" or len(values) < len(inputs):
            status, detail = found
        if status != "unsupported":
            break
    if status == "pass" and values:
        detail = "bound: " + ", ".join(values)
    return Outcome(test.name, operator, status, detail, is_float32(test))


#: Of this many tests of a quick run, one is built as users build it.
_OPTIMISED = 4


def run_all(tests: Sequence[Any], jobs: int, quick: bool) -> list[Outcome]:
    """All outcomes, in the tests' order; a line on stderr every hundred."""
    tasks = [(test.name, quick and at % _OPTIMISED > 0) for at, test in enumerate(tests)]
    # Each worker takes a slice and is replaced now and then: TVM keeps what it compiled.
    with multiprocessing.get_context("spawn").Pool(jobs, maxtasksperchild=100) as pool:
        done: list[Outcome] = []
        for outcome in pool.imap(_by_name, tasks, chunksize=10):
            done.append(outcome)
            if len(done) % 100 == 0:
                print(f"{len(done)}/{len(tests)}", Counter(o.status for o in done), file=sys.stderr)
        return done


def _by_name(task: tuple[str, bool]) -> Outcome:
    name, quick = task
    if not hasattr(_by_name, "tests"):
        _by_name.tests = {t.name: t for t in node_tests()}  # type: ignore[attr-defined]
    return run_test(_by_name.tests[name], quick)  # type: ignore[attr-defined]


def totals(outcomes: Iterable[Outcome]) -> tuple[Counter[str], Counter[str]]:
    """Counts by status: of all tests, and of those with float32 input and output."""
    rows = list(outcomes)
    return Counter(o.status for o in rows), Counter(o.status for o in rows if o.float32)


def markdown(outcomes: Sequence[Outcome]) -> str:
    """The page `docs/operators.md`."""
    every, floats = totals(outcomes)
    count = sum(floats.values())
    lines = [
        "# Which ONNX operators compile",
        "",
        "Written by `benchmarks/operators.py`: ONNX's own backend node tests, each compiled for",
        "`CPU`, built, run, and compared with the expected outputs. Where a test does not compile",
        "with all its inputs at run time, those that set the operator up (shapes, axes, scales,",
        "depths, ranges) and those without elements are bound (`values={...}`), then those that",
        "are no floats, such as indices. *measured*",
        "",
        f"- all {sum(every.values())} tests: {every['pass']} pass, "
        f"{every['unsupported']} unsupported, "
        f"{every['wrong']} wrong, {every['crash']} crash",
        f"- {_bound(outcomes)} of those that pass have inputs bound",
        f"- the {count} with float32 input and output: {floats['pass']} pass "
        f"({100 * floats['pass'] / max(count, 1):.1f} %), {floats['unsupported']} unsupported",
        "",
        "What is unsupported is refused with an error that names it; nothing is compiled. Rows of",
        "`(expanded functions)` are operators written out as ONNX's own function bodies.",
        "",
        "| operator | tests | pass | unsupported | why the rest is refused |",
        "| --- | ---: | ---: | ---: | --- |",
    ]
    groups: dict[str, list[Outcome]] = defaultdict(list)
    for outcome in outcomes:
        groups[outcome.operator].append(outcome)
    for operator in sorted(groups):
        rows = groups[operator]
        counts = Counter(o.status for o in rows)
        why = reasons(rows)
        lines.append(
            f"| {operator} | {len(rows)} | {counts['pass']} "
            f"| {len(rows) - counts['pass']} | {why} |"
        )
    return "\n".join(lines) + "\n"


def _bound(outcomes: Iterable[Outcome]) -> int:
    """Tests that pass with inputs bound to their values."""
    return sum(o.status == "pass" and bool(o.detail) for o in outcomes)


#: What an error that lists operators begins with, and where it names a node.
_PREFIX = re.compile(r"^\d+ operators? cannot be compiled:\s*")
_NODE = re.compile(r" \(node '[^']*'\)")


def reasons(rows: Sequence[Outcome], most: int = 3) -> str:
    """The commonest reasons for refusal, in a table cell."""
    texts: Counter[str] = Counter()
    for row in rows:
        if row.status != "pass":
            text = _PREFIX.sub("", row.detail.split("  try:")[0].split("  where:")[0])
            texts[_NODE.sub("", re.split(r"\s{3,}", text)[0]).strip()[:120]] += 1
    return "; ".join(text.replace("|", "\\|") for text, _ in texts.most_common(most))


def joined(tests: Iterable[Any], files: Sequence[Path]) -> list[Outcome]:
    """What the files of several parts say, in the tests' order."""
    found = {}
    for path in files:
        rows = (row for row in json.loads(path.read_text()) if row["metric"] == "outcome")
        found |= {row["case"]: (row["value"], *row["note"].split(": ", 1)) for row in rows}
    return [
        Outcome(test.name, operator, status, detail, is_float32(test))
        for test in tests
        if test.name in found
        for status, operator, detail in [found[test.name]]
    ]


def _row(case: str, metric: str, value: object, unit: str, note: str = "") -> dict[str, object]:
    return {
        "case": case,
        "metric": metric,
        "value": value,
        "unit": unit,
        "provenance": "measured",
        "note": note,
    }


def main() -> int:
    """Run, print the totals, write the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--markdown", type=Path)
    parser.add_argument("--only", default="")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument(
        "--quick", action="store_true", help="build three of four without optimisation"
    )
    parser.add_argument("--part", default="0/1", help="K/N: every Nth test from the Kth on")
    parser.add_argument("--join", type=Path, nargs="*", help="run nothing: files of all parts")
    options = parser.parse_args()
    part, parts = map(int, options.part.split("/"))
    tests = [t for t in node_tests() if options.only in t.name][part::parts]
    if options.join:
        outcomes = joined(tests, options.join)
    else:
        outcomes = run_all(tests, options.jobs, options.quick)
    every, floats = totals(outcomes)
    print("all", dict(every))
    print("float32 input and output", dict(floats))
    for outcome in outcomes:
        if outcome.status in ("wrong", "crash"):
            print(outcome.status, outcome.test, outcome.detail)
    if options.markdown:
        options.markdown.write_text(markdown(outcomes))
    if options.json:
        rows = [machine_row()]
        for name, counts in (("all", every), ("float32", floats)):
            rows += [_row(name, status, value, "tests") for status, value in sorted(counts.items())]
        rows += [
            _row(o.test, "outcome", o.status, "", f"{o.operator}: {o.detail}") for o in outcomes
        ]
        options.json.write_text(json.dumps(rows, indent=1) + "\n")
    return 1 if every["wrong"] + every["crash"] else 0


if __name__ == "__main__":
    sys.exit(main())
