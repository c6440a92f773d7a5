"""The page of errors names every class, with the exit code that it has."""

import re
from pathlib import Path

from match_aie import errors

PAGE = Path(__file__).resolve().parents[2] / "docs" / "errors.md"


def test_every_class_is_in_the_catalogue_with_its_code() -> None:
    shown = dict(re.findall(r"^\| `(\w+)` \| (\d+) \|", PAGE.read_text(), re.MULTILINE))
    tree = [it for it in vars(errors).values() if isinstance(it, type)]
    tree = [it for it in tree if issubclass(it, errors.MatchError) and it is not errors.MatchError]
    classes = {it.__name__: str(it.exit_code) for it in tree}
    assert shown == classes


def test_sentences_of_the_catalogue_are_in_the_source() -> None:
    root = PAGE.parents[1]
    folders = ("match_aie", "targets")
    files = [path for name in folders for path in (root / name).glob("**/*.py")]
    source = "\n".join(path.read_text() for path in files)
    rows = re.findall(r"^\| `([^`]+)`[^|]*\|[^|]+\|[^|]+\|$", PAGE.read_text(), re.MULTILINE)
    said = [row for row in rows if " " in row]
    assert len(said) >= 12
    for sentence in said:
        # Names and numbers are put in at run time; three words beside each other are ours.
        words = sentence.rstrip(":").split()
        runs = [" ".join(words[at : at + 3]) for at in range(len(words) - 2)]
        assert any(run in source for run in runs), sentence
