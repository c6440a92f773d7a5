"""Lines of the printed text in pieces: operations, attributes, dimensions."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import zip_longest

from match_aie.errors import ModelError

#: `%result = name rest`, or `name rest`.
_OPERATION = re.compile(r"(?:%(?P<result>\w+) = )?(?P<name>[a-z_]+(?:\.\w+)+)(?P<rest>.*)")

_ATTRIBUTE = re.compile(r'([\w.]+) = ("[^"]*"|\[[^\]]*\]|@\w+|\w+)(?: : \w+)?')

_PAIR = re.compile(r"<\w+ = (\d+), \w+ = (\d+)>")

Value = int | str | tuple[int, ...]


class TextError(ModelError):
    """The text says something that no program of this project is printed as."""


@dataclass(frozen=True)
class Line:
    """An operation.

    Attributes:
        number: of the line, from 1.
        result: the value that it defines, without its sign; empty for none.
        name: such as "aie.lock"; a label's is "^".
        rest: what stands behind the name.
    """

    number: int
    result: str
    name: str
    rest: str

    def fail(self, why: str) -> TextError:
        """An error at this line."""
        return TextError(f"{why}: {self.name}{self.rest[:80]}", where=f"line {self.number}")

    def match(self, pattern: str) -> tuple[str, ...]:
        """The groups of `pattern` at the front of the rest.

        Raises:
            TextError: the rest is of another form.
        """
        found = re.match(pattern, self.rest)
        if found is None:
            raise self.fail("not of the form that is printed")
        return tuple(group or "" for group in found.groups())

    @property
    def opens(self) -> bool:
        """Whether a region begins behind it."""
        return self.rest.endswith("{")

    @property
    def attributes(self) -> Mapping[str, Value]:
        """The last dictionary of the line."""
        return attributes(self.rest[self.rest.rfind("{") :])

    def integer(self, name: str) -> int:
        """An attribute that is a number.

        Raises:
            TextError: it is none, or is not there.
        """
        found = self.attributes.get(name)
        if not isinstance(found, int):
            raise self.fail(f"no number {name}")
        return found

    def string(self, name: str) -> str:
        """An attribute that is a string; as `integer`."""
        found = self.attributes.get(name)
        if not isinstance(found, str):
            raise self.fail(f"no string {name}")
        return found

    def listed(self, name: str) -> tuple[int, ...]:
        """An attribute that is a list of numbers, empty where there is none; as `integer`."""
        return self.integers(name) if name in self.attributes else ()

    def integers(self, name: str) -> tuple[int, ...]:
        """An attribute that is a list of numbers; as `integer`."""
        found = self.attributes.get(name)
        if not isinstance(found, tuple):
            raise self.fail(f"no list {name}")
        return found


def attributes(text: str) -> Mapping[str, Value]:
    """Names and values of a dictionary."""
    found: dict[str, Value] = {}
    for name, value in _ATTRIBUTE.findall(text):
        if value.startswith('"'):
            found[name] = value[1:-1]
        elif value.startswith("["):
            found[name] = tuple(int(n) for n in value[1:-1].split(",") if n.strip())
        elif value.startswith("@"):
            found[name] = value[1:]
        else:
            found[name] = int(value) if value.lstrip("-").isdigit() else value
    return found


def pairs(text: str) -> tuple[tuple[int, int], ...]:
    """Pairs in a list, the last one first: innermost dimensions lead in a program."""
    return tuple((int(a), int(b)) for a, b in reversed(_PAIR.findall(text)))


def lines(text: str) -> Iterator[Line]:
    """All operations and labels.

    Raises:
        TextError: a line is neither.
    """
    for number, written in enumerate(text.splitlines(), start=1):
        bare = written.split("//")[0].strip() if '"' not in written else written.strip()
        if not bare or bare.startswith("module ") or written == "}":
            continue
        if bare.startswith("^"):
            yield Line(number, "", "^", bare[1:].rstrip(":"))
            continue
        if bare.startswith("}"):
            yield Line(number, "", "}", bare[1:].strip())
            continue
        found = _OPERATION.fullmatch(bare)
        if found is None:
            raise TextError(f"not understood: {bare[:80]}", where=f"line {number}")
        yield Line(number, found["result"] or "", found["name"], found["rest"].strip())


def attributes_of(line: Line) -> dict[str, int | str | tuple[int, ...]]:
    """Attributes of a buffer, which its type and values follow."""
    (inside,) = line.match(r"[^{]*(\{[^}]*\})")
    return dict(attributes(inside))


def ending(line: Line, pattern: str) -> tuple[str, ...]:
    """The groups of `pattern` at the last place where it is found."""
    return line.match(r".*" + pattern)


def as_number(value: object) -> int:
    """A value that is one.

    Raises:
        TextError: it is none.
    """
    if not isinstance(value, int):
        raise TextError(f"{value!r} is no number")
    return value


def held_to(text: str, again: str) -> None:
    """Compare a text with what its program is printed as.

    Raises:
        TextError: they differ; names the first line.
    """
    both = zip_longest(text.splitlines(), again.splitlines(), fillvalue="")
    for at, (one, wanted) in enumerate(both, start=1):
        if one != wanted:
            raise TextError(
                f"{one.strip()[:100]!r}, where the program says {wanted.strip()[:100]!r}",
                where=f"line {at}",
            )
