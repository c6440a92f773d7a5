"""Reads the facts file: typed values by dotted path, each with where it comes from.

A fact is an object with `value`, `source` and `confidence`. What the file does not say is None
here; nothing is guessed, and nothing is read out of a note.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files
from typing import TypeAlias

from match_aie.errors import TargetError

Json: TypeAlias = "bool | int | float | str | list[Json] | dict[str, Json] | None"

#: How sure a value is, best first; the file's own list.
CONFIDENCES = (
    "documented",
    "measured_third_party",
    "inferred",
    "recalled_unverified",
    "unknown",
)


@dataclass(frozen=True)
class Provenance:
    """Where a value comes from.

    Attributes:
        path: of the fact in the file, such as "architectures.AIE-ML.core.cascade".
        source: keys of the file's `sources`, comma-separated; "" where there is none.
        confidence: one of `CONFIDENCES`.
        note: what else the file says of it.
    """

    path: str
    source: str
    confidence: str
    note: str = ""

    def __post_init__(self) -> None:
        """Refuse a confidence that nobody defined."""
        if self.confidence not in CONFIDENCES:
            raise TargetError(f"{self.path}: unknown confidence {self.confidence!r}")


class Facts:
    """A piece of the facts file, addressed by its dotted path."""

    def __init__(self, path: str, content: Mapping[str, Json]) -> None:
        """Hold the object at `path`."""
        self.path = path
        self._content = content

    def __contains__(self, key: str) -> bool:
        """Whether `key` is there and holds anything."""
        return self._content.get(key) is not None

    @property
    def keys(self) -> tuple[str, ...]:
        """The names at this place, in the file's order."""
        return tuple(self._content)

    def part(self, key: str) -> Facts:
        """The object below `key`; an empty one where there is none."""
        found = self._content.get(key)
        return Facts(f"{self.path}.{key}", found if isinstance(found, dict) else {})

    def value(self, key: str) -> Json:
        """The value of fact `key` (or of a plain entry); None where it is not known."""
        found = self._content.get(key)
        return found.get("value") if isinstance(found, dict) and "value" in found else found

    def integer(self, key: str, entry: str = "") -> int | None:
        """Fact `key`, or `entry` of it where it is an object; None where it is not a whole number.

        Raises:
            TargetError: the number is negative.
        """
        found = self._entry(key, entry)
        if isinstance(found, bool) or not isinstance(found, int):
            return None
        if found < 0:
            raise TargetError(f"{self.path}.{key}: {found} is negative")
        return found

    def real(self, key: str, entry: str = "") -> float | None:
        """As `integer`, for any number above 0."""
        found = self._entry(key, entry)
        if isinstance(found, bool) or not isinstance(found, int | float):
            return None
        if found <= 0:
            raise TargetError(f"{self.path}.{key}: {found} is not above 0")
        return float(found)

    def needed(self, key: str, entry: str = "") -> int:
        """As `integer`, for facts without which nothing about a device makes sense."""
        found = self.integer(key, entry)
        if found is None:
            raise TargetError(f"the facts do not say {self.path}.{key} {entry}".rstrip())
        return found

    def text(self, key: str) -> str | None:
        """Fact `key` where it is text."""
        found = self.value(key)
        return found if isinstance(found, str) else None

    def texts(self, key: str, entry: str = "") -> tuple[str, ...]:
        """Fact `key` where it is a list of texts; empty where it is not."""
        found = self._entry(key, entry)
        return tuple(s for s in found if isinstance(s, str)) if isinstance(found, list) else ()

    def integers(self, key: str) -> tuple[int, ...] | None:
        """Fact `key` where it is a list of whole numbers."""
        found = self.value(key)
        if not isinstance(found, list):
            return None
        return tuple(n for n in found if isinstance(n, int))

    def table(self, key: str) -> Facts:
        """The object that is the value of fact `key`; empty where it is none."""
        found = self.value(key)
        return Facts(f"{self.path}.{key}", found if isinstance(found, dict) else {})

    def provenance(self) -> tuple[Provenance, ...]:
        """Of every fact at or below this place."""
        content = self._content
        if "value" in content and "confidence" in content:
            source, confidence = content.get("source"), content.get("confidence")
            note = content.get("note")
            return (Provenance(self.path, str(source), str(confidence), str(note or "")),)
        return tuple(p for key in content for p in self.part(key).provenance())

    def _entry(self, key: str, entry: str) -> Json:
        found = self.value(key)
        if not entry:
            return found
        return found.get(entry) if isinstance(found, dict) else None


def read_facts() -> Facts:
    """The whole file; `schema` is checked.

    Raises:
        TargetError: the file is of another schema.
    """
    text = files("match_aie.targets.aie_ml.facts").joinpath("devices.json").read_text("utf-8")
    content = json.loads(text)
    if content.get("schema") != "match_aie.hw/1":
        raise TargetError(f"devices.json is of schema {content.get('schema')!r}")
    return Facts("", content)
