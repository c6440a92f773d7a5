"""What the documentation shows is there and works."""

import re
from pathlib import Path

import pytest

import match_aie
from match_aie import hardware, simulation
from match_aie.cli.guard import run
from match_aie.compilation import Compilation
from match_aie.hardware import ExecModule, MatchTarget

ROOT = Path(__file__).resolve().parents[2]
VERBS = (
    "compile",
    "run",
    "explain",
    "report",
    "map",
    "simulate",
    "compare-cycles",
    "targets",
    "check-target",
    "new-target",
    "doctor",
    "demo",
)
PAGES = sorted([ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").glob("*.md")])

#: Test files that execute the Python of a page.
EXECUTED = {
    "README.md": "tests/cc/cli/test_readme.py",
    "sizes.md": "tests/cc/project/test_sized.py",
    "targets.md": "tests/unit/test_docs.py",
    "tutorial.md": "tests/unit/test_docs.py",
    **dict.fromkeys(
        ("byoc.md", "cli.md", "cpu.md", "first.md", "gap9.md", "relay.md", "versal.md", "xdna.md"),
        "tests/slow/test_doc_examples.py",
    ),
}
#: Pages whose commands are run, too; of all others they are held against the command line's help.
COMMANDS = {"README.md", "first.md"}


def blocks(page: Path, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", page.read_text(), re.MULTILINE | re.DOTALL)


def headings(page: Path) -> set[str]:
    """Of a page, as links name them."""
    lines = page.read_text().splitlines()
    return {
        re.sub(r"[^a-z0-9 _-]", "", line.lstrip("# ").lower()).replace(" ", "-")
        for line in lines
        if line.startswith("#")
    }


def test_the_code_of_every_page_is_executed() -> None:
    shown = {page.name for page in PAGES if blocks(page, "python")}
    assert shown == set(EXECUTED)
    for name, file in EXECUTED.items():
        assert f'"{name}"' in (ROOT / file).read_text(), f"{name}: {file}"
    slow = (ROOT / "tests" / "slow" / "test_doc_examples.py").read_text()
    assert all(f'commands("{name}")' in slow for name in COMMANDS)
    # Other languages are no code, or commands: what they call is looked up below.
    known = {"python", "py", "sh", "c", "cmake", "toml", ""}
    # CMake's are built by `tests/cc/project/test_cmake.py`.
    assert [page.name for page in PAGES if blocks(page, "cmake")] == ["first.md"]
    for page in PAGES:
        assert set(re.findall(r"^```(\w*)\n.*?^```", page.read_text(), re.M | re.S)) <= known


def test_every_make_target_that_is_named_exists() -> None:
    emitted = ("templates/common/Makefile.mako", "targets/gap9/runtime/pmsis/gap9.mk")
    made = {
        goal
        for file in ("Makefile", *emitted)
        for goal in re.findall(r"^([a-z0-9-]+):", (ROOT / file).read_text(), re.M)
    }
    for page in PAGES:
        named = re.findall(r"(?:`|^)make ([a-z0-9-]+)", page.read_text(), re.M)
        assert set(named) <= made, page.name


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    for link in re.findall(r"\]\(([^)]+)\)", page.read_text()):
        if "://" in link:
            continue
        path, _, heading = link.partition("#")
        led = page.parent / path if path else page
        assert led.exists(), link
        assert not heading or heading in headings(led), link


def test_every_documented_verb_and_option_exists(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "200")  # a narrow terminal cuts long options
    assert run([]) == 0
    listed = capsys.readouterr().out
    helps = {}
    for verb in VERBS:
        assert run([verb, "--help"]) == 0
        helps[verb] = capsys.readouterr().out
    everything = " ".join([listed, *helps.values()])
    named = set()
    for page in PAGES:
        for line in re.findall(r"match-aie ([a-z].*)", page.read_text()):
            verb = line.split()[0].strip("`;,.")
            assert verb in helps, f"{page.name}: match-aie {line}"
        named |= set(re.findall(r"`(--[a-z-]+)", page.read_text()))
    missing = {option for option in named if option not in everything}
    assert missing == set()


def test_the_example_target_works() -> None:
    (example,) = blocks(ROOT / "docs" / "targets.md", "python")
    shown: list[str] = []
    space: dict[str, object] = {"print": shown.append}
    exec(compile(example, "docs/targets.md", "exec"), space)
    net = space["net"]
    assert isinstance(net, Compilation)
    who = {layer.module: layer.pattern for layer in net.program.schedule.layers}
    assert who["mac_array"] == "dense_bias"
    assert "cpu" in who
    assert shown == [net.summary()]


def test_the_tutorial_builds_the_example(monkeypatch: pytest.MonkeyPatch) -> None:
    package = ROOT / "examples" / "systolic"
    monkeypatch.syspath_prepend(str(package))
    page = ROOT / "docs" / "tutorial.md"
    shown: list[object] = []
    space: dict[str, object] = {"print": lambda *words: shown.append(words)}
    for number, block in enumerate(blocks(page, "python")):
        exec(compile(block, f"tutorial.md, block {number}", "exec"), space)
    assert len(shown) == 5
    source = (package / "systolic" / "target.py").read_text()
    pieces = re.split(r"\n\n\n(?=\S)", source.split("\n\n", 1)[1].strip())
    assert len(pieces) == 6
    for piece in (part for one in pieces for part in one.split("\n#: Bytes a cycle")):
        assert piece.strip() in page.read_text(), piece
    template = (package / "systolic" / "templates" / "array.c.mako").read_text().strip()
    assert template in page.read_text()


def test_the_public_surface_of_a_target_is_on_one_screen() -> None:
    text = (ROOT / "docs" / "targets.md").read_text()
    _, _, after = text.partition("## All of it on one screen\n")
    screen = after.partition("\n## ")[0]
    assert 10 < len(screen.splitlines()) <= 50
    shown = set(re.findall(r"`([a-z_]+)`", screen))
    kinds = (ExecModule, MatchTarget, *hardware.MODULE_FACETS, *hardware.TARGET_FACETS)
    assert {name for kind in kinds for name in hardware.members(kind)} - shown == set()
    assert {kind.__name__ for kind in kinds} <= set(re.findall(r"`([A-Z]\w+)`", screen))
    named = set(re.findall(r"`([A-Z]\w+)`", screen))
    assert {name for name in named if hasattr(hardware, name) or hasattr(simulation, name)} == named


def test_the_example_commands_use_known_targets() -> None:
    for page in PAGES:
        for name in re.findall(r"match-aie compile .*-t (\w+)", page.read_text()):
            assert match_aie.pipeline.resolve(name).name == name
