"""How much code the AI Engine array takes, and how often what should stand once stands there.

    python benchmarks/array_code.py [--json FILE]

A line of code is one that holds a token other than a comment or a docstring. Counted are
`targets/aie_ml`, `targets/versal` and `cost_models/aie*`. Beside lines: where an `ArrayProgram` is
made, classes that are plans of layers (they give a `nest` and make a `graph`), and
functions called `plan_of`, which make a plan of a mapping.
"""

from __future__ import annotations

import argparse
import ast
import io
import tokenize
from collections.abc import Iterator
from pathlib import Path

from machine import machine_row
from rows import figure, report

ROOT = Path(__file__).resolve().parents[1]

#: Tokens that are no code.
SPACE = {
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENDMARKER,
}
DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


def code_lines(source: str) -> int:
    r"""Lines of code: no blanks, comments, docstrings.

    >>> code_lines('"Head."\n\nx = (\n    1,  # one\n)\n')
    3
    """
    found: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type not in SPACE:
            found.update(range(token.start[0], token.end[0] + 1))
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, DOCUMENTED) and ast.get_docstring(node, clean=False) is not None:
            text = node.body[0]
            found -= set(range(text.lineno, (text.end_lineno or text.lineno) + 1))
    return len(found)


def files(root: Path = ROOT) -> Iterator[Path]:
    """All that is counted."""
    for folder in ("targets/aie_ml", "targets/versal"):
        yield from sorted((root / folder).rglob("*.py"))
    yield from sorted((root / "cost_models").glob("aie*.py"))


def made(tree: ast.AST, name: str) -> int:
    """Calls of `name`."""
    calls = (node.func for node in ast.walk(tree) if isinstance(node, ast.Call))
    return sum(isinstance(func, ast.Name) and func.id == name for func in calls)


def is_plan(node: ast.AST) -> bool:
    """Whether a class is a plan of a layer; the protocol that says what these are is none."""
    if not isinstance(node, ast.ClassDef):
        return False
    if any(isinstance(base, ast.Name) and base.id == "Protocol" for base in node.bases):
        return False
    members = {each.name for each in node.body if isinstance(each, ast.FunctionDef)}
    fields = (each.target for each in node.body if isinstance(each, ast.AnnAssign))
    members |= {field.id for field in fields if isinstance(field, ast.Name)}
    return {"nest", "graph"} <= members


def count(root: Path = ROOT) -> dict[str, int]:
    """Lines by folder, and sites of what should stand once."""
    lines: dict[str, int] = {}
    sites = plans = again = 0
    for path in files(root):
        source = path.read_text()
        tree = ast.parse(source)
        folder = path.parent.relative_to(root).as_posix()
        lines[folder] = lines.get(folder, 0) + code_lines(source)
        nodes = list(ast.walk(tree))
        sites += made(tree, "ArrayProgram")
        plans += sum(map(is_plan, nodes))
        again += sum(isinstance(node, ast.FunctionDef) and node.name == "plan_of" for node in nodes)
    found = {f"lines of {folder}": number for folder, number in lines.items() if number}
    total = {"lines": sum(lines.values())}
    return found | total | {"ArrayProgram sites": sites, "plan types": plans, "plan_of": again}


def main() -> None:
    """Print the rows."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path, help="also write the rows there")
    notes = {"lines": "no blanks, comments, docstrings"}
    rows = [
        figure(
            "array_code",
            metric.replace(" ", "_"),
            value,
            "lines" if "lines" in metric else "",
            "measured",
            notes.get(metric, ""),
        )
        for metric, value in count().items()
    ]
    report([machine_row(), *rows], parser.parse_args().json)


if __name__ == "__main__":
    main()
