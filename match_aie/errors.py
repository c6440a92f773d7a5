"""The error tree: every failure a user can cause or meet is one of these classes.

An error says what happened, where in the model, and what to try. The command line prints
exactly that and exits with the class's `exit_code`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

#: A longer piece of a message is cut: user-supplied names may hold thousands of characters.
LONGEST_PIECE = 400


def shorten(text: str, limit: int = LONGEST_PIECE) -> str:
    r"""`text` on one line, printable, at most `limit` characters long.

    >>> shorten("a\nb")
    'a\\nb'
    """
    printable = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
    return printable if len(printable) <= limit else f"{printable[: limit - 3]}..."


class MatchError(Exception):
    """Something the user can mend; the base of every error that the package raises on purpose.

    Args:
        what: what happened, in a sentence.
        where: the file, node, tensor or layer concerned, as the user named it.
        hint: what to try.
    """

    exit_code = 1

    def __init__(self, what: str, *, where: str = "", hint: str = "") -> None:
        """Keep the three parts; `str(error)` joins them, a line each."""
        super().__init__(what)
        self.what = what
        self.where = shorten(where)
        self.hint = hint

    def __str__(self) -> str:
        """The message as the command line prints it."""
        lines = [self.what]
        if self.where:
            lines.append(f"  where: {self.where}")
        if self.hint:
            lines.append(f"  try:   {self.hint}")
        return "\n".join(lines)


class ModelError(MatchError):
    """The model cannot be read, or does not mean anything."""


class LimitError(ModelError):
    """The model asks for more than `match_aie.Limits` accepts."""


class UnsupportedOperatorError(ModelError):
    """The model holds operators that neither a module nor the fallback can compile.

    Args:
        operators: (operator, node name, why) for every one of them, in model order.
    """

    def __init__(self, operators: Sequence[tuple[str, str, str]]) -> None:
        """List all of them at once, so that a user sees the whole distance."""
        self.operators = tuple(operators)
        shown = [
            f"{shorten(op, 60)} (node {shorten(node, 60)!r}){': ' + why if why else ''}"
            for op, node, why in self.operators[:20]
        ]
        if len(self.operators) > len(shown):
            shown.append(f"... and {len(self.operators) - len(shown)} more")
        kinds = len({op for op, _, _ in self.operators})
        super().__init__(
            f"{kinds} operator{'s' if kinds != 1 else ''} cannot be compiled:\n    "
            + "\n    ".join(shown),
            hint="replace these nodes, or see docs/operators.md (Relay: docs/relay.md)",
        )


class TargetError(MatchError):
    """No such target, or a target that is not well formed."""


class OptionError(MatchError):
    """An option or an input array that makes no sense for this call."""


class ProjectError(MatchError):
    """A project folder cannot be written or read."""


class ToolchainError(MatchError):
    """A compiler is missing or refused, or the built program failed."""

    exit_code = 3


class RunError(ToolchainError):
    """The built program crashed, ended its process, or did not end in time.

    Args:
        what: what happened.
        step: label of the layer or step that was running; "" where none was.
        where: see `MatchError`.
        hint: see `MatchError`.
    """

    def __init__(self, what: str, *, step: str = "", where: str = "", hint: str = "") -> None:
        """Keep the step beside the three parts."""
        super().__init__(what, where=where, hint=hint)
        self.step = step


class MismatchError(MatchError):
    """Emitted code and its reference disagree: a defect in match_aie."""

    exit_code = 4


class InternalError(MatchError):
    """A stage met something that an earlier stage should have excluded: a defect in match_aie."""


def _plain(number: float) -> str:
    """`number` with all of its digits where it is whole, else with six."""
    return f"{number:,.0f}" if float(number).is_integer() else f"{number:,.6g}"


@dataclass(frozen=True)
class Infeasible:
    """Why something does not fit; a value, since not fitting is a normal outcome.

    Attributes:
        resource: what ran out, such as "L1" or "arena".
        demand: how much was needed, in `unit`.
        bound: how much there is, in `unit`.
        unit: such as "bytes".
        levers: what would make it fit, in the order to try.
        breakdown: (who, how much in `unit`) for the largest users of the resource.
    """

    resource: str
    demand: float
    bound: float
    unit: str
    levers: tuple[str, ...] = ()
    breakdown: tuple[tuple[str, float], ...] = field(default=())

    def __str__(self) -> str:
        """Demand, bound, gap and levers in a few lines."""
        lines = [
            f"{self.resource} does not fit: {_plain(self.demand)} {self.unit} needed, "
            f"{_plain(self.bound)} available ({_plain(self.demand - self.bound)} too many)"
        ]
        lines += [
            f"    {shorten(who, 60)}: {_plain(much)} {self.unit}" for who, much in self.breakdown
        ]
        return "\n".join(lines)


class InfeasibleError(MatchError):
    """A whole compilation does not fit; carries the `Infeasible` value."""

    exit_code = 2

    def __init__(self, reason: Infeasible, *, where: str = "") -> None:
        """Wrap `reason` for the paths where only an exception can leave."""
        super().__init__(str(reason), where=where, hint="; or ".join(reason.levers))
        self.reason = reason
