"""From Relay text to tokens; comments (which may nest) and white space disappear here."""

from __future__ import annotations

import re
from dataclasses import dataclass

from match_aie.frontend.relay.source import Source

#: What a metadata section starts with; everything after it is JSON.
METADATA = re.compile(r"#\[metadata\]|^METADATA:", re.MULTILINE)

#: What stands between tokens; comments within comments are left to `_comment_end`.
_BLANK = r"(?:\s++|/\*(?:[^*/]|\*(?!/)|/(?!\*))*+\*/|//[^\n]*+)*+"
#: Local names hold what importers put there: `%input.1`, `%onnx::Conv_0`, `%conv1/weights`.
_TOKEN = r"""(?:
      (?P<local>%\d+(?!\w) | %\w+(?:(?:::|\.|:(?=\d)|[/-](?=[A-Za-z_]))\w+)*)
    | (?P<name>[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*)
    | (?P<number>\d+(?:\.\d*)?(?:[eE][-+]?\d+)?(?:bf\d+|[fF]\d*|[iu]\d+|h)?(?!\w))
    | (?P<open>/\*)
    | (?P<symbol>->|=>|==|!=|<=|>=|[-(){}\[\],:;=.<>+*/!?&|])
    | (?P<string>"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*')
    | (?P<global>@\w+(?:(?:::|[.:/-])\w+)*)
    | (?P<odd>\d\w*)
    | (?P<version>\#\[version\s*=\s*"[^"\n]*"\s*\])
    )"""
_PATTERN = re.compile(_BLANK + _TOKEN, re.VERBOSE)
_SPACE = re.compile(_BLANK)
_COMMENT_EDGE = re.compile(r"/\*|\*/")
_OLD_HEADER = re.compile(r"\s*v0\.0\.\d+\s")


@dataclass(frozen=True)
class Tokens:
    """The tokens of a text, as parallel sequences; an `end` token closes them.

    Attributes:
        kinds: "local", "global", "number", "name", "string", "version", "symbol", "end"; "odd"
            for what starts like a number and is none (addresses in annotations).
        texts: as written.
        offsets: where each starts in the text.
        metadata: the JSON of the metadata section, "" where there is none.
        metadata_at: where that starts.
    """

    kinds: tuple[str, ...]
    texts: tuple[str, ...]
    offsets: tuple[int, ...]
    metadata: str = ""
    metadata_at: int = 0


def tokenize(source: Source) -> Tokens:
    """Split `source` into tokens.

    Raises:
        ModelError: a character that starts no token, or a comment that is not closed.
    """
    text = source.text
    kinds: list[str] = []
    texts: list[str] = []
    offsets: list[int] = []
    header = _OLD_HEADER.match(text)
    at = header.end() if header else 0
    match_at = _PATTERN.match
    metadata, metadata_at = "", len(text)
    while True:
        found = match_at(text, at)
        kind = found.lastgroup if found is not None else None
        if found is None or kind is None or (kind == "name" and found[kind] == "METADATA"):
            blank = _SPACE.match(text, at)
            at = blank.end() if blank else at
            section = METADATA.match(text, at)
            if section is not None:
                metadata, metadata_at = text[section.end() :], section.end()
                break
            if at == len(text):
                break
            if found is None or kind is None:
                raise _stray(source, at)
        if kind == "open":
            at = _comment_end(source, found.start(kind))
            continue
        kinds.append(kind)
        texts.append(found[kind])
        offsets.append(found.start(kind))
        at = found.end()
    return Tokens((*kinds, "end"), (*texts, ""), (*offsets, at), metadata.strip(), metadata_at)


def _comment_end(source: Source, start: int) -> int:
    """Behind the comment that opens at `start`; comments in it must be closed as well."""
    depth, at = 0, start
    while True:
        edge = _COMMENT_EDGE.search(source.text, at)
        if edge is None:
            raise source.error("a comment is not closed: expected */", start)
        depth += 1 if edge[0] == "/*" else -1
        at = edge.end()
        if depth == 0:
            return at


def _stray(source: Source, at: int) -> Exception:
    character = source.text[at]
    if character == '"':
        return source.error('a string is not closed: expected "', at)
    return source.error(f"{character!r} starts nothing that Relay text knows", at)
