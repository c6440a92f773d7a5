"""What stops an execution."""

from __future__ import annotations

from match_aie.errors import InternalError


class ExecutionError(InternalError):
    """A program that cannot be executed: it would hang, or compute from what nobody wrote."""
