"""`match-aie report`: the page anew, one figure as a file, or what differs from another project."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import match_aie
from match_aie import codegen, report
from match_aie.cli.files import write_file
from match_aie.cli.terminal import say, say_json, working
from match_aie.errors import OptionError, ProjectError
from match_aie.report.compare import compare, comparison_json, comparison_text
from match_aie.report.figures import Figure, figures, missing
from match_aie.simulating import simulate, target_of
from match_aie.toolchain.places import try_instead
from match_aie.toolchain.record import Record


def report_project(
    folder: Path, figure: str | None, output: Path | None, other: Path | None, as_json: bool
) -> None:
    """Write the page or a figure of a project, or compare it with another one.

    Args:
        folder: of the project.
        figure: name of one; None for the page.
        output: the file; by default the project's page, or the figure's name as SVG. One that ends
            in .onnx becomes the project's model with what was decided at its nodes.
        other: a project to compare with; nothing is written then.
        as_json: print JSON.

    Raises:
        OptionError: there is no such figure, or files end in something else than .svg or .png.
        ProjectError: a file cannot be written.
    """
    record = match_aie.load(folder).record
    if other is not None:
        _compare(record, match_aie.load(other).record, as_json)
        return
    if output is not None and output.suffix.lower() == ".onnx" and figure is None:
        _annotate(record, folder, output, as_json)
        return
    with working(f"drawing {folder}"):
        trace = _trace(record)
        if figure is None:
            page = codegen.render_page(report.network_page(record.everything, trace))
            place = _write(output or folder / codegen.PAGE, page)
        else:
            reasons = missing(record.everything, trace)
            drawn = _named(figures(record.everything, trace), figure, reasons)
            place = _write(*_file(drawn, output or Path(f"{drawn.name}.svg")))
    if as_json:
        say_json({"written": str(place)})
    else:
        say(f"written to {place}")


def _annotate(record: Record, folder: Path, output: Path, as_json: bool) -> None:
    """Write the project's model with who runs each node.

    Args:
        record: of the project.
        folder: of the project.
        output: the file.
        as_json: print JSON.

    Raises:
        OptionError: the project holds no ONNX model.
        ProjectError: a file cannot be read or written.
    """
    if record.model is None:
        raise OptionError("the project holds no file of its model")
    try:
        model = (folder / record.model).read_bytes()
    except OSError as error:
        raise ProjectError(f"the model cannot be read: {error}", where=record.model) from error
    made, nodes = report.annotated(model, record.everything)
    place = _write(output, made)
    if as_json:
        say_json({"written": str(place), "nodes": nodes})
    else:
        say(f"written to {place}: {nodes} nodes say who runs them")


def _compare(first: Record, second: Record, as_json: bool) -> None:
    found = compare(
        report.network_report(first.everything), report.network_report(second.everything)
    )
    if as_json:
        say_json(comparison_json(found))
    else:
        say(comparison_text(found))


def _trace(record: Record) -> str | None:
    """Of one simulated inference; None where the target has no simulator."""
    if not (record.everything.get("simulated") or {}).get("steps"):
        return None
    return simulate(record, target_of(record)).trace_json()


def _named(drawn: tuple[Figure, ...], name: str, missing: Mapping[str, str]) -> Figure:
    """The figure called `name`, of those `drawn`; why there is none, of those `missing`.

    Raises:
        OptionError: there is none.
    """
    for figure in drawn:
        if figure.name == name:
            return figure
    raise OptionError(
        f"this project has no figure {json.dumps(name[:40])}"
        + (f": {missing[name]}" if name in missing else ""),
        hint="one of " + ", ".join(figure.name for figure in drawn),
    )


def _file(figure: Figure, place: Path) -> tuple[Path, bytes]:
    """A figure in the format that the file's name says.

    Raises:
        OptionError: the name says none.
    """
    if place.suffix.lower() == ".svg":
        return place, figure.svg()
    if place.suffix.lower() == ".png":
        return place, figure.png()
    raise OptionError(
        f"a figure is written as SVG or PNG, and {place.name} says neither",
        hint="-o FILE.svg or -o FILE.png",
    )


def _write(place: Path, content: bytes) -> Path:
    """Write a file, whole or not at all.

    Raises:
        ProjectError: it cannot be written.
    """
    try:
        write_file(place, content)
    except OSError as error:
        raise ProjectError(
            f"the file cannot be written: {error.strerror or error}",
            where=str(place),
            hint=try_instead(error),
        ) from error
    return place
