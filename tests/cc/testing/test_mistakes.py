"""A table of what authors of targets get wrong: each has a sentence that says who and what."""

import math
import shutil

import numpy as np
import pytest
from broken_targets import Chip, costs

from match_aie.codegen.flags import checked as checked_flags
from match_aie.errors import TargetError
from match_aie.hardware import (
    Any,
    Blocked,
    Const,
    Cost,
    Loop,
    Memory,
    Op,
    Pattern,
    Runtime,
    load_target,
    target_names,
)
from match_aie.simulation import Jobs, TransferTime
from match_aie.targets.cpu import CPU
from match_aie.testing import ZOO, check_target, declared

pytestmark = pytest.mark.skipif(
    not any(map(shutil.which, ("cc", "gcc", "clang"))), reason="no C compiler"
)
DENSE = [case for case in ZOO if case.name == "dense int8"]


def real(operand):
    return Op("dequantize", operand)


PRODUCT = Op("matmul", real(Any("x")), real(Const("weight")))
BIASED = Op("quantize", Op("add", PRODUCT, real(Const("bias"))))


def pattern(structure=BIASED, kind="dense", check=None, name="p"):
    """An attribute `patterns` of one pattern."""
    made = Pattern(name, kind, structure, check or (lambda workload: None))
    return {"patterns": lambda self: [made]}


def checked(answer):
    return pattern(check=lambda workload: answer)


def gives(method, answer):
    """A method that gives `answer` whatever it is asked."""
    return {method: lambda self, *arguments: answer}


def packs(change):
    return {"pack": lambda self, workload, constants: change(dict(constants))}


class Tiles:
    """A cost model of tiles, one of whose prices is another."""

    def __init__(self, **prices):
        self.prices = {"kernel_cycles": 10.0, "transfer_cycles": 1.0, **prices}

    def kernel_cycles(self, workload, tile):
        return self.prices["kernel_cycles"] + 0 * next(iter(tile.values()))

    def transfer_cycles(self, workload, block, outer, inner, direction):
        return self.prices["transfer_cycles"] + 0 * block.nbytes

    def combine(self, compute, moves, exposed):
        return sum(moves, compute)

    def kernel_energy(self, workload, tile):
        return 0 * next(iter(tile.values()))

    def transfer_energy(self, workload, block, outer, inner, direction):
        return 0 * block.nbytes


def tiled(model=None, **changes):
    """The array with an inner memory."""
    memories = (
        Memory("L1", 32 * 1024, 8.0, alignment=16),
        Memory("L2", None, 8.0),
    )
    return {"memories": memories, "cost_model": lambda self, w: model or Tiles(), **changes}


class Hiding(Tiles):
    """Kernels and transfers at the same time."""

    def combine(self, compute, moves, exposed):
        return np.maximum(compute, sum(moves))


class Other(Tiles):
    """Cycles of three tiles, however many are asked for."""

    def kernel_cycles(self, workload, tile):
        return np.ones(3)


def one_memory(nbytes=32768, **more):
    """The array with an inner memory like this one."""
    return tiled() | {"memories": (Memory("L1", nbytes, 8.0, alignment=16, **more), OUTER)}


OUTER = Memory("L2", None, 8.0)


def small(**changes):
    """The same, so small that sums over 64 inputs are done in parts."""
    memories = (Memory("L1", 112, 8.0, alignment=16), Memory("L2", None, 8.0))
    return tiled(**changes) | {"memories": memories}


def with_memory(**more):
    return {"memories": (Memory("L1", 4096, 8.0, **more), Memory("L2", None, 8.0))}


def scratch(nbytes):
    return tiled(reserved_bytes=lambda self, workload, memory, tile: nbytes)


#: Memories that no module can have: its class cannot be made.
MEMORIES = {
    "a memory for no operand": ({"operands": ("x", "wieght")}, "did you mean 'weight'"),
    "a double buffer for none": ({"double_buffered": ("z",)}, "double_buffered names 'z'"),
    "operands as a text": ({"operands": "weight"}, "operands is the text 'weight', not a tuple"),
    "a double buffer as a text": ({"double_buffered": "x"}, "double_buffered is the text 'x'"),
}

#: Mistakes in what is declared: nothing is compiled.
DECLARED = {
    "pareto of no memory": ({"pareto": "L9"}, "pareto names 'L9'"),
    "pareto of the outermost": (
        {**with_memory(), "pareto": "L2"},
        "which is no inner memory; there is L1",
    ),
    "an unknown kind": (pattern(kind="dence"), "kind 'dence' is none; did you mean 'dense'"),
    "an unknown operator": (
        pattern(Op("quantize", Op("matmull", real(Any("x")), real(Const("weight"))))),
        "no network has an operator 'matmull'; did you mean 'matmul'",
    ),
    "a kind without its operator": (
        pattern(BIASED, kind="conv2d"),
        "a conv2d without nn.conv2d is never found",
    ),
    "an operand misspelt": (
        pattern(Op("matmul", Any("x"), Const("wieght"))),
        "no layer has an operand 'wieght'; did you mean 'weight'",
    ),
    "no operand at all": (pattern(Op("quantize", Op("matmul"))), "it names no operand"),
    "two tensors into a relu": (
        pattern(Op("nn.relu", PRODUCT, Any("x1"))),
        "nn.relu reads one tensor",
    ),
    "a check that is no function": (
        {"patterns": lambda self: [Pattern("p", "dense", BIASED, "no")]},
        "its check is 'no'",
    ),
    "an unknown arithmetic": ({"arithmetic": "modul"}, "not 'model' or 'module'"),
    "a frequency alone": ({"frequency": 1e8}, "the target needs one to compare with"),
    "company that is True": (
        {"beside": True},
        "Chip.modules() gives module 'array', whose beside is True, not a Company: "
        "write beside = Company()",
    ),
    "patterns that are none": (gives("patterns", None), "Array.patterns() gives None, not a list"),
    "a pattern that is a structure": (
        gives("patterns", [BIASED]),
        "not a list of Pattern",
    ),
}

#: Mistakes that show when a layer is compiled.
COMPILED = {
    "a check that gives False": (checked(False), "the check of pattern 'p' of module 'array'"),
    "a check that gives True": (checked(True), "a check gives None where the module runs"),
    "a check that gives an empty text": (checked(""), "the check of pattern 'p'"),
    "a check that raises": (
        pattern(check=lambda workload: 1 // 0),
        "the check of pattern 'p' of module 'array' failed: ZeroDivisionError",
    ),
    "a cost of NaN": ({"cost_model": costs(lambda w: Cost(math.nan))}, "Costs.cost() gives nan"),
    "an infinite cost": ({"cost_model": costs(lambda w: Cost(math.inf))}, "gives inf cycles"),
    "a negative cost": ({"cost_model": costs(lambda w: Cost(-5.0))}, "Costs.cost() gives -5.0"),
    "a cost that is a number": ({"cost_model": costs(lambda w: 7)}, "gives 7, not a Cost"),
    "a cost model that is a class": (
        {"cost_model": lambda self, w: Tiles},
        "test_mistakes.Tiles'>, not an object with cost()",
    ),
    "kernel cycles of other tiles": (
        tiled(Other()),
        "Other.kernel_cycles() gives an array of shape (3,) for ",
    ),
    "no cost model": (gives("cost_model", None), "Array.cost_model() gives None"),
    "a kernel of NaN cycles": (
        tiled(Tiles(kernel_cycles=math.nan)),
        "Tiles.kernel_cycles() gives nan; it must be a finite number",
    ),
    "a kernel of infinite cycles": (tiled(Tiles(kernel_cycles=math.inf)), "kernel_cycles() gives"),
    "a transfer that gains time": (
        tiled(Tiles(transfer_cycles=-1.0)),
        "Tiles.transfer_cycles() gives -1.0",
    ),
    "a loop over no dimension": (
        tiled(spatial=lambda self, w: [Loop("KK", 4)]),
        "Array.spatial() of a dense unrolls KK, which is none of its dimensions",
    ),
    "spatial gives a pair": (gives("spatial", [("K", 4)]), "not a list of Loop"),
    "a template that is none": (gives("template", None), "Array.template() gives None"),
    "a conversion that is none": (gives("convert", None), "Array.convert() gives None"),
    "scratch below 0": (gives("scratch_bytes", -4), "Array.scratch_bytes() gives -4"),
    "half a byte of scratch": (gives("scratch_bytes", 0.5), "gives 0.5, not a number of bytes"),
    "a reserve below 0": (scratch(np.asarray(-64)), "Array.reserved_bytes() gives -64.0"),
    "in place as a text": (gives("in_place", "x"), "gives 'x', not a tuple"),
    "a constant that is missing": (
        packs(lambda found: {k: v for k, v in found.items() if k != "bias"}),
        "Array.pack() of a dense leaves out bias: it gives weight, scale",
    ),
    "a constant of another type": (
        packs(lambda found: {**found, "bias": found["bias"].astype(np.int64)}),
        "Array.pack() of a dense: bias: it is int64 [10], and the layer reads int32 [10]",
    ),
    "constants as lists": (
        packs(lambda found: {**found, "bias": found["bias"].tolist()}),
        "bias: it is no numpy array",
    ),
    "no constants": (packs(lambda found: None), "not arrays by operand name"),
    "packed and not declared": (
        {**tiled(), **packs(lambda f: {**f, "weight": f["weight"].reshape(5, -1)})},
        "layouts() does not say how it lies",
    ),
    "declared and not packed": (
        tiled(layouts=lambda self, w: {"weight": Blocked("K ...", K=16, cell=4096)}),
        "its layout takes 4096 bytes, and int8 [10, 64] is 640",
    ),
    "a layout of another operand": (
        tiled(layouts=lambda self, w: {"bias": Blocked("K C k", K=16)}),
        "Array.layouts() of a dense: bias has no axis C",
    ),
    "tiles that are legal as numbers": (
        tiled(constrain=lambda self, w, tile: 1 + 0 * next(iter(tile.values()))),
        "Array.constrain() gives",
    ),
    "a constraint that fails": (
        tiled(constrain=lambda self, w, tile: tile["OZ"] < 4),
        "Array.constrain() failed: KeyError: 'OZ'",
    ),
    "no tile is legal": (
        tiled(constrain=lambda self, w, tile: next(iter(tile.values())) < 0),
        "tiles that Array.constrain() allows",
    ),
    "sums in parts, and no place for them": (
        small(tiled_reductions=lambda self, w: ("C",)),
        "have tiled_reductions() give none",
    ),
    "a layout of no operand": (
        tiled(layouts=lambda self, w: {"wieght": Blocked("K C k", K=16)}),
        "Array.layouts() of a dense names 'wieght', which is none of its operands; did you mean "
        "'weight'",
    ),
    "an order that the kernel does not read": (
        tiled(layouts=lambda self, w: {"x": Blocked("c C B", C=16)}),
        "differs from its numpy reference",
    ),
    "an activation packed by hand": (
        tiled(layouts=lambda self, w: {"x": Blocked("B ...", B=1, cell=64)}),
        "Array.layouts() of a dense: x is no constant, and its blocks are left to pack()",
    ),
    "an operand that no inner memory holds": (
        one_memory(operands=("x", "y", "weight", "bias")),
        "module array: no inner memory holds scale of a dense; try: name 'scale' among the "
        "`operands` of 'L1'",
    ),
    "transfers that hide behind kernels, and one tile at a time": (
        {**one_memory(nbytes=512), "cost_model": lambda self, w: Hiding()},
        "Hiding.combine() of module array hides transfers behind kernels, and of weight, bias "
        "there is one tile at a time in 'L1'",
    ),
    "an input that is none, in place": (
        gives("in_place", ("z",)),
        "Array.in_place() of a dense names 'z', which is none of its inputs; there is x",
    ),
    "a layout that is a text": (gives("layouts", {"weight": "K C k"}), "not Blocked(...)"),
}


@pytest.mark.parametrize("mistake", MEMORIES)
def test_memories_that_cannot_be_are_named(mistake):
    changes, said = MEMORIES[mistake]
    with pytest.raises(TargetError) as raised:
        Chip.changed(**with_memory(**changes))
    assert "memory 'L1': " in raised.value.what
    assert said in raised.value.what


@pytest.mark.parametrize("mistake", DECLARED)
def test_what_is_declared_wrongly_is_named(mistake):
    changes, said = DECLARED[mistake]
    problems = declared.problems(Chip.changed(**changes))
    assert any(said in problem for problem in problems), problems


@pytest.mark.parametrize("mistake", COMPILED)
def test_what_compiling_shows_is_named(mistake):
    changes, said = COMPILED[mistake]
    check = check_target(Chip.changed(**changes), cases=DENSE)
    (sentence,) = check.sentences()
    assert said in sentence
    assert "InternalError" not in sentence


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("shared_memory", "L3", "shared_memory is 'L3', which is no inner memory of any module"),
        ("activations", "unsinged", "activations is 'unsinged'"),
    ],
)
def test_what_a_target_declares_wrongly_is_named(name, value, said):
    chip = Chip.changed()
    setattr(chip, name, value)
    assert any(said in problem for problem in declared.problems(chip))


def test_a_pattern_begins_with_an_operator():
    with pytest.raises(TargetError, match=r"pattern 'all': its structure is Any\(.*, not an Op"):
        Pattern("all", "conv2d", Any("x"))


@pytest.mark.parametrize("made", [lambda n: Jobs(1.0, n), lambda n: TransferTime(n, 1.0)])
@pytest.mark.parametrize("number", [math.nan, math.inf, -1.0])
def test_cycles_of_a_timing_are_finite(made, number):
    with pytest.raises(TargetError, match="it must be a finite number, not below 0"):
        made(number)


def test_a_header_is_among_the_files():
    target = type("Headed", (CPU,), {"runtime": lambda self: Runtime({}, ("nope.h",))})()
    with pytest.raises(
        TargetError, match=r"names header 'nope\.h', and no include/nope\.h is among"
    ):
        target.runtime()


def test_flags_as_a_text_are_refused():
    with pytest.raises(TargetError, match="build flags are the text '-O2', not a tuple"):
        checked_flags("-O2")


def test_company_that_is_true_stops_a_compilation_by_name():
    with pytest.raises(TargetError, match="whose beside is True, not a Company") as raised:
        Chip.changed(beside=True).modules()
    assert "chip" in raised.value.where


def test_the_table_is_as_long_as_it_says():
    assert len(MEMORIES) + len(DECLARED) + len(COMPILED) + 2 > 56


@pytest.mark.parametrize("name", [*target_names(), "portable", "x86-64-v3"])
def test_shipped_targets_declare_nothing_wrong(name):
    target = load_target(name) if name in target_names() else CPU(name)
    assert declared.problems(target) == []
