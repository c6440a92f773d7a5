"""Reports as text for people and as plain objects for JSON; pure functions of a `NetworkReport`.

Every number says whether it is modelled (a cost model's word) or measured.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from typing import Protocol

from match_aie.errors import shorten
from match_aie.report.clock import all_cycles, clock_lines, emitted_cycles, target_cycles
from match_aie.report.joins import join_text
from match_aie.report.network import (
    Attempt,
    LayerDetail,
    MemoryUse,
    NetworkReport,
    StepRow,
    network_report,
)
from match_aie.report.stages import many, stage_facts, stages_text
from match_aie.report.table import count, extent, some, table
from match_aie.report.totals import CoverDetail, EnergyDetail
from match_aie.workload import (
    SHORT_PAIRS,
    Lost,
    Operand,
    Workload,
    product_type,
    short_float,
    turns_of,
)
from match_aie.workload.attention_running import runs as running

FALLBACK = "fallback"


class Compiled(Protocol):
    """What is needed of a `match_aie.compilation.Compilation`."""

    @property
    def seconds(self) -> Mapping[str, float]:
        """Wall-clock time by stage."""

    def sources(self) -> Mapping[str, bytes]:
        """The emitted project."""


def compiled_report(compiled: Compiled) -> NetworkReport:
    """The rows of a compilation, read from the `match_aie.json` that it would write."""
    return network_report(json.loads(compiled.sources()["match_aie.json"]))


def summary(compiled: Compiled) -> str:
    """The layer table, memory and stage times of a compilation."""
    return summary_text(compiled_report(compiled), compiled.seconds)


def summary_text(report: NetworkReport, seconds: Mapping[str, float] | None = None) -> str:
    """Headline, a row per call, memory, and stage times where given."""
    layers, fallback = len(report.layers), len(report.fallback)
    head = (
        f"{shorten(report.name, 60)} for {report.target}: {many(layers, 'layer')} in modules, "
        f"{many(fallback, 'function')} from the fallback"
    )
    parts = [head, "", layer_table(report), ""]
    if report.sizes:
        given = ", ".join(f"{size.name} {size.low} to {size.high}" for size in report.sizes)
        parts.append(f"sizes     {given}: each run gives them; all numbers are of the largest")
    parts.append(memory_text(report))
    parts += [join_text(report.joins)] if report.joins else []
    if report.stages:
        names = {step.symbol: shorten(step.name, 60) for step in report.layers}
        parts += ["", stages_text(report.stages, names), ""]
    if report.layers:
        parts.append(f"work      {count(report.macs)} multiply-accumulates in modules")
    if report.cover is not None:
        parts.append(cover_text(report.cover, emitted_cycles(report)))
    parts += [f"clock     {line}" for line in clock_lines(report)]
    if report.energy is not None:
        parts.append(energy_text(report.energy))
    if seconds:
        total = sum(seconds.values())
        longest = sorted(seconds.items(), key=lambda item: -item[1])[:4]
        shown = ", ".join(f"{stage} {taken:.2f}" for stage, taken in longest)
        parts.append(f"compiled  in {total:.2f} s (measured): {shown}")
    parts += [f"warning   {shorten(warning)}" for warning in report.warnings]
    return "\n".join(parts)


def cover_text(cover: CoverDetail, emitted: float) -> str:
    """What the chosen cover costs as emitted, and what MATCH's rule would.

    `emitted` are the modelled cycles of layers in modules: less than in `cover`, which prices each
    layer by itself, where layers hand over results or run side by side.
    """
    parts = [f"{count(emitted)} in modules"]
    parts += [f"{count(cover.fallback)} on the core"] if cover.fallback else []
    parts += [f"{count(cover.moves)} to hand over"] if cover.moves else []
    total = f"{count(emitted + cover.fallback + cover.moves)} in all"
    lines = [f"cycles    {total} (modelled, of the target's clock): {', '.join(parts)}"]
    if cover.rule == "match":
        lines.append("cover     by MATCH's rule: longest pattern, then cheapest module")
        return "\n".join(lines)
    apart = abs(emitted - cover.layers) > 0.5
    start = f"{count(cover.cycles)} with each layer by itself, " if apart else ""
    word = start + ("the cheapest there is" if cover.proven else "not proven to be the cheapest")
    more = cover.match_cycles - cover.cycles
    rule = f"MATCH's rule would take {_more(more, cover.cycles)}"
    return "\n".join([*lines, f"cover     {word}; {rule}"])


def energy_text(energy: EnergyDetail) -> str:
    """What an inference takes, and what was minimised."""
    parts = [f"{microjoules(energy.layers)} in modules"]
    parts += [f"{microjoules(energy.fallback)} on the core"] if energy.fallback else []
    parts += [f"{microjoules(energy.moves)} to hand over"] if energy.moves else []
    lines = [f"energy    {microjoules(energy.total)} uJ (modelled): {', '.join(parts)}"]
    if energy.objective != "latency":
        what = "energy" if energy.objective == "energy" else "the product of energy and cycles"
        lines.append(f"          compiled for little {what}")
    return "\n".join(lines)


def microjoules(picojoules: float) -> str:
    """As a number of microjoules, without its unit."""
    return f"{picojoules / 1e6:,.3f}"


def _more(more: float, than: float) -> str:
    if more <= 0:
        return "as many"
    return f"{count(more)} more ({100 * more / than:.1f} %)" if than else f"{count(more)} more"


def layer_table(report: NetworkReport) -> str:
    """A row per call: who runs it, as what, what the cost model says, and its part of all cycles.

    A layer's cycles are of its module's clock, those of the fallback of the target's. Parts are of
    what the network takes in all, handing over included, so that they add up to less.
    """
    header = (">#", "layer", "runs on", "as", "output", ">MACs", ">cycles (modelled)", ">of all")
    total = all_cycles(report)
    rows = [_row(step, target_cycles(report, step), total) for step in report.steps]
    if report.energy is None:
        return table(header, rows)
    rows = [(*row, _layer_energy(step)) for row, step in zip(rows, report.steps, strict=True)]
    return table((*header, ">uJ (modelled)"), rows)


def _layer_energy(step: StepRow) -> str:
    picojoules = None if step.layer is None else step.layer.picojoules
    return "" if picojoules is None else microjoules(picojoules)


def _row(step: StepRow, cycles: float, total: float) -> tuple[str, ...]:
    """Texts of a call that takes `cycles` of `total`, both of the target's clock."""
    (dtype, shape), layer = step.output, step.layer
    start = (str(step.index), step.name)
    output = f"{dtype} {extent(shape)}"
    share = f"{100 * cycles / total:.1f} %" if total and cycles else ""
    if layer is None:
        known = count(cycles) if cycles else ""
        return (*start, FALLBACK, step.operators, output, "", known, share)
    macs = count(layer.workload.macs) if layer.workload.macs else ""
    return (*start, layer.module, layer.pattern, output, macs, count(layer.cycles), share)


def memory_text(report: NetworkReport) -> str:
    """Bytes of each memory and of the constants, final numbers of the emitted code."""
    lines = [f"memory    {_memory(use)}" for use in report.memory]
    lines.append(f"          {count(report.constant_bytes)} bytes of constants")
    return "\n".join(lines)


def _memory(use: MemoryUse) -> str:
    text = f"{count(use.nbytes)} bytes of {use.name}"
    if use.nbytes and use.peak:
        text += f", fullest at {shorten(use.peak, 60)}"
    return f"{text} (no plan needs fewer than {count(use.lower_bound)})" if use.nbytes else text


def layer_text(report: NetworkReport, step: StepRow) -> str:
    """One call in detail: what it computes, how it runs, and who else was considered."""
    attempts = [a for a in report.attempts if a.layer == step.name]
    lines = [f"{shorten(step.name, 80)}: step {step.index}, C function {step.symbol}"]
    lines += _fallback_lines(step) if step.layer is None else _layer_lines(step, step.layer)
    for stage in report.stages:
        if stage.symbol == step.symbol:
            lines += ["", *(f"  {what + ':':16} {text}" for what, text in stage_facts(stage))]
    if attempts:
        rows: list[tuple[str, ...]] = [
            (a.module, a.pattern, _maybe(a.cycles), _maybe(a.fallback_cycles)) for a in attempts
        ]
        outcomes = [a.outcome for a in attempts]
        lines += ["", "considered here", *_with_outcomes(rows, outcomes)]
    elif step.layer is None:
        lines += ["", "no pattern of any module matches here"]
    return "\n".join(lines)


def refusals_text(report: NetworkReport) -> str:
    """What modules refused, a line for each reason; a layer may still run as another pattern."""
    reasons: dict[tuple[str, str], list[Attempt]] = {}
    for attempt in report.attempts:
        if attempt.reason:
            reasons.setdefault((attempt.module, attempt.reason), []).append(attempt)
    if not reasons:
        return "no module refused anything that its patterns match"
    lines = []
    for (module, reason), attempts in reasons.items():
        layers = some([shorten(name, 60) for name in dict.fromkeys(a.layer for a in attempts)], 2)
        patterns = some(list(dict.fromkeys(a.pattern for a in attempts)), 2)
        lines.append(f"  {layers}: {module} {patterns}: {shorten(reason)}")
    return "\n".join(["refused", *lines])


def _maybe(cycles: float | None) -> str:
    return "" if cycles is None else count(cycles)


def _with_outcomes(rows: list[tuple[str, ...]], outcomes: list[str]) -> list[str]:
    """Rows with a sentence behind each, which is too long for a column."""
    header = ("module", "pattern", ">cycles (modelled)", ">on the core")
    heading, *body = table(header, rows).splitlines()
    width = max(map(len, (heading, *body)))
    return [
        heading,
        *(
            f"{line.ljust(width)}  {shorten(text)}"
            for line, text in zip(body, outcomes, strict=True)
        ),
    ]


def _fallback_lines(step: StepRow) -> list[str]:
    lines = ["  runs on   the core, as C from the fallback", f"  computes  {step.operators or '-'}"]
    cycles = f"  cycles    {count(step.core)} (modelled, of the target's clock)"
    return [*lines, cycles] if step.core else lines


def _layer_lines(step: StepRow, layer: LayerDetail) -> list[str]:
    workload = layer.workload
    dims = " ".join(f"{name}={size}" for name, size in workload.dims)
    macs = f", {count(workload.macs)} multiply-accumulates" if workload.macs else ""
    lines = [
        f"  runs on   {layer.module}, as {layer.pattern}",
        f"  computes  {workload.kind} {dims}{macs}",
        *(f"            {_operand(operand)}" for operand in workload.operands),
        f"  cycles    {count(layer.cycles)} (modelled){_simulated(step)}",
        *(f"            {count(cycles):>12} {name}" for name, cycles in layer.parts),
    ]
    if layer.picojoules is not None:
        lines.append(f"  energy    {microjoules(layer.picojoules)} uJ (modelled)")
    if layer.error_lsb is not None:
        lines.append(f"  rounding  the module's own, {error_text(layer.error_lsb)}")
    if layer.lost is not None:
        lines.append(f"  sums      {sums_text(workload, layer.lost)}")
    if running(workload):
        lines.append(
            "  rounding  a running softmax: scores of 16 bits, weights of 15; no 8-bit ones"
        )
    if workload.rounded and product_type(workload) == "int8":
        lines.append("  rounding  products of 8 bits; gates and results in bfloat16")
    elif (short := short_float(workload)) is not None:
        what = f"operands and sums of {SHORT_PAIRS} products to {short.dtype}"
        lines.append(f"  rounding  {what}, these to float32")
    elif workload.rounded and product_type(workload) == "float32":
        tables = workload.real is not None and workload.real.precision == "single_lines"
        far = "8e-7, out of tables" if tables else "5e-7"
        lines.append(
            f"  rounding  every product and every sum to float32, functions to about {far}"
        )
    elif workload.rounded and product_type(workload) == "bfp16":
        lines.append("  rounding  products in blocks of eight with one exponent, sums to float32")
    elif workload.rounded:
        lines.append("  rounding  operands and result to bfloat16, sums to float32")
    if layer.spatial:
        lines.append(f"  in space  {_loops(layer.spatial)}")
    if layer.temporal:
        lines.append(f"  in time   {_loops(layer.temporal)} (outermost first)")
    return lines


def _simulated(step: StepRow) -> str:
    return "" if step.simulated is None else f", {count(step.simulated)} (simulated)"


def error_text(error_lsb: float) -> str:
    """A bound of the difference from the model's arithmetic, in words."""
    if not error_lsb:
        return "the model's bit for bit (proven)"
    return f"at most {error_lsb:.3g} LSB from the model's before it is rounded (proven)"


def sums_text(workload: Workload, lost: Lost) -> str:
    """How partial sums of a layer that rounds them wait, and what that loses, in words."""
    turns = turns_of(workload)
    if turns is None or not turns.waits:
        return "exact: a tile sums up in one turn, so that none is rounded while it waits"
    dtype = workload.output.dtype if workload.real is None else "bfloat16"
    return (
        f"rounded to {dtype} between {turns.turns} turns of {turns.reduction} of the reduction: "
        f"{lost.mean:.3g} steps from exact sums on average, at most {lost.largest:.6g} "
        f"(measured on {count(lost.elements)} results of drawn inputs)"
    )


def _loops(loops: tuple[tuple[str, int], ...]) -> str:
    return ", ".join(f"{dim} {size}" for dim, size in loops)


def _operand(operand: Operand) -> str:
    constant = " constant" if operand.constant else ""
    scale = "" if operand.scale is None else f", scale {operand.scale:.6g}"
    point = f", zero point {operand.zero_point}" if operand.zero_point else ""
    return f"{operand.name}: {operand.dtype} {extent(operand.shape)}{constant}{scale}{point}"


def as_json(report: NetworkReport) -> dict[str, object]:
    """The report as plain objects; `cycles` are modelled, `peak_bytes` final."""
    return {
        "name": report.name,
        "target": report.target,
        "layers": [_layer_json(step) for step in report.layers],
        "fallback": [_fallback_json(step) for step in report.fallback],
        "peak_bytes": {use.name: use.nbytes for use in report.memory},
        "constant_bytes": report.constant_bytes,
        "cycles": report.cycles,
        "cycles_provenance": "modelled",
        "cover": None if report.cover is None else asdict(report.cover),
        "energy": None if report.energy is None else _energy_json(report.energy),
        "simulated": None if report.simulated is None else asdict(report.simulated),
        "joins": [asdict(row) for row in report.joins],
        "stages": [asdict(stage) for stage in report.stages],
        "sizes": [asdict(size) for size in report.sizes],
        "warnings": list(report.warnings),
    }


def _energy_json(energy: EnergyDetail) -> dict[str, object]:
    return {**asdict(energy), "total": energy.total, "unit": "pJ", "provenance": "modelled"}


def step_json(report: NetworkReport, step: StepRow) -> dict[str, object]:
    """One call with everything that was considered for it."""
    row = _fallback_json(step) if step.layer is None else _layer_json(step)
    considered = [_attempt_json(a) for a in report.attempts if a.layer == step.name]
    return {**row, "step": step.index, "symbol": step.symbol, "considered": considered}


def _attempt_json(attempt: Attempt) -> dict[str, object]:
    return {
        "module": attempt.module,
        "pattern": attempt.pattern,
        "cycles": attempt.cycles,
        "reference_cycles": attempt.reference_cycles,
        "fallback_cycles": attempt.fallback_cycles,
        "chosen": attempt.chosen,
        "error_lsb": attempt.error_lsb,
        "reason": attempt.reason,
    }


def _layer_json(step: StepRow) -> dict[str, object]:
    layer = step.layer
    if layer is None:
        raise ValueError(f"{step.name} is no layer")
    return {
        "name": step.name,
        "module": layer.module,
        "pattern": layer.pattern,
        "kind": layer.workload.kind,
        "cycles": layer.cycles,
        "picojoules": layer.picojoules,
        "macs": layer.workload.macs,
        "error_lsb": layer.error_lsb,
        "rounded_sums": None if layer.lost is None else asdict(layer.lost),
        "simulated_cycles": step.simulated,
        "output": {"dtype": step.output[0], "shape": list(step.output[1])},
    }


def _fallback_json(step: StepRow) -> dict[str, object]:
    return {
        "name": step.name,
        "symbol": step.symbol,
        "operators": step.operators,
        "cycles": step.core or None,
        "output": {"dtype": step.output[0], "shape": list(step.output[1])},
    }
