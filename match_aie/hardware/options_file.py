"""Arguments of a target from a file that users write: YAML or JSON."""

from __future__ import annotations

import json
import os
from pathlib import Path

from match_aie.errors import OptionError, shorten


def read_options(file: str | os.PathLike[str]) -> dict[str, object]:
    """What stands in a file, as a target's constructor takes it.

    Args:
        file: ".json", or ".yaml" or ".yml", which PyYAML reads (zigzag-dse brings it along).

    Raises:
        OptionError: it cannot be read, is neither, or holds something else than names and values.
    """
    path = Path(file)
    try:
        found = _parse(path.suffix.lower(), path.read_text(encoding="utf-8"), str(path))
    except OSError as error:
        raise OptionError(f"cannot be read: {error.strerror}", where=str(path)) from error
    except ValueError as error:
        raise OptionError(f"cannot be read: {shorten(str(error))}", where=str(path)) from error
    if not isinstance(found, dict) or not all(isinstance(name, str) for name in found):
        raise OptionError(
            "holds no names with values", where=str(path), hint="such as memory: plio, a line each"
        )
    return found


def _parse(suffix: str, text: str, where: str) -> object:
    """Raises: ValueError: the text is not of its kind; OptionError: nobody knows the kind."""
    if suffix == ".json":
        return json.loads(text)
    if suffix not in (".yaml", ".yml"):
        raise OptionError("is neither YAML nor JSON", where=where, hint="name it .yaml or .json")
    try:
        import yaml
    except ImportError as error:
        raise OptionError(
            "needs PyYAML to be read", where=where, hint="pip install pyyaml, or write JSON"
        ) from error
    try:
        return yaml.safe_load(text)
    except (yaml.YAMLError, RecursionError) as error:
        raise ValueError(str(error) or type(error).__name__) from error
