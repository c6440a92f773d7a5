"""A hostile model: a name, and how its files are written."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Case:
    """One model file, perhaps with others beside it.

    Attributes:
        name: unique within the bombs of a seed.
        build: writes the files into an empty folder; returns the path of the model.
    """

    name: str
    build: Callable[[Path], Path]


def of_bytes(name: str, data: bytes, ending: str = "onnx") -> Case:
    """A case of one file."""

    def build(folder: Path) -> Path:
        path = folder / f"model.{ending}"
        path.write_bytes(data)
        return path

    return Case(name, build)
