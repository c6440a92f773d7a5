"""Why an operator cannot be lowered, on its way to `UnsupportedOperatorError`."""

from __future__ import annotations


class Refusal(Exception):
    """An operator cannot be lowered; the message says why."""
