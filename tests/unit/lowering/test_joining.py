"""Operands of concatenations that are made in place: which ones, and that nothing is lost."""

from __future__ import annotations

import hashlib

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from match_aie.errors import TargetError
from match_aie.hardware import MatchTarget, Storage
from match_aie.lowering import (
    Alias,
    Argument,
    CFunction,
    Constant,
    Join,
    MemoryPlan,
    Schedule,
    Step,
    Tensor,
    Workspace,
)
from match_aie.lowering.joining import join
from match_aie.lowering.place import place
from match_aie.lowering.plan import places, plan


class Network:
    """A schedule in the making, as the fallback hands it over."""

    def __init__(self, size=8):
        self.sizes, self.steps, self.aliases, self.joins = {"x": size}, [], [], []
        self.constants, self.outputs = [], []

    def make(self, name, size, reads, in_place=(), scratch=0):
        self.sizes[name] = size
        spaces = (Workspace(f"w_{name}", scratch),) if scratch else ()
        arguments = [Argument("tensor", read, "read") for read in reads]
        arguments.append(Argument("tensor", name, "write"))
        arguments += [Argument("workspace", space.name, "write") for space in spaces]
        self.steps.append(Step(name, f"f_{name}", tuple(arguments), None, in_place, spaces))
        return name

    def view(self, name, base):
        self.sizes[name] = self.sizes[base]
        # As the fallback writes them: never a view of a view.
        known = {alias.view: alias.base for alias in self.aliases}
        self.aliases.append(Alias(name, known.get(base, base)))
        return name

    def constant(self, name, size):
        self.constants.append(Constant(name, np.arange(size, dtype=np.int8)))
        return name

    def concat(self, name, operands):
        known = {constant.name: constant.value.nbytes for constant in self.constants}
        self.sizes[name], parts, offset = 0, [], 0
        for index, operand in enumerate(operands):
            part, kind = f"{name}_{index}", "constant" if operand in known else "tensor"
            nbytes = known.get(operand) or self.sizes[operand]
            self.sizes[part] = nbytes
            self.aliases.append(Alias(part, name, offset))
            given = (Argument(kind, operand, "read"), Argument("tensor", part, "write"))
            self.steps.append(Step(name, f"copy_{nbytes}", given))
            parts.append(part)
            offset += nbytes
        self.sizes[name] = offset
        self.joins.append(Join(name, offset, offset, tuple(parts)))
        return name

    def schedule(self, *outputs):
        tensors = tuple(Tensor(name, "int8", (size,)) for name, size in self.sizes.items())
        copies = {s.symbol for s in self.steps if s.symbol.startswith("copy_")}
        functions = tuple(CFunction(symbol, "", "copy") for symbol in sorted(copies))
        aliases, steps, joins = map(tuple, (self.aliases, self.steps, self.joins))
        fixed = tuple(self.constants)
        return Schedule("net", ("x",), outputs, tensors, fixed, aliases, steps, functions, joins)


def copies(schedule):
    return [step.label for step in schedule.steps if step.symbol.startswith("copy_")]


def two_layers():
    net = Network()
    net.make("a", 100, ["x"])
    net.make("b", 28, ["a"])
    net.concat("c", ["a", "b"])
    net.make("y", 4, ["c"])
    return net


def test_operands_lie_in_the_result_and_nothing_is_copied():
    given = two_layers().schedule("y")
    made = join(given, 1)
    assert copies(given) == ["c", "c"]
    assert copies(made) == []
    assert made.functions == ()
    assert made.joins == (Join("c", 128, 0, ("a", "b")),)
    where = places(made)
    assert [(where[n].owner, where[n].offset) for n in "abc"] == [("c", 0), ("c", 100), ("c", 0)]
    result = plan(made)
    assert [(p.name, p.first, p.last) for p in result.placements] == [("c", 0, 2)]
    assert result.nbytes == 128
    assert plan(given).nbytes > 128


def test_operands_that_begin_where_code_may_not_are_copied():
    made = join(two_layers().schedule("y"), 64)
    assert copies(made) == ["c"]
    assert made.joins[0].copied == 28
    assert made.joins[0].reasons == ("an operand would begin at a byte that is no multiple of 64",)
    # An operand that is itself in parts: all of them move.
    net = Network()
    for name, size in (("a", 64), ("b", 4), ("d", 6)):
        net.make(name, size, ["x"])
    net.concat("in", ["b", "d"])
    net.concat("c", ["a", "in"])
    net.make("y", 4, ["c"])
    assert copies(join(net.schedule("y"), 4)) == []
    assert copies(join(net.schedule("y"), 8)) == ["in"]


def inputs_and_constants(net):
    return ["x", net.constant("k", 5)], ("y",), ["input", "constant"]


def one_twice(net):
    return [net.make("a", 9, ["x"]), "a"], ("y",), ["occurs twice"]


def one_in_two(net):
    net.concat("other", [net.make("a", 9, ["x"]), net.make("b", 9, ["x"])])
    net.make("z", 1, ["other"])
    return ["a"], ("y", "z"), ["part of another"]


def an_output(net):
    return [net.make("a", 9, ["x"])], ("y", "a"), ["output"]


@pytest.mark.parametrize("case", [inputs_and_constants, one_twice, one_in_two, an_output])
def test_what_cannot_lie_there_is_copied_and_says_why(case):
    net = Network()
    operands, outputs, words = case(net)
    net.concat("c", [*operands, net.make("free", 3, ["x"])])
    net.make("y", 4, ["c"])
    made = join(net.schedule(*outputs), 1)
    reasons = made.joins[-1].reasons
    assert len(reasons) == len(words)
    assert all(word in reason for word, reason in zip(words, reasons, strict=True))
    sizes = {tensor.name: tensor.nbytes for tensor in made.tensors}
    assert places(made)["free"].owner == "c"
    assert made.joins[-1].copied == sizes["c"] - 3 - (9 if case is one_twice else 0)


def test_a_result_that_is_an_output_takes_its_operands_along():
    net = Network()
    net.concat("y", [net.make("a", 9, ["x"]), net.make("b", 3, ["a"])])
    made = join(net.schedule("y"), 1)
    assert copies(made) == []
    assert plan(made).nbytes == 0


def test_a_step_does_not_work_in_place_on_a_part():
    net = Network()
    net.make("a", 62, ["x"])
    net.make("b", 1, ["x"])
    net.concat("c", ["b", "a"])
    net.make("e", 1, ["c"])
    net.make("d", 62, ["a"], in_place=(("a", "d"),))
    net.make("y", 4, ["d", "e"])
    made = join(net.schedule("y"), 1)
    assert copies(made) == []
    assert plan(made).in_place == ()


class Small(MatchTarget):
    """No modules; only memory matters here."""

    name = "small"

    def modules(self):
        return ()

    def build_profile(self):
        return type(super().build_profile())(within=1)


def test_a_limit_may_ask_for_copies():
    net = Network()
    net.make("a", 64, ["x"])
    net.make("big", 640, ["a"])
    net.make("small", 64, ["big"])
    net.make("b", 448, ["small"])
    net.concat("c", ["a", "b"])
    net.make("y", 4, ["c"])
    network = net.schedule("y")
    joined, copied = plan(join(network, 1)), plan(network)
    assert joined.nbytes > copied.nbytes
    found = place(network, Small(), limit=copied.nbytes)
    assert found.plan.nbytes == copied.nbytes
    assert copies(found.schedule) == ["c", "c"]
    assert found.schedule.joins[0].reasons == (
        "in one place with its operands it does not fit in memory",
    )
    assert found.schedule.joins[0].copied == 512


class Backed(Small):
    """A memory behind, and a runtime that has no function which fetches from there."""

    def storage(self):
        return Storage("ram", 64, "flash")


def test_a_memory_behind_needs_a_runtime_that_fetches():
    net = Network()
    net.make("y", 4, ["x"])
    with pytest.raises(TargetError, match="small has flash behind ram, and a runtime without"):
        place(net.schedule("y"), Backed())


@st.composite
def networks(draw):
    """Layers, views, steps in place and concatenations of anything there is."""
    net = Network(size=draw(st.integers(1, 40)))
    known = ["x", net.constant("k", draw(st.integers(1, 20)))]
    for index in range(draw(st.integers(1, 12))):
        tensors = [name for name in known if name != "k"]
        reads = draw(st.lists(st.sampled_from(tensors), min_size=1, max_size=3))
        name, kind = f"t{index}", draw(st.sampled_from(["make", "make", "concat", "concat"]))
        if kind == "concat":
            operands = draw(st.lists(st.sampled_from(known), min_size=1, max_size=3))
            net.concat(name, operands)
        else:
            size = draw(st.one_of(st.integers(1, 200), st.just(net.sizes[reads[0]])))
            pairs = ((reads[0], name),) if draw(st.booleans()) else ()
            net.make(name, size, reads, pairs, draw(st.sampled_from([0, 0, 50])))
        known.append(name)
        if draw(st.booleans()):
            known.append(net.view(f"v{index}", name))
    views = {alias.view for alias in net.aliases}
    possible = [name for name in known if name not in views and name not in ("x", "k")]
    outputs = draw(st.lists(st.sampled_from(possible), min_size=1, max_size=2, unique=True))
    # What no output needs would be gone by now.
    return net.schedule(*outputs, net.make("y", 3, [known[-1] if known[-1] != "k" else "x"]))


def result_of(step, contents):
    """What a step makes of its inputs: bytes that depend on all of them."""
    if step.symbol.startswith("copy_"):
        return contents[0]
    return lambda size: np.frombuffer(
        hashlib.shake_128(step.symbol.encode() + b"|".join(contents)).digest(size), np.uint8
    )


class Machine:
    """Runs a schedule on memory; without a plan every storage is a memory of its own."""

    def __init__(self, schedule, memory=None):
        self.schedule, self.where = schedule, places(schedule)
        self.sizes = {tensor.name: tensor.nbytes for tensor in schedule.tensors}
        self.fixed = {c.name: c.value.tobytes() for c in schedule.constants}
        ports = {*schedule.inputs, *schedule.outputs}
        self.offsets, self.arena = None, np.zeros(0, np.uint8)
        if memory is not None:
            self.offsets = {p.name: p.offset for p in memory.placements}
            self.arena = np.full(memory.nbytes, 0xAA, np.uint8)
        owners = {place.owner for place in self.where.values()}
        alone = owners if memory is None else ports
        self.storage = {name: np.full(self.sizes[name], 0x55, np.uint8) for name in alone}
        self.storage["x"][:] = np.arange(self.sizes["x"])

    def bytes_of(self, name):
        owner, offset = self.where[name].owner, self.where[name].offset
        if owner in self.storage:
            return self.storage[owner][offset : offset + self.sizes[name]]
        offset += self.offsets[owner]
        return self.arena[offset : offset + self.sizes[name]]

    def check_apart(self, step, target):
        """What a step writes is nothing that it reads, or exactly where it may be."""
        for name in step.reads():
            read = self.bytes_of(name)
            if np.shares_memory(read, target):
                assert (name, step.writes()[0]) in step.in_place
                assert read.ctypes.data == target.ctypes.data

    def run(self):
        """Everything that each step read, by label; then the outputs."""
        seen = []
        for step in self.schedule.steps:
            contents = [
                self.fixed[a.name] if a.kind == "constant" else self.bytes_of(a.name).tobytes()
                for a in step.arguments
                if a.access == "read"
            ]
            for space in step.workspaces:
                if self.offsets is not None:
                    at = self.offsets[space.name]
                    self.arena[at : at + space.nbytes] = 0xCC
            made = result_of(step, contents)
            target = self.bytes_of(step.writes()[0])
            self.check_apart(step, target)
            target[:] = made(target.size) if callable(made) else np.frombuffer(made, np.uint8)
            if not step.symbol.startswith("copy_"):
                seen.append((step.label, contents))
        return seen, [self.bytes_of(name).tobytes() for name in self.schedule.outputs]


@settings(max_examples=150, deadline=None)
@given(networks(), st.sampled_from([1, 4, 16]))
def test_every_step_reads_what_it_would_read_with_copies(network, alignment):
    made = join(network, alignment)
    memory = plan(made, alignment=16)
    assert isinstance(memory, MemoryPlan)
    assert Machine(made, memory).run() == Machine(network).run()
    where = places(made)
    assert all(
        where[step.writes()[0]].offset % alignment == 0
        for step in made.steps
        if not step.symbol.startswith("copy_")
    )
    assert sum(j.copied for j in made.joins) == sum(
        made.tensor(step.writes()[0]).nbytes
        for step in made.steps
        if step in network.steps and step.symbol.startswith("copy_")
    )
    assert all(bool(j.copied) == bool(j.reasons) for j in made.joins)


@settings(max_examples=100, deadline=None)
@given(networks())
def test_no_two_tensors_that_are_alive_overlap(network):
    """But an operand lies within its result, and a result may replace an input at its place."""
    made = join(network, 1)
    memory = plan(made, alignment=16)
    assert isinstance(memory, MemoryPlan)
    for i, p in enumerate(memory.placements):
        for q in memory.placements[i + 1 :]:
            if p.first <= q.last and q.first <= p.last:
                apart = p.offset + p.nbytes <= q.offset or q.offset + q.nbytes <= p.offset
                pairs = {(p.name, q.name), (q.name, p.name)}
                assert apart or pairs & set(memory.in_place)
    where, written = places(made), {}
    for step in made.steps:
        place_of = where[step.writes()[0]]
        size = made.tensor(step.writes()[0]).nbytes
        spans = written.setdefault(place_of.owner, [])
        assert all(
            place_of.offset + size <= first or end <= place_of.offset for first, end in spans
        )
        spans.append((place_of.offset, place_of.offset + size))
