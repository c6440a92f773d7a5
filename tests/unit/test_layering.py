"""The rules about who may import whom, read from the sources themselves."""

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
ROOMS = {
    "match_aie": ROOT / "match_aie",
    "match_aie.targets": ROOT / "targets",
    "match_aie.cost_models": ROOT / "cost_models",
    "match_aie.templates": ROOT / "templates",
}
LINKS = {"targets", "cost_models", "templates"}


@cache
def modules() -> dict[str, ast.Module]:
    """Syntax tree of every module by its installed name."""
    found = {}
    for package, folder in ROOMS.items():
        for path in sorted(folder.rglob("*.py")):
            parts = path.relative_to(folder).with_suffix("").parts
            if package == "match_aie" and parts[0] in LINKS:
                continue
            stem = parts[:-1] if parts[-1] == "__init__" else parts
            found[".".join((package, *stem))] = ast.parse(path.read_text(), str(path))
    return found


def imported(tree: ast.AST) -> Iterator[str]:
    """Dotted names that `tree` imports anywhere, inside functions too."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


@cache
def imports() -> dict[str, tuple[str, ...]]:
    """What every module imports."""
    return {name: tuple(imported(tree)) for name, tree in modules().items()}


def within(name: str, *packages: str) -> bool:
    return any(name == package or name.startswith(f"{package}.") for package in packages)


def importers(*packages: str) -> set[str]:
    """Modules that import any of `packages`."""
    return {
        name
        for name, targets in imports().items()
        if any(within(target, *packages) for target in targets)
    }


def outside(found: set[str], *rooms: str) -> set[str]:
    return {name for name in found if not within(name, *rooms)}


def test_the_reader_finds_the_package() -> None:
    assert {"match_aie.errors", "match_aie.hardware.registry", "match_aie.targets"} <= set(
        modules()
    )
    assert "match_aie.hardware.registry" in importers("match_aie.errors")


@pytest.mark.parametrize(
    ("packages", "rooms"),
    [
        (
            ("tvm", "tvm_ffi", "match_aie.tvm_api"),
            (
                "match_aie.frontend",
                "match_aie.partition",
                "match_aie.fallback",
                "match_aie.byoc",
                "match_aie.hardware.dpl",
                "match_aie.tvm_api",
            ),
        ),
        (("mako",), ("match_aie.codegen",)),
        (("match_aie.templates",), ("match_aie.codegen",)),
        (("subprocess", "multiprocessing", "pty"), ("match_aie.toolchain",)),
        (("ctypes",), ("match_aie.toolchain",)),
        (
            ("ortools",),
            ("match_aie.lowering", "match_aie.partition", "match_aie.targets.aie_ml.placement"),
        ),
        (("platformdirs",), ("match_aie.mapping",)),
        (("vl_convert",), ("match_aie.report.figures",)),
        (("zigzag",), ("match_aie.mapping",)),
        (("match_aie.cost_models",), ("match_aie.targets", "match_aie.cost_models")),
        (("match_aie.targets",), ("match_aie.targets",)),
        (("typer", "rich"), ("match_aie.cli",)),
        (("match_aie.cli",), ("match_aie.cli", "match_aie.__main__")),
        (("sklearn", "pytest", "hypothesis", "torch"), ()),
    ],
    ids=lambda value: value[0] if value else "nobody",
)
def test_only_these_rooms_import(packages: tuple[str, ...], rooms: tuple[str, ...]) -> None:
    assert outside(importers(*packages), *rooms) == set()


def test_at_most_one_module_imports_zigzag() -> None:
    assert len(importers("zigzag")) <= 1


def test_targets_and_cost_models_see_declarations_only() -> None:
    declared = (
        "match_aie.hardware",
        "match_aie.workload",
        "match_aie.errors",
        "match_aie.simulation",
        "match_aie.targets",
        "match_aie.cost_models",
    )
    seen = {
        (name, target)
        for name, targets in imports().items()
        if within(name, "match_aie.targets", "match_aie.cost_models")
        for target in targets
        if within(target, "match_aie") and not within(target, *declared)
    }
    assert seen == set()


def test_built_in_targets_use_the_public_surface_only() -> None:
    """What they import another author may: the doors of these packages, nothing behind them."""
    rooms = "errors hardware simulation workload workload.bfloat16 workload.recurrent_bfloat16"
    rooms += " workload.functions_bfloat16 workload.rows_bfloat16 workload.recurrent_single"
    rooms += " workload.attention_bfloat16 workload.attention_running workload.block_float"
    rooms += " workload.recurrent_int8 workload.recurrent_single_lines"
    doors = {f"match_aie.{room}" for room in rooms.split()}
    behind = {
        (name, node.module)
        for name, tree in modules().items()
        if within(name, "match_aie.targets", "match_aie.cost_models")
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.module and within(node.module, *doors)
        if node.module not in doors
    }
    assert behind == set()


def test_simulators_and_cost_models_share_nothing() -> None:
    """Comparing the two earns trust only while neither knows the other's numbers."""
    simulators = {
        name
        for name in modules()
        if within(name, "match_aie.simulation") or ".simulate." in f"{name}."
    }
    assert simulators
    assert simulators.isdisjoint(importers("match_aie.cost_models"))
    assert not any(
        within(name, "match_aie.cost_models")
        for name in importers("match_aie.simulation")
        | {name for name, targets in imports().items() if any(".simulate" in i for i in targets)}
    )


def test_stages_import_only_what_comes_before_them() -> None:
    """No stage knows who reads its result: imports follow the data."""
    forbidden = {
        "match_aie.errors": ("match_aie",),
        "match_aie.workload": ("match_aie.hardware", "match_aie.lowering", "match_aie.codegen"),
        "match_aie.simulation": (
            "match_aie.frontend",
            "match_aie.mapping",
            "match_aie.partition",
            "match_aie.codegen",
            "match_aie.toolchain",
            "match_aie.report",
        ),
        "match_aie.hardware": ("match_aie.frontend", "match_aie.lowering", "match_aie.partition"),
        "match_aie.mapping": ("match_aie.lowering", "match_aie.codegen", "match_aie.partition"),
        "match_aie.partition": ("match_aie.lowering", "match_aie.codegen", "match_aie.mapping"),
        "match_aie.lowering": ("match_aie.codegen", "match_aie.toolchain", "match_aie.partition"),
        "match_aie.codegen": ("match_aie.toolchain", "match_aie.partition", "match_aie.frontend"),
        "match_aie.report": (
            "match_aie.frontend",
            "match_aie.partition",
            "match_aie.fallback",
            "match_aie.toolchain",
        ),
        "match_aie.toolchain": ("match_aie.partition", "match_aie.frontend", "match_aie.report"),
    }
    for room, later in forbidden.items():
        for name, targets in imports().items():
            if within(name, room) and not name.startswith("match_aie.errors."):
                wrong = [target for target in targets if within(target, *later)]
                assert not wrong, f"{name} imports {wrong}"


def test_the_library_does_not_print() -> None:
    """Only the command line writes to the terminal, in two places."""
    printing = {
        name
        for name, tree in modules().items()
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id in ("print", "breakpoint", "input")
    }
    writing = {
        name
        for name, tree in modules().items()
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and node.attr in ("stdout", "stderr")
        if isinstance(node.value, ast.Name) and node.value.id == "sys"
    }
    assert outside(printing | writing, "match_aie.cli") == set()


def test_modules_and_functions_fit() -> None:
    """House limits: 400 lines a module, 60 a function."""
    long = [
        (name, node.name, node.end_lineno - node.lineno + 1)
        for name, tree in modules().items()
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef)
        and node.end_lineno is not None
        and node.end_lineno - node.lineno >= 60
    ]
    large = {
        path.relative_to(ROOT).as_posix(): lines
        for folder in ROOMS.values()
        for path in folder.rglob("*.py")
        if (lines := len(path.read_text().splitlines())) > 400
    }
    assert (long, large) == ([], {})


def test_no_global_statement() -> None:
    statements = {
        name
        for name, tree in modules().items()
        for node in ast.walk(tree)
        if isinstance(node, ast.Global)
    }
    assert statements == set()
