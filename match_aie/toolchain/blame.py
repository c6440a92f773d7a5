"""Whose C it is that a compiler refuses: a layer template's, a target's runtime's, or ours."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from match_aie.errors import ToolchainError, shorten
from match_aie.toolchain.faults import UNDEFINED
from match_aie.toolchain.record import Record

_PLACE = re.compile(r"^(?P<path>[\w./-]+):(?P<line>\d+):(?:\d+:)? (?:fatal )?error: (?P<text>.*)")
_OURS = "if the target came with match_aie, report it as a defect of match_aie"


@dataclass(frozen=True)
class Blame:
    """Where the mistake is, and what to do about it."""

    where: str
    hint: str


def blamed(error: ToolchainError, folder: Path, record: Record) -> ToolchainError:
    """`error` of a compiler with whose C it is, where that can be told; else as it is.

    Args:
        error: with what the compiler said.
        folder: of the project.
        record: its manifest.
    """
    found = next(_blames(error.what, folder, record), None)
    if found is None:
        return error
    return ToolchainError(
        error.what, where=f"{found.where}; all of it: {error.where}", hint=found.hint
    )


def _blames(said: str, folder: Path, record: Record) -> Iterator[Blame]:
    for line in said.splitlines():
        place = _PLACE.match(line.strip())
        if place:
            yield from _placed(place["path"], int(place["line"]), place["text"], folder, record)
    for name in UNDEFINED.findall(said):
        yield Blame(
            f"{name}() is called and defined nowhere",
            f"have runtime() of target {_target(record)} bring a C file below emulation/ that "
            f"defines {name}()",
        )


def _placed(path: str, line: int, text: str, folder: Path, record: Record) -> Iterator[Blame]:
    file = folder / path
    if path not in record.files or not file.is_file():
        return
    if text.startswith("#error"):
        yield Blame(path, shorten(text.removeprefix("#error").strip().strip('"'), 200))
        return
    if path.startswith(("include/", "emulation/")):
        yield Blame(
            f"{path}, which runtime() of target {_target(record)} brings",
            f"mend line {line} of that file; {_OURS}",
        )
        return
    lines = file.read_text(encoding="utf-8", errors="replace").splitlines()
    symbol = _symbol(lines[:line], record)
    if symbol is not None and line <= len(lines):
        yield _layer(symbol, lines[line - 1], record)


def _symbol(lines: list[str], record: Record) -> str | None:
    """The layer to whose C the last of `lines` belongs: whose function or table is open there."""
    for text in reversed(lines):
        if not text[:1].isalpha():
            continue
        words = re.findall(r"\w+", text)
        names = [s for s in record.layers for word in words if f"{word}_".startswith(f"{s}_")]
        return max(names, key=len, default=None)
    return None


def _layer(symbol: str, text: str, record: Record) -> Blame:
    from match_aie.codegen import template_line

    layer = record.layers[symbol]
    name = next(str(d["template"]) for d in record.everything["layers"] if d["symbol"] == symbol)
    line = template_line(name, text)
    at = f"{name}, line {line}" if line else name
    where = f"layer {shorten(layer.name, 60)!r} of module {layer.module}, template {at}"
    if ":" in name and not name.startswith("match_aie."):
        return Blame(where, f"mend {at}, or make the pattern refuse this layer")
    return Blame(
        where,
        f"{name} is written for the operands as `layouts` of its own target has them, and for its "
        f"headers; {_OURS}",
    )


def _target(record: Record) -> str:
    target = record.everything.get("target")
    name = target.get("name") if isinstance(target, dict) else target
    return str(name or "?")
