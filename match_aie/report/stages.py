"""Layers that run side by side, as rows and sentences."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from match_aie.hardware import Stage
from match_aie.report.table import count, table


def stage_rows(manifest: Mapping[str, Any]) -> tuple[Stage, ...]:
    """What a `match_aie.json` says of them; nothing where its target says nothing."""
    return tuple(_stage(each) for each in manifest.get("stages", ()))


def _stage(each: Mapping[str, Any]) -> Stage:
    first, last = each["columns"]
    return Stage(
        str(each["symbol"]),
        str(each["graph"]),
        (int(first), int(last)),
        int(each["tiles"]),
        float(each["cycles"]),
        float(each["interval"]),
        float(each["pace"]),
        float(each["utilisation"]),
        str(each["bound"]),
        tuple((str(what), float(cycles)) for what, cycles in each["bounds"]),
        str(each["why"]),
        str(each["more"]),
    )


def stages_text(stages: Sequence[Stage], names: Mapping[str, str]) -> str:
    """A row per layer, and a line per graph.

    Args:
        stages: in execution order.
        names: of the layers, by symbol.
    """
    header = (
        *("layer", "graph", "columns", ">tiles", ">cycles", ">every"),
        *(">busy", "bounded by"),
    )
    rows = [
        (
            names.get(each.symbol, each.symbol),
            each.graph,
            columns(each),
            count(each.tiles),
            count(each.cycles),
            count(each.interval),
            f"{100 * each.utilisation:.0f} %",
            each.bound,
        )
        for each in stages
    ]
    lines = ["array (cycles of its clock, modelled)", table(header, rows)]
    for graph, mine in _graphs(stages).items():
        tiles = sum({(each.columns, each.tiles): each.tiles for each in mine}.values())
        lines.append(
            f"{graph}: {many(len(mine), 'layer')}, {many(tiles, 'tile')}, a result every "
            f"{count(mine[0].pace)} cycles, the first one after at most "
            f"{count(sum(each.cycles for each in mine))}"
        )
    return "\n".join(lines)


def _graphs(stages: Sequence[Stage]) -> dict[str, list[Stage]]:
    found: dict[str, list[Stage]] = {}
    for each in stages:
        found.setdefault(each.graph, []).append(each)
    return found


def columns(stage: Stage) -> str:
    """First and last one."""
    first, last = stage.columns
    return str(first) if first == last else f"{first} to {last}"


def many(number: int, what: str) -> str:
    """So many of something."""
    return f"{count(number)} {what}{'' if number == 1 else 's'}"


def stage_facts(stage: Stage) -> list[tuple[str, str]]:
    """(what, sentence) of one layer."""
    busy = ", ".join(f"{what} {count(cycles)}" for what, cycles in stage.bounds)
    return [
        ("on the array", f"{many(stage.tiles, 'tile')}, columns {columns(stage)}, {stage.graph}"),
        (
            "pace",
            f"alone a result every {count(stage.interval)} cycles, in its graph every "
            f"{count(stage.pace)}; tiles multiply for {100 * stage.utilisation:.0f} % of that",
        ),
        ("bounded by", f"{stage.bound}; busy cycles of a run: {busy}"),
        ("these tiles", stage.why),
        ("one more column", stage.more),
    ]
