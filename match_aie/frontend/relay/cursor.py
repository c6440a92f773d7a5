"""Walking along tokens, with errors that say what was expected."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from match_aie.errors import ModelError, shorten
from match_aie.frontend.relay.lexer import Tokens
from match_aie.frontend.relay.source import Source

#: How deep expressions, types and attributes may nest: printers nest a handful of times.
DEEPEST = 64


class Cursor:
    """A place among the tokens of a text.

    Attributes:
        source: the text.
        tokens: its tokens.
        index: of the next token.
        kind: of the next token; kept beside `index`, since it is asked for most often.
        text: of the next token.
        depth: how deep the parser is nested.
    """

    __slots__ = ("_kinds", "_last", "_texts", "depth", "index", "kind", "source", "text", "tokens")

    def __init__(self, source: Source, tokens: Tokens) -> None:
        """At the first token."""
        self.source, self.tokens = source, tokens
        self._kinds, self._texts = tokens.kinds, tokens.texts
        self._last = len(tokens.texts) - 1
        self.index, self.depth = 0, 0
        self.kind, self.text = tokens.kinds[0], tokens.texts[0]

    @property
    def at(self) -> int:
        """Offset of the next token."""
        return self.tokens.offsets[self.index]

    def after(self) -> str:
        """Text of the token after the next."""
        return self._texts[min(self.index + 1, self._last)]

    def take(self) -> str:
        """The next token's text; moves past it (never past the end)."""
        text = self.text
        if self.index < self._last:
            self.index += 1
            self.kind, self.text = self._kinds[self.index], self._texts[self.index]
        return text

    def accept(self, symbol: str) -> bool:
        """Move past `symbol` if it comes next."""
        if self.text == symbol and self.kind == "symbol":
            self.take()
            return True
        return False

    def expect(self, symbol: str) -> int:
        """Move past `symbol`, which must come next; gives its offset."""
        at = self.at
        if not self.accept(symbol):
            raise self.unexpected(repr(symbol))
        return at

    def expect_kind(self, kind: str, what: str) -> str:
        """Move past a token of `kind`, which must come next."""
        if self.kind != kind:
            raise self.unexpected(what)
        return self.take()

    def unexpected(self, wanted: str) -> ModelError:
        """The error that something else than `wanted` comes next."""
        found = "the end of the text" if self.kind == "end" else repr(shorten(self.text, 40))
        return self.source.error(f"expected {wanted}, found {found}", self.at)

    @contextmanager
    def nested(self) -> Iterator[None]:
        """One level deeper; refuses what is nested too deep to be a network."""
        self.depth += 1
        if self.depth > DEEPEST:
            raise self.source.error(f"nested more than {DEEPEST} deep", self.at)
        yield
        self.depth -= 1

    def skip_balanced(self, opening: str, closing: str) -> None:
        """Move past a bracketed part that nobody reads."""
        start = self.expect(opening)
        depth = 1
        while depth:
            if self.kind == "end":
                raise self.source.error(f"{opening!r} is not closed: expected {closing!r}", start)
            symbol = self.kind == "symbol"
            text = self.take()
            depth += (symbol and text == opening) - (symbol and text == closing)
