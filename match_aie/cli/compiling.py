"""`match-aie compile`."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, cast

import match_aie
from match_aie.cli.options import (
    load,
    parse_bytes,
    parse_limits,
    parse_pins,
    parse_shapes,
    parse_states,
    parse_values,
)
from match_aie.cli.terminal import program, say, say_json, working
from match_aie.errors import shorten
from match_aie.toolchain import free_place

if TYPE_CHECKING:
    from match_aie.compilation import Compilation
    from match_aie.hardware import Objective
    from match_aie.options import Arithmetic, Selection


@dataclass(frozen=True)
class Request:
    """What the user typed."""

    model: Path
    target: str
    output: Path | None
    shapes: tuple[str, ...]
    memory_limit: str | None
    arithmetic: str
    integer_io: bool
    name: str | None
    force: bool
    selection: str
    cache: bool
    params: Path | None = None
    limits: tuple[str, ...] = ()
    values: tuple[str, ...] = ()
    objective: str = "latency"
    states: tuple[str, ...] = ()
    pins: tuple[str, ...] = ()
    target_options: Path | None = None


def compile_model(request: Request, as_json: bool) -> None:
    """Compile, write where asked to, and show the result."""
    shapes = parse_shapes(request.shapes)
    limit = None if request.memory_limit is None else parse_bytes(request.memory_limit)
    if request.output is not None:
        # Before minutes of searches, not after them.
        free_place(request.output, overwrite=request.force)
    with working(f"compiling {request.model.name}") as progress:
        compiled = match_aie.compile(
            request.model,
            load(request.target, request.target_options),
            params=request.params,
            name=request.name,
            shapes=shapes or None,
            values=parse_values(request.values) or None,
            arithmetic=cast("Arithmetic", request.arithmetic),
            memory_limit=limit,
            integer_io=request.integer_io,
            selection=cast("Selection", request.selection),
            cache=request.cache,
            progress=progress,
            limits=parse_limits(request.limits),
            objective=cast("Objective", request.objective),
            states=parse_states(request.states) or None,
            pins=parse_pins(request.pins) or None,
        )
        if request.output is not None:
            compiled.write(request.output, overwrite=request.force)
    if as_json:
        say_json(compilation_json(compiled, request.output))
        return
    say(compiled.summary())
    for layer, module in parse_pins(request.pins).items():
        say(f"pin       {shorten(layer, 60)} on {module}, as asked")
    say()
    if request.output is None:
        say("nothing was written; to keep the project, add -o DIR")
    else:
        place = shlex.quote(str(request.output))
        say(f"written to {request.output} (report.html shows it); next: {program()} run {place}")


def compilation_json(compiled: Compilation, folder: Path | None) -> dict[str, object]:
    """Layers, fallback, peak bytes, counts of searches, and measured seconds per stage."""
    return {**compiled.numbers(), "folder": None if folder is None else str(folder)}
