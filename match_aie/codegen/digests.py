"""What the files of a project were when they were written, so that a changed one is noticed."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping

from match_aie.codegen.manifest import dump


def digests(files: Mapping[str, bytes]) -> dict[str, str]:
    """SHA-256 of every file, as `sha256sum` prints it."""
    return {name: hashlib.sha256(data).hexdigest() for name, data in files.items()}


def seal(manifest: Mapping[str, object]) -> str:
    """SHA-256 of a manifest as it is written, its own key "seal" left out."""
    rest = {key: value for key, value in manifest.items() if key != "seal"}
    return hashlib.sha256(dump(rest)).hexdigest()
