"""Public functions of four or more parameters say what each is."""

import ast
import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

#: Parameters from which a function lists them.
MANY = 4

#: Functions that do not yet, by folder: fewer may be left, not more.
LEFT = {
    "targets/aie_ml": 42,
    "match_aie/hardware": 5,
    "match_aie/workload": 7,
    "targets/gap9": 4,
    "targets/versal": 4,
    "cost_models": 2,
    "match_aie": 2,
}

#: Methods whose parameters a base class explains, and a folder whose parameters carry their help.
INHERITED = ("transfer_cycles", "transfer_energy", "transfer_price")
HELPED = "match_aie/cli"


def parameters(function: ast.FunctionDef) -> list[str]:
    given = function.args
    named = [one.arg for one in (*given.posonlyargs, *given.args, *given.kwonlyargs)]
    return [name for name in named if name not in ("self", "cls")]


def unexplained(tree: ast.Module) -> Iterator[str]:
    """Public functions, and public methods of public classes, that lack a list."""
    classes = (it for it in tree.body if isinstance(it, ast.ClassDef) and it.name[0] != "_")
    bodies = [tree.body, *(it.body for it in classes)]
    for it in (it for body in bodies for it in body if isinstance(it, ast.FunctionDef)):
        if it.name[0] == "_" or it.name in INHERITED or len(parameters(it)) < MANY:
            continue
        if "Args:" not in (ast.get_docstring(it) or ""):
            yield it.name


def folder(path: Path) -> str:
    place = path.relative_to(ROOT).as_posix()
    return next((name for name in LEFT if place.startswith(f"{name}/")), "others")


def sources() -> Iterator[Path]:
    """Python files of the package, each once: some of its folders are links."""
    for top in ("match_aie", "targets", "cost_models"):
        for base, folders, files in os.walk(ROOT / top):
            folders[:] = [name for name in folders if not (Path(base) / name).is_symlink()]
            yield from (Path(base) / name for name in files if name.endswith(".py"))


def test_parameters_are_explained() -> None:
    found: Counter[str] = Counter()
    for path in sources():
        if not path.is_relative_to(ROOT / HELPED):
            found[folder(path)] += len(list(unexplained(ast.parse(path.read_text()))))
    assert {name: n for name, n in found.items() if n > LEFT.get(name, 0)} == {}
