"""`match-aie run`."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import match_aie
from match_aie.cli.arrays import describe, random_inputs, read_inputs, write_outputs
from match_aie.cli.options import parse_sizes
from match_aie.cli.terminal import say, say_json, working
from match_aie.errors import MismatchError, OptionError, shorten

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import numpy as np

    from match_aie.toolchain import (
        FallbackChecked,
        LayerMismatch,
        Project,
        RoundedSums,
        RunResult,
    )


@dataclass(frozen=True)
class RunRequest:
    """What the user typed."""

    folder: Path
    inputs: Path | None
    outputs: Path | None
    seed: int
    compiler: str | None
    sanitize: bool
    edited: bool = False
    timeout: float | None = None
    check_fallback: bool = False
    sizes: tuple[str, ...] = ()


def run_project(request: RunRequest, as_json: bool) -> None:
    """Build, run, compare, show; a mismatch is shown first and raised then.

    Raises:
        MismatchError: emitted code and reference disagree.
        OptionError: sizes for inputs that come from a file.
    """
    from match_aie.toolchain.sizes import named

    if request.sizes and request.inputs is not None:
        raise OptionError("sizes are those of the arrays", hint="leave out --size, or --inputs")
    project = match_aie.load(request.folder, edited=request.edited)
    ports = named(project.record, parse_sizes(request.sizes)).inputs
    if request.inputs is None:
        arrays, source = random_inputs(ports, request.seed), f"random, seed {request.seed}"
    else:
        arrays, source = read_inputs(request.inputs, ports), str(request.inputs)
    with working(f"building and running {request.folder}"):
        result = project.run(
            arrays,
            compiler=request.compiler,
            check_fallback=request.check_fallback,
            timeout=request.timeout,
        )
        if request.sanitize:
            _run_sanitized(project, arrays, result, request)
    if request.outputs is not None:
        write_outputs(request.outputs, result.outputs)
    if as_json:
        say_json(result_json(result, source))
    else:
        say(result_text(result, source))
        if request.sanitize:
            say("sanitizers nothing found, the same outputs")
        if request.outputs is not None:
            say(f"written    {request.outputs}")
    if result.matches_reference is False or (result.fallback and result.fallback.mismatches):
        raise _disagreement(project, result)


def _disagreement(project: Project, result: RunResult) -> MismatchError:
    folder = project.folder
    if result.edited:
        return MismatchError(
            "the code, which was edited, and the reference disagree",
            where=str(folder),
            hint="mend " + ", ".join(result.edited[:5]),
        )
    wrong = result.fallback.mismatches if result.fallback else ()
    if result.matches_reference is not False and wrong:
        first = wrong[0]
        return MismatchError(
            f"the fallback function {first.symbol} ({first.operators}) and its reference disagree: "
            "a defect in match_aie, or of the C compiler",
            where=first.node,
            hint="try another compiler (--compiler clang), and report it with this folder",
        )
    from match_aie.workload import short_float

    first_layer = project.record.layers[result.mismatches[0].symbol]
    short = short_float(first_layer.workload)
    if short is not None:
        return MismatchError(
            f"a layer with products of {short.dtype} is farther from float32 than roundings "
            f"explain: numbers beyond {short.most} become infinite there; if none are, "
            "it is a defect in match_aie",
            where=first_layer.name,
            hint="smaller inputs, or compile with floats: float32 (--target-options)",
        )
    return MismatchError(
        "the emitted code and the reference disagree: a defect in match_aie",
        where=str(folder),
        hint="please report it, with this folder and the inputs if you may",
    )


def _run_sanitized(
    project: Project, arrays: Mapping[str, np.ndarray], result: RunResult, request: RunRequest
) -> None:
    """Once more with sanitizers; the outputs must be the same bytes."""
    outputs = project.run_sanitized(arrays, compiler=request.compiler, timeout=request.timeout)
    for name, array in outputs.items():
        if array.tobytes() != result.outputs[name].tobytes():
            raise MismatchError(
                "the build with sanitizers gives another output: a defect in match_aie",
                where=name,
                hint="please report it, with this folder and the inputs if you may",
            )


def result_json(result: RunResult, source: str) -> dict[str, object]:
    """What was compared, and the shape and type of every output."""
    return {
        "matches_reference": result.matches_reference,
        "layers_checked": result.layers_checked,
        "mismatches": [_mismatch(m) for m in result.mismatches],
        "float_layers": [asdict(close) for close in result.floats],
        "max_lsb_vs_model": dict(result.max_lsb_vs_model),
        "max_abs_vs_model": dict(result.max_abs_vs_model),
        "optimiser_lsb": dict(result.optimiser_lsb),
        "optimiser_abs": dict(result.optimiser_abs),
        "model_note": result.model_note,
        "deviations": [asdict(deviation) for deviation in result.deviations],
        "rounded_sums": [asdict(rounded) for rounded in result.rounded],
        "outputs": {name: list(array.shape) for name, array in result.outputs.items()},
        "dtypes": {name: array.dtype.name for name, array in result.outputs.items()},
        "inputs": source,
        "edited": list(result.edited),
        "fallback": None if result.fallback is None else asdict(result.fallback),
    }


def result_text(result: RunResult, source: str) -> str:
    """The same for people; every difference is measured on this run."""
    lines = [f"inputs     {source}", f"reference  {_verdict(result)}"]
    lines += [f"           {_mismatch(mismatch)}" for mismatch in result.mismatches[:10]]
    if result.fallback is not None:
        lines += _fallback(result.fallback)
    if result.edited:
        lines.insert(1, f"edited     {', '.join(result.edited[:10])}: run as they are")
    if result.deviations:
        most = max(deviation.max_lsb for deviation in result.deviations)
        number = f"{len(result.deviations)} layers in their module's own arithmetic"
        lines.append(f"           {number}: at most {most} LSB from the model's (measured)")
    lines += [f"           {_lost(rounded)}" for rounded in result.rounded if rounded.turns > 1]
    for name, array in result.outputs.items():
        lines.append(f"output     {shorten(name, 60)}: {describe(array)}")
        lines += [f"           {line}" for line in _from_model(result, name)]
    if result.model_note:
        lines.append(f"model      not compared: {shorten(result.model_note, 200)}")
    return "\n".join(lines)


def _lost(rounded: RoundedSums) -> str:
    """What the reference of a layer with rounded sums is, and how far it is from exact ones."""
    return (
        f"{shorten(rounded.layer, 60)}: its reference rounds partial sums between {rounded.turns} "
        f"turns, as mapped: {rounded.mean:.3g} steps from exact sums on average, at most "
        f"{rounded.largest:.6g} (measured)"
    )


def _fallback(checked: FallbackChecked) -> list[str]:
    """What comparing the fallback's functions found."""
    number = f"{checked.calls} calls of functions"
    wrong = checked.mismatches
    verdict = f"{len(wrong)} of {number} DIFFER from" if wrong else f"{number} agree with"
    lines = [f"fallback   {verdict} TVM's LLVM code of what they mean"]
    for m in wrong[:10]:
        found = m.difference
        lines.append(
            f"           {shorten(m.node, 60)} ({m.symbol}: {m.operators}): {found.count} of "
            f"{found.elements} elements differ, first {list(found.first_index)}: {found.got:g} "
            f"instead of {found.expected:g}"
        )
    lines += [f"           {symbol}: not compared: {why}" for symbol, why in checked.unchecked[:10]]
    return lines


def _from_model(result: RunResult, name: str) -> Iterator[str]:
    """How far an output is from the model, and how far onnxruntime's optimiser takes it."""
    own = _distance(result.max_lsb_vs_model.get(name), result.max_abs_vs_model.get(name))
    theirs = _distance(result.optimiser_lsb.get(name), result.optimiser_abs.get(name))
    if own:
        yield f"at most {own} from the model in onnxruntime, unoptimised (measured)"
    if result.optimiser_lsb.get(name) or result.optimiser_abs.get(name):
        yield f"onnxruntime's own optimiser: at most {theirs} from the model (measured)"


def _distance(lsb: int | None, gap: float | None) -> str:
    if lsb is not None:
        return f"{lsb} LSB"
    return "" if gap is None else f"{gap:.3g}"


def _verdict(result: RunResult) -> str:
    if result.matches_reference is None:
        return "nothing to compare: no layer runs in a module"
    if not result.matches_reference:
        number = _layers(result.layers_checked)
        return f"{len(result.mismatches)} of {number} DIFFER from their numpy reference"
    said = []
    integers = result.layers_checked - len(result.floats)
    if integers:
        verb = "equals its" if integers == 1 else "equal their"
        said.append(f"{_layers(integers)} {verb} numpy reference bit for bit")
    if result.floats:
        most = max(result.floats, key=lambda close: close.bound_used)
        number = _layers(len(result.floats), "float ")
        said.append(
            f"{number} within the error bound of every element, at most "
            f"{100 * most.bound_used:.3g} % of it used ({shorten(most.layer, 60)})"
        )
    return "; ".join(said)


def _layers(count: int, kind: str = "") -> str:
    return f"{count} {kind}layer{'' if count == 1 else 's'}"


def _mismatch(mismatch: LayerMismatch) -> str:
    return (
        f"{shorten(mismatch.layer, 60)} ({mismatch.symbol}): {mismatch.count} of "
        f"{mismatch.elements} elements differ, first {list(mismatch.first_index)}: "
        f"{mismatch.got:g} instead of {mismatch.expected:g}"
    )
