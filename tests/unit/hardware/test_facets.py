"""The surface of a target: few members, and what only some chips have in groups beside them."""

import inspect
from dataclasses import dataclass

import pytest

from match_aie.errors import TargetError
from match_aie.hardware import (
    MODULE_FACETS,
    TARGET_FACETS,
    Blocked,
    ExecModule,
    MatchTarget,
    Packed,
    SharedMemory,
    Tiled,
    facet,
    members,
)
from match_aie.targets.cpu import CPUModule
from match_aie.targets.diana import Diana
from match_aie.workload import Quantized, dense

LAYER = dense(Quantized("int8", 0.1), Quantized("int8", 0.1), rows=1, inputs=4, outputs=4)


class Chip(MatchTarget):
    def modules(self):
        return [CPUModule()]


class Module(ExecModule):
    def patterns(self):
        return ()

    def spatial(self, workload):
        return ()

    def cost_model(self, workload):
        raise AssertionError

    def template(self, workload):
        return ""


@pytest.mark.parametrize("kind", [ExecModule, MatchTarget])
def test_a_class_has_eight_members_at_most_four_of_them_abstract(kind):
    """All that `dir` shows of it: what it inherits counts."""
    public = [name for name in dir(kind) if not name.startswith("_")]
    assert len(public) <= 8
    assert set(public) == set(members(kind))
    assert len(kind.__abstractmethods__) <= 4


@pytest.mark.parametrize("kind", [*MODULE_FACETS, *TARGET_FACETS])
def test_a_facet_stands_alone(kind):
    """At most eight members, of which none must be written; it has no constructor."""
    assert kind.__bases__ == (object,)
    assert 1 <= len(members(kind)) <= 8
    assert not inspect.isabstract(kind)
    kind()


def test_members_belong_to_one_class():
    for base, kinds in ((ExecModule, MODULE_FACETS), (MatchTarget, TARGET_FACETS)):
        names = [name for kind in (base, *kinds) for name in members(kind)]
        assert len(names) == len(set(names))


def test_what_a_class_does_not_inherit_is_as_the_facet_says():
    assert facet(Chip(), SharedMemory).shared_memory == ""
    assert facet(Module(), Tiled).tiled_reductions(LAYER) == ()
    module = Diana().modules()[0]
    assert facet(module, Packed) is module


def test_a_member_of_a_facet_that_is_not_inherited_has_a_name():
    with pytest.raises(TargetError, match=r"Mine has layouts, .* member of Packed") as raised:

        class Mine(Module):
            def layouts(self, workload):
                return {"weight": Blocked("K c", C=4)}

    assert "class Mine(Module, Packed)" in raised.value.hint
    with pytest.raises(TargetError, match="Cached has caches, which is a member of Tiled"):
        type("Cached", (Module,), {"caches": True})
    with pytest.raises(TargetError, match=r"Shared has shared_memory, .* SharedMemory"):

        @dataclass(frozen=True)
        class Shared(Chip):
            shared_memory: str


def test_neither_is_it_set():
    with pytest.raises(TargetError, match="Module has frequency, which is a member of Priced"):
        Module().frequency = 1e9
    with pytest.raises(TargetError, match="Chip has frequency, which is a member of ChipCosts"):
        Chip().frequency = 1e9
    chip = Chip()
    chip.bits = 8
    assert chip.bits == 8
