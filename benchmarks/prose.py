"""Figures in the documents' sentences: written from the results, or with who says so beside them.

In a document `<!-- value FILE; CASE; METRIC; DIGITS -->168.2<!-- end -->` is a figure of
`benchmarks/results/FILE.json`, which `tables.py` writes. Any other one with a unit of time, rate,
energy or share needs its origin in the same sentence or table: that it is assumed or asked for, a
published source, or the test or source file that holds it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

from result_rows import Rows

VALUE = re.compile(r"(<!-- value ([^;>]+); ([^;>]+); (\w+); (\d) -->)[^<\n]*(<!-- end -->)")

#: What is no sentence: generated tables, generated figures, code, comments.
_MADE = re.compile(
    r"<!-- table \w+ -->.*?<!-- end -->|<!-- value [^>]*-->[^<]*<!-- end -->|^```.*?^```|`[^`\n]+`",
    re.DOTALL | re.MULTILINE,
)

_UNITS = r"(?:ns|us|ms|s|seconds?|minutes?|[TG]OPS(?:/W)?|images/s|[unpm]J|GB/s|%)"
_RATIOS = r"times (?:as|faster|slower|shorter|the|less|more)\b"
FIGURE = re.compile(rf"(?<![\w.])\d[\d,.]*\s?(?:{_UNITS}(?![\w/])|{_RATIOS})")

#: Who says a figure that no result holds.
ORIGIN = re.compile(
    r"\bassum\w+|\bpublished\b|\basked\b|\bby default\b|arXiv|https?://|\bUG\d{3,}|\bAM0\d\d"
    r"|`tests/[\w/.-]+`|`[\w/]+\.py`"
)


#: Of `_MADE` what holds blank lines.
_BLOCKS = re.compile(r"<!-- table \w+ -->.*?<!-- end -->|^```.*?^```", re.DOTALL | re.MULTILINE)

#: Between sentences, list items and paragraphs; tables are whole.
_SENTENCES = re.compile(r"(\n\s*\n|\n(?=\s*[-*] )|(?<=[.:;])\s+(?=[A-Z(`]))")


def rewritten(text: str, results: Path) -> str:
    """A document with the figures of its sentences made anew.

    Raises:
        KeyError: a result that it names is not there.
    """

    def figure(found: re.Match[str]) -> str:
        begin, file, case, metric, digits, end = found.groups()
        rows = Rows(json.loads((results / f"{file}.json").read_text()))
        return f"{begin}{rows.value(case, metric, int(digits))}{end}"

    return VALUE.sub(figure, text)


def typed(text: str) -> Iterator[tuple[int, str]]:
    """(line, figure) of the figures that nobody vouches for."""
    at = 1
    for block in _SENTENCES.split(_without(text, _BLOCKS)):
        if not ORIGIN.search(block):  # paths in code marks are origins
            bare = _without(block, _MADE)
            for found in FIGURE.finditer(bare):
                yield at + bare[: found.start()].count("\n"), " ".join(found[0].split())
        at += block.count("\n")


def _without(text: str, pattern: re.Pattern[str]) -> str:
    """Without what matches, its lines left empty."""
    return pattern.sub(lambda found: "\n" * found[0].count("\n"), text)
