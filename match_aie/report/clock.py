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


def emitted_cycles(report: NetworkReport) -> float:
    """Modelled cycles of all layers as they are emitted, of the target's clock."""
    return sum(
        step.layer.cycles * clock(report, step) for step in report.layers if step.layer is not None
    )
