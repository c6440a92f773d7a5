"""The installed version, and that of the projects it writes."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError
from importlib.metadata import version as installed_version

#: Of `match_aie.json`: raised when a reader of the older form would misunderstand the newer one.
SCHEMA_VERSION = 1


def version() -> str:
    """Version of the installed package; "0+unknown" where it runs without being installed."""
    try:
        return installed_version("match-aie")
    except PackageNotFoundError:
        return "0+unknown"
