"""The installed version."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError
from importlib.metadata import version as installed_version


def version() -> str:
    """Version of the installed package; "0+unknown" where it runs without being installed."""
    try:
        return installed_version("match-aie")
    except PackageNotFoundError:
        return "0+unknown"
