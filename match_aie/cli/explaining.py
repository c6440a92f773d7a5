"""`match-aie explain` and `match-aie targets`: what was decided, and who could decide."""

from __future__ import annotations

from pathlib import Path

import match_aie
from match_aie import report
from match_aie.cli.terminal import program, say, say_json
from match_aie.hardware import load_target, target_names
from match_aie.report.table import table


def explain_project(folder: Path, layer: str | None, as_json: bool) -> None:
    """Show all calls of a project, or one of them in detail."""
    network = report.network_report(match_aie.load(folder).record.everything)
    if layer is not None:
        step = network.step(layer)
        if as_json:
            say_json(report.step_json(network, step))
        else:
            say(report.layer_text(network, step))
            alike = network.steps_called(layer)
            others = ", ".join(str(s.index) for s in alike if s.index != step.index)
            if others:
                say(f"\nof the same name: {others} ({program()} explain {folder} NUMBER)")
        return
    if as_json:
        steps = [report.step_json(network, step) for step in network.steps]
        say_json({**report.as_json(network), "steps": steps})
        return
    say(report.summary_text(network))
    say()
    say(report.refusals_text(network))
    say(f"\na layer in detail: {program()} explain {folder} NAME (or its number)")


def show_targets(name: str | None, as_json: bool) -> None:
    """Show all installed targets, or one of them in detail."""
    if name is not None:
        target = load_target(name)
        if as_json:
            say_json(report.target_json(target))
        else:
            say(report.target_text(target))
        return
    found = [load_target(known) for known in target_names()]
    if as_json:
        say_json({"targets": [report.target_json(target) for target in found]})
        return
    rows = [
        (target.name, ", ".join(module.name for module in target.modules()), target.description())
        for target in found
    ]
    say(table(("target", "modules", "description"), rows, "", 80))
    say(f"\none in detail: {program()} targets NAME")
