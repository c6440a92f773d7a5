"""What Relay expressions become: Relax expressions, tuples of them, functions to be inlined."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from match_aie.frontend.relay.syntax import Function

Expr = Any


@dataclass(frozen=True, eq=False)
class Closure:
    """A function and the variables it sees."""

    function: Function
    scope: Mapping[str, Value]


Value = Expr | tuple["Value", ...] | Closure
