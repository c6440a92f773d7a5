"""Values that users type after an option, read into what the Python API takes."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from match_aie.errors import OptionError, shorten
from match_aie.limits import Limits

if TYPE_CHECKING:
    from pathlib import Path

    from match_aie.hardware import MatchTarget

#: Digits of a number that Python reads as one: others, such as a superscript, are digits, too.
_SIZE = re.compile(r"[0-9]{1,18}")

_UNITS = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30}


def load(target: str, options: Path | None) -> str | MatchTarget:
    """A target by its name, made with the arguments that a file holds where there is one.

    Raises:
        TargetError: there is none, or it takes no such arguments.
        OptionError: the file cannot be read.
    """
    if options is None:
        return target
    from match_aie.hardware import load_target, read_options

    return load_target(target, read_options(options))


def parse_shapes(texts: Sequence[str]) -> dict[str, tuple[int | str, ...]]:
    """Shapes by input name, from "name=1,3,32,32" (or "name=" for a scalar), one text per input.

    The name may itself hold "=": the last one counts. A size may be a range, see `ranges`.

    Raises:
        OptionError: no name, no numbers, or a name given twice.

    >>> parse_shapes(["x=1,3,32,32"])
    {'x': (1, 3, 32, 32)}
    >>> parse_shapes(["x=1..8,32", "ids=1,n:1..128", "mask=1,n"])
    {'x': ('1..8', 32), 'ids': (1, 'n:1..128'), 'mask': (1, 'n')}
    """
    fixed = re.compile(r"(\d+(\s*[,x]\s*\d+)*)?")
    size = r"\s*(\d+|([^\W\d]\w*)|([^\W\d]\w*\s*:\s*)?\d+\s*\.\.\s*\d+)\s*"
    open_ = re.compile(f"{size}(,{size})*", re.ASCII)
    shapes: dict[str, tuple[int | str, ...]] = {}
    for text in texts:
        name, equals, sizes = text.rpartition("=")
        if (
            not equals
            or not name
            or not (fixed.fullmatch(sizes.strip()) or open_.fullmatch(sizes.strip()))
        ):
            raise OptionError(
                f"--shape {shorten(text, 80)!r} is not a name and a list of sizes",
                hint="--shape x=1,3,32,32, or a range: --shape x=1..128,384",
            )
        if name in shapes:
            raise OptionError(f"--shape gives input {shorten(name, 80)!r} twice")
        found = re.findall(r"\d+", sizes) if fixed.fullmatch(sizes.strip()) else sizes.split(",")
        shapes[name] = tuple(int(s) if _SIZE.fullmatch(s.strip()) else s.strip() for s in found)
    return shapes


def parse_sizes(texts: Sequence[str]) -> dict[str, int]:
    """Sizes of a run by name, from "n=17", one text per size.

    Raises:
        OptionError: no name, no number, or a name given twice.

    >>> parse_sizes(["batch=2", "n=17"])
    {'batch': 2, 'n': 17}
    """
    sizes: dict[str, int] = {}
    for text in texts:
        name, _, number = text.partition("=")
        if not name or not _SIZE.fullmatch(number) or name in sizes:
            raise OptionError(
                f"--size {shorten(text, 80)!r} is not a name and a size, or the name's second",
                hint="--size n=17",
            )
        sizes[name] = int(number)
    return sizes


def parse_values(texts: Sequence[str]) -> dict[str, object]:
    """Values by input name, from "name=16000", "name=0.5,1" or "name=true", one text per input.

    Raises:
        OptionError: no name, no numbers, or a name given twice.

    >>> parse_values(["sr=16000", "reset=true"])
    {'sr': 16000, 'reset': True}
    """
    values: dict[str, object] = {}
    for text in texts:
        name, equals, given = text.rpartition("=")
        numbers = [_number(word.strip()) for word in given.split(",")]
        if not equals or not name or None in numbers:
            raise OptionError(
                f"--value {shorten(text, 80)!r} is not a name and a number", hint="--value sr=16000"
            )
        if name in values:
            raise OptionError(f"--value gives input {shorten(name, 80)!r} twice")
        values[name] = numbers[0] if len(numbers) == 1 else numbers
    return values


def parse_states(texts: Sequence[str]) -> dict[str, str]:
    """Output name by input name, from "input=output", one text per state.

    Raises:
        OptionError: no two names, or an input given twice.

    >>> parse_states(["h=h_next"])
    {'h': 'h_next'}
    """
    return _pairs(texts, "--state", "an input and an output", "h=h_next")


def parse_pins(texts: Sequence[str]) -> dict[str, str]:
    """Module by name of a layer, from "layer=module", one text per pin.

    Raises:
        OptionError: no two names, or a layer given twice.

    >>> parse_pins(["conv_0=ne16"])
    {'conv_0': 'ne16'}
    """
    return _pairs(texts, "--pin", "a layer and a module", "conv_0=ne16")


def _pairs(texts: Sequence[str], option: str, what: str, example: str) -> dict[str, str]:
    """What stands behind the last "=" by what stands before it; a name may hold the sign.

    Args:
        texts: one for each pair.
        option: that they are values of.
        what: a pair is, in words.
        example: of one.

    Raises:
        OptionError: no two names, or one given twice.
    """
    pairs: dict[str, str] = {}
    for text in texts:
        name, _, value = text.rpartition("=")
        if not name or not value:
            raise OptionError(
                f"{option} {shorten(text, 80)!r} is not {what}", hint=f"{option} {example}"
            )
        if name in pairs:
            raise OptionError(f"{option} gives {shorten(name, 80)!r} twice")
        pairs[name] = value
    return pairs


def _number(word: str) -> object:
    """A truth value, an integer or a float; None where the word is none of them."""
    if word.lower() in ("true", "false"):
        return word.lower() == "true"
    for kind in (int, float):
        try:
            return kind(word)
        except ValueError:
            continue
    return None


def parse_limits(texts: Sequence[str]) -> Limits:
    """Limits of a model, from "name=value", one text per limit; k, M, G are powers of 1024.

    Raises:
        OptionError: no name, no number, or no such limit.

    >>> parse_limits(["nodes=50000"]).nodes
    50000
    """
    values: dict[str, int] = {}
    for text in texts:
        name, equals, number = text.partition("=")
        if not equals:
            raise OptionError(
                f"--limit {shorten(text, 80)!r} is not a name and a number",
                hint="--limit nodes=50000",
            )
        values[name.strip()] = parse_bytes(number)
    return Limits().changed(values)


def parse_bytes(text: str) -> int:
    """A number of bytes: "65536", "64k", "1.5M", "64KiB" (k = 1024).

    Raises:
        OptionError: anything else.

    >>> parse_bytes("64k")
    65536
    """
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([kmg]?)(?:i?b)?\s*", text, re.IGNORECASE)
    if match is None or len(match[1]) > 18:
        raise OptionError(
            f"{shorten(text, 40)!r} is not a number of bytes", hint="--memory-limit 64k"
        )
    return int(float(match[1]) * _UNITS[match[2].lower()])
