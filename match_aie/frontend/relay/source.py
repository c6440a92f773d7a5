"""Where in a Relay file something stands, and the errors that say so."""

from __future__ import annotations

from dataclasses import dataclass, field

from match_aie.errors import ModelError, shorten

#: Text format that is read; older headers are read the same way.
FORMAT = "0.0.5"


@dataclass(frozen=True)
class Source:
    """A Relay module as the user gave it.

    Attributes:
        text: Relay text, or "" where the module came as JSON.
        starts: offsets of the line starts of `text`.
    """

    text: str
    starts: tuple[int, ...] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        """Find the lines."""
        found = [0]
        at = self.text.find("\n")
        while at >= 0:
            found.append(at + 1)
            at = self.text.find("\n", at + 1)
        object.__setattr__(self, "starts", tuple(found))

    def where(self, at: int) -> str:
        r"""Line and column of offset `at` (of a JSON module: which node), both from 1.

        >>> Source("a\nbc").where(3)
        'line 2, column 2'
        """
        if not self.text:
            return f"node {at}"
        low, high = 0, len(self.starts)
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if self.starts[middle] <= at else (low, middle)
        return f"line {low + 1}, column {at - self.starts[low] + 1}"

    def error(self, what: str, at: int, hint: str = "") -> ModelError:
        """An error about what stands at `at`, with the line itself."""
        place = self.where(at)
        if self.text:
            place += f": {self.excerpt(at)}"
        return ModelError(what, where=place, hint=hint)

    def excerpt(self, at: int) -> str:
        """What stands at `at`, up to the end of its line."""
        return shorten(self.text[at : at + 200].split("\n")[0].strip(), 60)
