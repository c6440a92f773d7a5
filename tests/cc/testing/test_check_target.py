"""What `check_target` says of good targets, and of targets that are broken on purpose."""

import json
import math
import re
import shutil

import pytest
from broken_targets import Array, Chip, Simulated, costs

from match_aie import templates
from match_aie.cli.guard import run
from match_aie.errors import Infeasible, MismatchError, TargetError, ToolchainError
from match_aie.hardware import (
    Cost,
    MatchTarget,
    Memory,
    Op,
    Pattern,
    load_target,
    target_names,
)
from match_aie.targets.cpu import CPU, CPUModule
from match_aie.targets.diana import Diana
from match_aie.testing import ZOO, CheckRow, Ran, Refusal, TargetCheck, check, check_target
from match_aie.testing.check import only

pytestmark = pytest.mark.skipif(
    not any(map(shutil.which, ("cc", "gcc", "clang"))), reason="no C compiler"
)
BY_NAME = {case.name: case for case in ZOO}
DENSE = [BY_NAME["dense int8"]]
FEW = [
    BY_NAME[name]
    for name in (
        "conv 3x3 int8, odd sizes, stride 2",
        "depthwise 3x3 uint8, odd sizes, stride 2",
        "dense int8, scales powers of two",
        "add uint8, odd sizes",
        "max pool 3x3 uint8, odd sizes, padding",
        "softmax int8",
        "dense float",
    )
]


def template(tmp_path, monkeypatch, text):
    """An attribute `template` that names a file with `text`, in a package of its own."""
    package = tmp_path / f"chip_{tmp_path.name}"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "dense.c.mako").write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    return lambda self, workload: f"{package.name}:dense.c.mako"


def changed(old, new):
    """The portable template of dense layers with `old` replaced."""
    text = templates.source("cpu/dense.c.mako")
    assert old in text
    return text.replace(old, new)


def only_sentence(check):
    assert not check.passed
    (sentence,) = check.sentences()
    assert sentence in str(check)
    with pytest.raises(MismatchError, match="does not pass"):
        check.require()
    return sentence


def test_every_case_has_a_name_of_its_own():
    assert len(BY_NAME) == len(ZOO) > 30
    assert not any("/" in name for name in BY_NAME)


def test_a_good_target_passes():
    check = check_target(CPU("portable"), cases=FEW)
    assert check.sentences() == ()
    assert check.passed
    rows, alone = check.rows[: len(FEW)], check.rows[len(FEW) :]
    assert [row.case for row in rows] == [case.name for case in FEW]
    assert all(row.max_lsb <= 1 for row in rows[:-1])
    assert rows[-1].max_abs < 1e-4
    # Patterns that a longer one was preferred to are tried without it.
    assert {row.case for row in alone} <= {f"cpu alone: {case.name}" for case in FEW}
    preferred, others = ({r.pattern for row in part for r in row.ran} for part in (rows, alone))
    assert others
    assert not others & preferred
    check.require()


def test_refusals_and_simulated_cycles_are_told():
    check = check_target(Diana(), cases=FEW[:1] + FEW[2:3])
    assert check.passed
    conv, power, *_ = check.rows
    assert [ran.module for ran in conv.ran] == ["cpu"]
    assert any("not one power of two" in refusal.reason for refusal in conv.refused)
    assert [ran.module for ran in power.ran] == ["digital"]
    assert power.ran[0].simulated > 0
    assert "refused   digital: conv 3x3 int8, odd sizes, stride 2" in str(check)
    document = json.loads(json.dumps(check.to_json()))
    assert document["passed"] is True
    assert document["rows"][0]["ran"][0]["predicted"] > 0


#: No layer of the zoo is worth a dispatch on XDNA, and few fit its 16 tiles together: its array has
#: dozens of networks of its own to build, minutes of a C++ compiler.
WHOLE = [name for name in target_names() if name != "XDNA"]


@pytest.mark.slow
@pytest.mark.parametrize("name", [*WHOLE, "portable"])
def test_a_shipped_target_passes_the_whole_zoo(name):
    target = CPU(name) if name == "portable" else load_target(name)
    check = check_target(target)
    assert check.sentences() == ()
    modules = {ran.module for row in check.rows for ran in row.ran}
    assert modules == {module.name for module in target.modules()}
    assert len({row.case for row in check.rows}) >= len(ZOO)


def test_a_template_that_computes_something_else(tmp_path, monkeypatch):
    wrong = template(tmp_path, monkeypatch, changed("acc = bias[k]", "acc = bias[k] + 999"))
    sentence = only_sentence(check_target(Chip.changed(template=wrong), cases=DENSE))
    assert "differs from its numpy reference in" in sentence
    assert sentence.startswith("dense int8: ")


def test_one_wrong_layer_does_not_hide_the_right_ones(tmp_path, monkeypatch):
    """A template that is no C for one size only: the others are still tried."""
    text = changed("acc = bias[k];", "acc = bias[k]${'' if d.K == 10 else ' +'};")
    wrong = template(tmp_path, monkeypatch, text)
    cases = [case for case in ZOO if case.name.startswith("dense int8")]
    check = check_target(Chip.changed(template=wrong), cases=cases)
    assert [bool(row.problem) for row in check.rows] == [False, True, True]
    assert all("does not build and run" in row.problem for row in check.rows[1:])
    assert check.rows[0].ran


def test_a_template_that_writes_beyond_its_output(tmp_path, monkeypatch):
    wrong = template(tmp_path, monkeypatch, changed("k < ${d.K}", "k < 100000 + ${d.K}"))
    sentence = only_sentence(check_target(Chip.changed(template=wrong), cases=DENSE))
    assert "overflow" in sentence


def test_a_template_that_writes_one_byte_beyond_its_output(tmp_path, monkeypatch):
    text = changed("(int32_t k = 0; k < ${d.K}", "(int32_t k = 0; k <= ${d.K}")
    wrong = template(tmp_path, monkeypatch, text)
    sentence = only_sentence(check_target(Chip.changed(template=wrong), cases=DENSE))
    assert "overflow" in sentence


@pytest.mark.parametrize(
    ("text", "said"),
    [("${layer.nothing}", "no attribute 'nothing'"), ("${1 // 0}", "ZeroDivisionError")],
)
def test_a_template_that_fails(tmp_path, monkeypatch, text, said):
    wrong = template(tmp_path, monkeypatch, text)
    sentence = only_sentence(check_target(Chip.changed(template=wrong), cases=DENSE))
    assert "it does not compile: layer template" in sentence
    assert said in sentence


def test_a_template_that_is_not_there():
    missing = Chip.changed(template=lambda self, workload: "nowhere/dense.c.mako")
    sentence = only_sentence(check_target(missing, cases=DENSE))
    assert "there is no layer template 'nowhere/dense.c.mako'" in sentence


def test_a_memory_in_which_nothing_fits():
    small = Chip.changed(memories=(Memory("scratchpad", bytes=64, bytes_per_cycle=8.0),))
    check = check_target(small, cases=DENSE)
    sentence = only_sentence(check)
    assert "runs no layer of the zoo" in sentence
    assert "scratchpad does not fit" in sentence
    assert check.rows[0].fallback


@pytest.mark.parametrize(
    ("price", "said"),
    [
        (lambda workload: Cost(-5.0), "gives -5.0 cycles"),
        (lambda workload: Cost(math.nan), "nan"),
        (lambda workload: Cost(0.0), "says 0 cycles"),
        (lambda workload: Cost(10.0, (("compute", 3.0),)), "do not add up"),
        (
            lambda workload: Cost(workload.macs / 0),
            r"ZeroDivisionError.*\(test_check_target\.py, line",
        ),
        (lambda workload: workload.macs, "gives 640, not a Cost"),
    ],
)
def test_a_cost_that_cannot_be(price, said):
    sentence = only_sentence(check_target(Chip.changed(cost_model=costs(price)), cases=DENSE))
    assert re.search(said, sentence), sentence


def test_a_cost_that_the_simulator_does_not_believe():
    assert check_target(Simulated(), cases=DENSE).passed
    far = Simulated()
    far.factor = 2.1
    said = only_sentence(check_target(far, cases=DENSE))
    assert "more than a factor of 2 apart" in said
    assert "mend it, or what simulator() takes" in said


def test_cycles_of_two_clocks_are_not_compared():
    """A run's cycles are the target's, a cost those of its module."""
    made = Simulated.changed(frequency=2.5e7)
    made.frequency = 1e8
    (row,) = (found := check_target(made, cases=DENSE)).rows
    assert found.passed
    assert row.ran[0].simulated == pytest.approx(1.5 * row.ran[0].predicted)


def fails(self, *arguments):
    raise RuntimeError("out of luck")


def bad_check(workload):
    raise RuntimeError("out of luck")


@pytest.mark.parametrize(
    "changes",
    [
        {"patterns": fails},
        {"spatial": fails},
        {"template": fails},
        {"pack": fails},
        {
            "patterns": lambda self: [
                Pattern("p", "dense", Array().patterns()[1].structure, bad_check)
            ]
        },
    ],
    ids=["patterns", "spatial", "template", "pack", "check"],
)
def test_what_the_targets_code_raises_is_told_with_its_place(changes):
    sentence = only_sentence(check_target(Chip.changed(**changes), cases=DENSE))
    assert "RuntimeError: out of luck (test_check_target.py, line" in sentence


def twice(self):
    return [*Array.patterns(self), Pattern("dense", "dense", Op("quantize", Op("matmul")))]


class Forgetful(Chip):
    def options(self):
        return {"clock": 1}


class Secretive(Chip):
    def __init__(self, model=None):
        super().__init__()

    def options(self):
        return {"model": Array()}


class Sized(Chip):
    """Does not say how it was made."""

    def __init__(self, kilobytes=32):
        super().__init__()
        self.array.memories = (Memory("scratchpad", kilobytes * 1024, 1.0),)


class Empty(Chip):
    def modules(self):
        return []


class Double(Chip):
    def modules(self):
        return [self.array, self.array]


@pytest.mark.parametrize(
    ("target", "said"),
    [
        (Chip.changed(patterns=twice), "two patterns 'dense'"),
        (Chip.changed(patterns=lambda self: []), "has no patterns"),
        (Chip.changed(memories=()), "has no memories"),
        (Chip.changed(name=""), "has no name"),
        (Empty(), "would run on the core"),
        (Double(), "two modules are called 'array'"),
        (Forgetful(), "options() does not give what the constructor takes"),
        (Secretive(), "options() is not plain data"),
        (Sized(64), "module 'array' has other memories"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_declarations_that_make_no_sense(target, said):
    check = check_target(target, cases=DENSE)
    assert not check.passed
    assert any(said in sentence for sentence in check.sentences())
    assert check.rows == ()


def test_of_modules_that_an_author_did_not_write_little_is_said():
    class Own(CPUModule):
        """A class of the author's: all is said."""

    class Beside(MatchTarget):
        name = "beside"
        kind = CPUModule

        def modules(self):
            return [Array(), self.kind()]

    class Both(Beside):
        kind = Own

    first = CheckRow(
        "a", refused=(Refusal("a", "cpu", "add", "no"), Refusal("a", "array", "x", "1"))
    )
    ran = (Ran("b", "array", "dense", 8.0, 8.0), Ran("b", "cpu", "softmax", 4.0))
    rows = (first, CheckRow("b", ran=ran))
    assert (check._brought(CPU("portable")), check._brought(Both())) == ((), ())
    brought = check._brought(Beside())
    assert brought == ("cpu",)
    said = [*check._untried(rows, Beside(), brought)]
    assert len(said[-1]) < 100
    assert re.match(r"cpu is a module of match_aie: \d+ of its \d+ patterns were not", said[-1])
    own = [line for line in check._untried(rows, Both(), ()) if line.startswith("cpu: ")]
    assert len(own) == 2
    assert re.match(r"cpu: no layer of the zoo is \w+, \w+, \w+ and \d+ more; ", own[0])
    assert own[1].startswith("cpu: add: all of the zoo refused (a: no); ")
    text = str(TargetCheck("beside", rows, brought=brought))
    assert "cpu: a: no" not in text
    assert "refused   array: a: 1" in text
    assert "8*" in text
    assert "cpu: a: no" in str(TargetCheck("both", rows))


def test_a_module_that_others_are_preferred_to_is_tried_alone(tmp_path, monkeypatch):
    class Rival(Array):
        name = "rival"

        def cost_model(self, workload):
            return costs(lambda w: Cost(1e9))(self, workload)

    class Two(Chip):
        def modules(self):
            return [self.array, Rival()]

    check = check_target(Two(), cases=DENSE)
    assert check.passed
    assert [row.case for row in check.rows] == ["dense int8", "rival alone: dense int8"]
    assert check.rows[1].ran[0].module == "rival"
    wrong = template(tmp_path, monkeypatch, changed("acc = bias[k]", "acc = 0"))
    monkeypatch.setattr(Rival, "template", wrong)
    assert only_sentence(check_target(Two(), cases=DENSE)).startswith("rival alone: dense int8")


class Resident(Array):
    """Keeps its layers, and another is preferred to it."""

    name = "resident"

    def cost_model(self, workload):
        return costs(lambda w: Cost(1e9))(self, workload)


class Crowded(Chip):
    """Has one place for layers of a module that none prefers."""

    def modules(self):
        return [self.array, Resident()]

    def companions(self, network, layers):
        kept = [layer for layer in layers if layer.module == "resident"]
        return () if len(kept) < 2 else Infeasible("places of resident", len(kept), 1, "in all")


MORE = [*DENSE, BY_NAME["dense int8, scales powers of two"]]


def test_layers_that_do_not_fit_together_are_tried_one_by_one():
    """Nothing is wrong with a module that holds fewer layers than the zoo has."""
    found = check_target(Crowded(), cases=MORE)
    assert found.passed
    names = [case.name for case in MORE]
    assert [row.case for row in found.rows] == [*names, *(f"resident alone: {n}" for n in names)]
    assert {ran.module for row in found.rows[2:] for ran in row.ran} == {"resident"}


def test_what_there_was_no_time_for_is_counted(monkeypatch):
    """The first network is always tried; here it holds too much, and then the time is over."""
    ticks = iter([0.0, 0.0, 2.0, 2.0])
    monkeypatch.setattr(check, "monotonic", lambda: next(ticks))
    found = check_target(Crowded(), cases=MORE, budget=1.0)
    assert found.passed
    assert [row.case for row in found.rows] == [case.name for case in MORE]
    (said,) = (text for text in found.remarks if text.startswith("resident alone"))
    assert "before 2 of 2 layers (dense int8, dense int8, scales powers of two)" in said


def test_a_frozen_target_with_one_module_only():
    from dataclasses import dataclass

    @dataclass(frozen=True)
    class Frozen(MatchTarget):
        clock: int = 7
        name = "frozen"

        def modules(self):
            return [Array(), CPUModule()]

    target = Frozen(8)
    one = only(target, Array())
    assert [module.name for module in one.modules()] == ["array"]
    assert (one.clock, one.name, type(one).__name__) == (8, "frozen", "Frozen")
    assert [module.name for module in target.modules()] == ["array", "cpu"]


def test_no_target_and_no_compiler_are_errors():
    with pytest.raises(TargetError, match="no target called"):
        check_target("no such chip")
    with pytest.raises(ToolchainError, match="no C compiler"):
        check_target(Chip(), cases=DENSE, compiler="no-such-cc")


def test_the_command_line(monkeypatch, capsys):
    """Text, JSON and exit codes; the whole zoo is for slow tests."""
    from match_aie import testing
    from match_aie.cli import checking

    known = {"good": Chip(), "bad": Chip.changed(template=lambda self, workload: "nowhere.mako")}
    monkeypatch.setattr(checking, "load_target", known.__getitem__)
    monkeypatch.setattr(
        testing,
        "check_target",
        lambda target, **more: check_target(target, **{**more, "cases": DENSE}),
    )
    assert run(["check-target", "good"]) == 0
    assert "chip: 1 layer right" in capsys.readouterr().out
    assert run(["check-target", "bad", "--json"]) == 4
    said = capsys.readouterr()
    assert json.loads(said.out)["passed"] is False
    assert "there is no layer template" in said.err
    assert run(["check-target", "good", "--compiler", "no-such-cc"]) == 3


def test_the_command_line_refuses_unknown_names(capsys):
    assert run(["check-target", "cpuu"]) == 1
    assert "did you mean CPU" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("statement", "said"),
    [
        ("for (;;) { pause(); }", "did not end within 8 s"),
        ("volatile int *volatile p = 0; *p = 1;", "null pointer|SIGSEGV|SEGV"),
        pytest.param("abort();", "SIGABRT|status -6", marks=pytest.mark.slow),
        pytest.param("exit(0);", "ended the process with status 0", marks=pytest.mark.slow),
    ],
    ids=["endless", "segfault", "abort", "exit"],
)
def test_a_kernel_that_does_not_come_back(tmp_path, monkeypatch, statement, said):
    text = templates.source("cpu/dense.c.mako")
    at = text.index("{\n", text.index("static void ${layer.symbol}"))
    broken = f"int pause(void);\n#include <stdlib.h>\n{text[:at]}{{ {statement}\n{text[at + 2 :]}"
    chip = Chip.changed(template=template(tmp_path, monkeypatch, broken))
    found = check_target(chip, cases=[BY_NAME["add uint8, odd sizes"], *DENSE], timeout=8)
    assert not found.passed
    (wrong,) = [row for row in found.rows if row.problem]
    assert wrong.case == "dense int8"
    assert re.search(said, wrong.problem)
    assert "dense int8" in wrong.problem
    assert [row.case for row in found.rows] == ["dense int8", "add uint8, odd sizes"]
