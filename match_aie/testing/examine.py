"""One group of zoo layers on a target: compiled, built, run, compared, simulated."""

from __future__ import annotations

import json
import math
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import onnx
from onnx import numpy_helper
from onnx.reference import ReferenceEvaluator

from match_aie.errors import InfeasibleError, RunError, ToolchainError
from match_aie.hardware import MatchTarget, SharedMemory, facet
from match_aie.options import Selection
from match_aie.pipeline import compile
from match_aie.report import NetworkReport, network_report
from match_aie.report.network import LayerDetail, StepRow
from match_aie.testing.case import Case, network
from match_aie.testing.declared import said
from match_aie.testing.prices import Price, impossible, overlaps, prices, without_sharing
from match_aie.testing.result import CheckRow, Ran, Refusal
from match_aie.testing.spread import spread_of
from match_aie.toolchain import Project, RunResult
from match_aie.workload import ShortFloat, lost_in_short_sums, short_float
from match_aie.workload.running import gamma

#: Roundings of a float layer beside those of its sum: bias, quotients, elementary functions.
OTHERS = 16


@dataclass(frozen=True)
class Examined:
    """What a group gave.

    Attributes:
        rows: one for each case; none where there is a problem.
        problem: why there are none.
        remarks: on the target.
        step: label of what crashed or did not end, if that is the problem.
        crowded: the problem is that the cases together do not fit the chip.
        left: cases that were not tried, since the time was over.
    """

    rows: tuple[CheckRow, ...] = ()
    problem: str = ""
    remarks: tuple[str, ...] = ()
    step: str = ""
    crowded: bool = False
    left: tuple[str, ...] = ()


def examine(
    cases: Sequence[Case],
    target: MatchTarget,
    compiler: str | None,
    selection: Selection = "cheapest",
    timeout: float | None = None,
) -> Examined:
    """All that can be said of `cases` in one network; raises nothing that the target causes.

    Args:
        cases: of the zoo.
        target: to be tried.
        compiler: command of the C compiler.
        selection: the rule by which it is decided who runs what.
        timeout: seconds that a run may take; None for no limit.
    """
    model = network(cases)
    stage = "it does not compile"
    try:
        # Nothing cached: what counts is what the target's code says now.
        net = compile(model, target, name="zoo", selection=selection, cache=False)
        sources = net.sources()
        again = compile(model, target, name="zoo", selection=selection, cache=False).sources()
        if dict(again) != dict(sources):
            return Examined(problem="compiling it twice gives different bytes")
        report = network_report(json.loads(sources["match_aie.json"]))
        stage = "it cannot be simulated"
        alone = net
        # Where layers load for each other, none has cycles of its own.
        if facet(target, SharedMemory).shared_memory:
            chip = without_sharing(target)
            alone = compile(model, chip, name="zoo", selection=selection, cache=False)
        known = prices(alone)
        modules = {module.name: module for module in target.modules()}
        said_of = {
            layer.symbol: "; ".join(overlaps(layer, modules[layer.module]))
            for layer in alone.program.schedule.layers
        }
        rows = tuple(_considered(case, report, known, said_of) for case in cases)
        stage = "it does not build and run"
        with tempfile.TemporaryDirectory(prefix="match_aie_") as folder:
            project = net.write(Path(folder, "zoo"))
            return _run(rows, cases, Trying(project, compiler, timeout), model)
    except Exception as error:  # noqa: BLE001  a target is code: anything may leave it
        step = error.step if isinstance(error, RunError) else ""
        crowded = len(cases) > 1 and isinstance(error, InfeasibleError)
        return Examined(problem=f"{stage}: {said(error)}", step=step, crowded=crowded)


def _considered(
    case: Case, report: NetworkReport, known: Mapping[str, Price], wrong: Mapping[str, str]
) -> CheckRow:
    """Who runs `case`, at what cost, and who refused.

    Args:
        case: of the zoo.
        report: of the network.
        known: cycles by the layer's symbol.
        wrong: what is wrong with them, likewise; "" where nothing is.
    """
    steps = [step for step in report.steps if belongs(step.name, case)]
    ran = {}
    for step in steps:
        if step.layer is not None:
            price = known.get(step.symbol) or Price(step.layer.cycles)
            told = (step.layer.module, step.layer.pattern, price.predicted, price.simulated)
            ran[step.symbol] = Ran(step.name, *told)
    refused = {
        Refusal(a.layer, a.module, a.pattern, a.reason): None
        for a in report.attempts
        if a.reason and belongs(a.layer, case)
    }
    able = {
        (a.module, a.pattern): None
        for a in report.attempts
        if not a.reason and not a.chosen and belongs(a.layer, case)
    }
    texts = [text for symbol, one in ran.items() for text in (impossible(one), wrong.get(symbol))]
    return CheckRow(
        case.name,
        "; ".join(text for text in texts if text),
        tuple(ran.values()),
        tuple(_operators(step) for step in steps if step.layer is None),
        tuple(refused),
        tuple(able),
        proven_lsb=_proven([s.layer for s in steps if s.layer]),
    )


def _operators(step: StepRow) -> str:
    return step.operators or step.symbol


def belongs(label: str, case: Case) -> bool:
    """Whether a step of that label is part of `case`."""
    return label == case.name or label.startswith(f"{case.name}/")


def _proven(layers: Sequence[LayerDetail]) -> tuple[int, ...]:
    """Steps by which results of layers in an arithmetic of their own may be off, each."""
    return tuple(math.floor(la.error_lsb) + 1 for la in layers if la.error_lsb)


@dataclass(frozen=True, eq=False)
class Trying:
    """A project, the command of the C compiler, and the seconds that a run may take."""

    project: Project
    compiler: str | None
    timeout: float | None


@dataclass(frozen=True, eq=False)
class Compared:
    """What ran on `feeds`: its results, and by name of the output what numpy makes of the model."""

    project: Project
    result: RunResult
    expected: Mapping[str, np.ndarray]
    feeds: Mapping[str, np.ndarray]


def _run(
    rows: tuple[CheckRow, ...], cases: Sequence[Case], trying: Trying, model: onnx.ModelProto
) -> Examined:
    """`rows` with what running showed; first under sanitizers."""
    project, compiler, timeout = trying.project, trying.compiler, trying.timeout
    rng = np.random.default_rng(1)
    feeds = {port.name: _random(rng, port.dtype, port.shape) for port in project.record.inputs}
    remarks = []
    try:
        project.build(compiler=compiler, sanitize=True, quick=True)
    except ToolchainError as error:
        # Either the C is wrong, which the next build says, or the sanitizers are missing.
        project.build(compiler=compiler)
        remarks.append(f"not run under sanitizers: {error.what}")
    checked = None
    if not remarks:
        checked = project.run_sanitized(feeds, compiler=compiler, quick=True, timeout=timeout)
    result = project.run(feeds, compiler=compiler, timeout=timeout)
    if checked is not None:
        for name, array in checked.items():
            if array.tobytes() != result.outputs[name].tobytes():
                text = f"{name} differs between the builds with and without optimisation"
                return Examined(problem=text)
    names = [port.name for port in project.record.outputs]
    values = ReferenceEvaluator(model).run(None, feeds)
    compared = Compared(project, result, dict(zip(names, values, strict=True)), feeds)
    pairs = zip(rows, cases, strict=True)
    done = tuple(_compared(row, case, compared) for row, case in pairs)
    return Examined(done, remarks=tuple(remarks))


def _random(rng: np.random.Generator, dtype: str, shape: Sequence[int]) -> np.ndarray:
    if dtype == "float32":
        return rng.standard_normal(shape).astype(np.float32)
    limits = np.iinfo(dtype)
    return rng.integers(limits.min, limits.max + 1, shape).astype(dtype)


def _compared(row: CheckRow, case: Case, by: Compared) -> CheckRow:
    """`row` with what differs from the layers' references, and from numpy's run of the model."""
    result, expected, feeds = by.result, by.expected, by.feeds
    wrong = [row.problem] if row.problem else []
    for found in result.mismatches:
        if belongs(found.layer, case):
            wrong.append(
                f"{found.layer} ({found.symbol}) differs from its numpy reference in "
                f"{found.count} of {found.elements} elements, first at {list(found.first_index)}: "
                f"{found.got:g} instead of {found.expected:g}"
            )
    (name,) = (name for name in expected if belongs(name, case))
    got, wanted = result.outputs[name], np.asarray(expected[name])
    gap = np.abs(got.astype(np.float64) - wanted.astype(np.float64)).max(initial=0.0)
    if got.dtype == np.float32:
        limit = _float_bound(case, feeds, wanted, _short_of(by.project, case))
        far = ~(np.abs(got.astype(np.float64) - wanted) <= limit)
        wrong += [f"the output is {gap:.1e} from numpy's"] if far.any() else []
        return replace(row, problem="; ".join(wrong), max_abs=float(gap))
    bound = _bound(case, row, feeds)
    if bound is not None and gap > bound:
        wrong.append(f"the output is {gap:g} LSB from numpy's, {bound} are allowed")
    return replace(row, problem="; ".join(wrong), max_lsb=int(gap), bound_lsb=bound)


def _bound(case: Case, row: CheckRow, feeds: Mapping[str, np.ndarray]) -> int | None:
    """How far an integer output may be from numpy's; None where a layer has no rule for it.

    Of one layer its rounding, and the proven difference; of several what they pass on.
    """
    if case.single:
        return 1 + sum(row.proven_lsb)
    model = network([case])
    mine = {port.name: feeds[port.name] for port in model.graph.input}
    found = spread_of(model, mine, max(row.proven_lsb, default=0))
    return None if found is None else int(found.max(initial=0.0))


def _short_of(project: Project, case: Case) -> ShortFloat | None:
    """What the products of a case's layer are rounded to, where that has 16 bits."""
    layers = [la for la in project.record.layers.values() if belongs(la.name, case)]
    return next((short for la in layers if (short := short_float(la.workload))), None)


def _float_bound(
    case: Case, feeds: Mapping[str, np.ndarray], wanted: np.ndarray, short: ShortFloat | None
) -> np.ndarray:
    """How far two evaluations of a case may be apart, per element of its output.

    Each is within gamma_n of the sum of the magnitudes of what it adds (see
    `match_aie.workload.running`): what the case gives for magnitudes of inputs and constants. Where
    one of them has products of 16 bits, these are rounded first, and so are short sums.

    Args:
        case: of float32.
        feeds: by name of the input.
        wanted: what numpy makes of them.
        short: what the products of one evaluation are rounded to; None where both are of float32.
    """
    plain = _magnitude(case, feeds)
    most = np.maximum(np.abs(wanted, dtype=np.float64), plain)
    limit = 2 * gamma(case.terms + OTHERS) * most
    if short is None:
        return np.asarray(limit)
    rounded = _magnitude(case, feeds, short.unit, short.tiny)
    return np.asarray(limit + (rounded - plain) + lost_in_short_sums(short, case.terms, rounded))


def _magnitude(
    case: Case, feeds: Mapping[str, np.ndarray], unit: float = 0.0, tiny: float = 0.0
) -> np.ndarray:
    """What a case gives for magnitudes of inputs and constants, as a rounding may make them."""

    def most(values: np.ndarray) -> np.ndarray:
        return np.asarray(np.abs(values, dtype=np.float64) * (1 + unit) + tiny, np.float32)

    model = network([case])
    for tensor in model.graph.initializer:
        if tensor.data_type == onnx.TensorProto.FLOAT:
            value = most(numpy_helper.to_array(tensor))
            tensor.CopyFrom(numpy_helper.from_array(value, tensor.name))
    inputs = {port.name: most(feeds[port.name]) for port in model.graph.input}
    (found,) = ReferenceEvaluator(model).run(None, inputs)
    return np.asarray(np.abs(found, dtype=np.float64))
