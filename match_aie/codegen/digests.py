"""What the files of a project were when they were written, so that a changed one is noticed."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping

from match_aie.codegen.manifest import joined, texts


def digests(files: Mapping[str, bytes]) -> dict[str, str]:
    """SHA-256 of every file, as `sha256sum` prints it."""
    return {name: hashlib.sha256(data).hexdigest() for name, data in files.items()}


def seal(manifest: Mapping[str, object]) -> str:
    """SHA-256 of a manifest as it is written, its own key "seal" left out."""
    return _seal(_unsealed(manifest))


def sealed(manifest: Mapping[str, object]) -> bytes:
    """The text of a manifest with its seal."""
    values = _unsealed(manifest)
    return joined({**values, "seal": f'"{_seal(values)}"'})


def _unsealed(manifest: Mapping[str, object]) -> dict[str, str]:
    return texts({key: value for key, value in manifest.items() if key != "seal"})


def _seal(values: Mapping[str, str]) -> str:
    return hashlib.sha256(joined(values)).hexdigest()
