"""From cycles of a module's clock to those of the target's."""

from __future__ import annotations

from match_aie.report.network import NetworkReport, StepRow


def clock(report: NetworkReport, step: StepRow) -> float:
    """Cycles of the target's clock in one of the module that runs the layer `step`."""
    assert step.layer is not None
    for attempt in report.attempts:
        if attempt.module == step.layer.module and attempt.cycles and attempt.reference_cycles:
            return attempt.reference_cycles / attempt.cycles
    return 1.0


def target_cycles(report: NetworkReport, step: StepRow) -> float:
    """Modelled cycles of a call, of the target's clock."""
    return step.core if step.layer is None else step.layer.cycles * clock(report, step)


def emitted_cycles(report: NetworkReport) -> float:
    """Modelled cycles of all layers as they are emitted, of the target's clock."""
    return sum(target_cycles(report, step) for step in report.layers)


def all_cycles(report: NetworkReport) -> float:
    """Modelled cycles of the whole network as it is emitted, of the target's clock.

    Without a cover, which knows what is handed over, the sum of its calls.
    """
    if report.cover is None:
        return sum(target_cycles(report, step) for step in report.steps)
    return emitted_cycles(report) + report.cover.fallback + report.cover.moves


def clock_lines(report: NetworkReport) -> list[str]:
    """A line per module that runs layers by a clock of its own: what a cycle of its rows is."""
    clocks = {step.layer.module: clock(report, step) for step in report.layers if step.layer}
    return [
        f"a cycle of {module} in the table is {factor:.3g} of the target's, which are summed and "
        "compared"
        for module, factor in clocks.items()
        if abs(factor - 1) > 1e-6
    ]
