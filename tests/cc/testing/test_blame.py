"""C that no compiler takes, and C that is missing: whose it is, and what to do."""

import shutil

import pytest
from broken_targets import Array, Chip

from match_aie import templates
from match_aie.hardware import SCRATCHPAD_FILES, Memory, Runtime, runtime_files
from match_aie.testing import ZOO, check_target
from tests.cc.testing.test_mistakes import Tiles

pytestmark = pytest.mark.skipif(
    not any(map(shutil.which, ("cc", "gcc", "clang"))), reason="no C compiler"
)
DENSE = [case for case in ZOO if case.name == "dense int8"]
CHIP_H = (
    "#define MA_L1_BYTES 32768\n#define MA_CORES 1\n"
    "#define MA_DMA_TRANSFERS 16\n#define MA_DMA_ALIGNMENT 1\n"
)
SHARED = runtime_files("match_aie.targets.common", SCRATCHPAD_FILES)


class Moving(Array):
    """The array behind an inner memory, with the scaffold's C."""

    memories = (Memory("L1", 32768, 8.0, alignment=16), Memory("L2", None, 8.0))

    def cost_model(self, workload):
        return Tiles()


def chip(where, monkeypatch, text, files=None, **how):
    """A chip whose layers come from a template with `text`; `files` beside what all have."""
    package = where / f"chip_{where.name}"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "layer.c.mako").write_text(text)
    monkeypatch.syspath_prepend(where)
    made = {**SHARED, "emulation/ma_chip.h": CHIP_H.encode(), **(files or {})}
    runtime = Runtime({k: v for k, v in made.items() if v}, ("ma_walk.h",), **how)
    name = f"{package.name}:layer.c.mako"
    array = type("Moving", (Moving,), {"template": lambda self, workload: name})
    return type("Chip", (Chip,), {"array_class": array, "runtime": lambda self: runtime})()


#: Of the scaffold's template: what is replaced, by what, and what is said of which line.
TEMPLATES = {
    "a name that is none": (
        '"bias[k]" if',
        '"bais[k]" if',
        "layer.c.mako, line {line}",
        "or make the pattern refuse this layer",
    ),
    "a line that is half an expression": (
        'acc += ${x.centred("x[b',
        'acc += * ${x.centred("x[b',
        "layer.c.mako, line {line}",
        "or make the pattern refuse this layer",
    ),
    "a function that nobody defines": (
        "ma_tile_arrive(t);",
        "extern void unwritten(void); unwritten();",
        "undefined symbol: unwritten",
        "bring a C file below emulation/ that defines unwritten()",
    ),
}


@pytest.mark.parametrize("mistake", TEMPLATES)
def test_c_of_a_template_is_its_authors(mistake, tmp_path, monkeypatch):
    old, new, where, hint = TEMPLATES[mistake]
    text = templates.source("scaffold/tiled/layer.c.mako")
    assert text.count(old) == 1
    where = where.format(line=text[: text.index(old)].count("\n") + 1)
    broken = chip(tmp_path, monkeypatch, text.replace(old, new), entry="ma_network")
    (sentence,) = check_target(broken, cases=DENSE).sentences()
    assert where in sentence
    assert hint in sentence
    assert "defect" not in sentence


#: Of the runtime: files in the place of others, how it is called, and what is said.
RUNTIMES = {
    "no entry": ({}, {}, "Chip.runtime() gives the emulation of scratchpads and no entry"),
    "no ma_chip.h": (
        {"emulation/ma_chip.h": b""},
        {"entry": "ma_network"},
        "gives no emulation/ma_chip.h, which says how large the inner memories are",
    ),
    "a macro that is missing": (
        {"emulation/ma_chip.h": CHIP_H.replace("MA_CORES", "MA_COERS").encode()},
        {"entry": "ma_network"},
        "emulation/ma_chip.h has to define MA_CORES: cores that run a kernel together",
    ),
    "C in the chip's own header": (
        {"emulation/ma_chip.h": CHIP_H.encode() + b"static int oops(;\n"},
        {"entry": "ma_network"},
        "mend line 5 of that file",
    ),
}


@pytest.mark.parametrize("mistake", RUNTIMES)
def test_c_of_a_runtime_is_its_authors(mistake, tmp_path, monkeypatch):
    files, how, said = RUNTIMES[mistake]
    text = templates.source("scaffold/tiled/layer.c.mako")
    broken = chip(tmp_path, monkeypatch, text, files, **how)
    (sentence,) = check_target(broken, cases=DENSE).sentences()
    assert said in sentence


def test_the_same_without_a_mistake_is_right(tmp_path, monkeypatch):
    text = templates.source("scaffold/tiled/layer.c.mako")
    check = check_target(chip(tmp_path, monkeypatch, text, entry="ma_network"), cases=DENSE)
    assert check.sentences() == ()
