"""What the open tool chain gets of graphs that one configuration of the array serves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from match_aie.errors import Infeasible, InfeasibleError, MatchError, TargetError
from match_aie.hardware import Unit
from match_aie.targets.aie_ml.array.layout import lay_out
from match_aie.targets.aie_ml.array.program import ArrayProgram
from match_aie.targets.aie_ml.devices import Device
from match_aie.targets.aie_ml.graph.join import Joined
from match_aie.targets.aie_ml.graph.plan import LayerGraph
from match_aie.targets.aie_ml.graph.together import together
from match_aie.targets.xdna.mlir.dialect import Dialect
from match_aie.targets.xdna.mlir.linking import crowded
from match_aie.targets.xdna.mlir.objects import ObjectFile, objects
from match_aie.targets.xdna.mlir.overlay import More, objects_of_overlay, overlay
from match_aie.targets.xdna.mlir.sequence import Round
from match_aie.targets.xdna.mlir.tensors import Beside, GraphHost, GraphLayers, graph_host
from match_aie.targets.xdna.mlir.text import text
from match_aie.targets.xdna.mlir.units import host_units, kernel_units


@dataclass(frozen=True, eq=False)
class Task:
    """What one sequence of the host runs.

    Attributes:
        name: of the sequence, a C identifier.
        graph: a layer's, or of a chain, as the text moves it (`direct`).
        joined: the chain; None for one layer.
        layers: that it is of.
    """

    name: str
    graph: LayerGraph
    joined: Joined | None
    layers: GraphLayers


@dataclass(frozen=True, eq=False)
class Member:
    """Columns of a configuration, and what they run.

    Attributes:
        name: that its ways have in front of theirs, a C identifier; none begins as another one.
        column: of the array, the first.
        tasks: one graph; of an overlay each layer's.
        told: whether it is an overlay, whose cores read how many turns a call has; of one
            configuration at most one is.
    """

    name: str
    column: int
    tasks: tuple[Task, ...]
    told: bool = False

    @property
    def prefix(self) -> str:
        """What its ways have in front of their names."""
        return f"{self.name}_"

    def moved(self, program: ArrayProgram) -> frozenset[str]:
        """Names of its ways in a program of several members."""
        names = (way.outside.name for way in program.ways)
        return frozenset(name for name in names if name.startswith(self.prefix))


@dataclass(frozen=True, eq=False)
class Written:
    """A configuration's text.

    Attributes:
        text: of the device.
        objects: files that its cores link.
        hosts: of each sequence.
        lacks: what the text lacks; empty where nothing.
    """

    text: str
    objects: Sequence[ObjectFile]
    hosts: Sequence[GraphHost]
    lacks: str = ""


def programs_of(members: Sequence[Member], array: Device) -> dict[str, ArrayProgram]:
    """The array's program, of an overlay for each of its layers, by the names of their tasks.

    Raises:
        InfeasibleError: they do not fit the array together.
    """
    told = next((member for member in members if member.told), None)
    found = {}
    for task in (told or members[0]).tasks:
        tasks = [task if one is told else one.tasks[0] for one in members]
        found[task.name] = _program(members, tasks, array)
    return found


def _program(members: Sequence[Member], tasks: Sequence[Task], array: Device) -> ArrayProgram:
    """Of a task of each member."""
    graph, column = tasks[0].graph, members[0].column
    if len(members) > 1:
        graphs = {one.name: task.graph for one, task in zip(members, tasks, strict=True)}
        graph, column = together("array", graphs, {one.name: one.column for one in members}), 0
    program = lay_out(graph, array, column)
    if isinstance(program, Infeasible):
        raise InfeasibleError(program, where=" and ".join(task.name for task in tasks))
    return program


def written(members: Sequence[Member], array: Device, dialect: Dialect) -> Written:
    """The text of a configuration, with a sequence for each task.

    Args:
        members: side by side; one of them alone has a text without names of sequences, unless it
            is an overlay.
        array: the device.
        dialect: version of the text.

    Raises:
        InfeasibleError: a program does not fit the array, or its text.
        TargetError: they are not one configuration.
    """
    programs = programs_of(members, array)
    first, told = next(iter(programs.values())), any(one.told for one in members)
    if len(members) == 1 and not told:
        lines, made = text(first, array, dialect), objects(first)
    else:
        more: dict[str, More] = {}
        for one in members:
            for task in one.tasks:
                of = task.name if one.told else next(iter(programs))
                some = one.moved(first) if len(members) > 1 else None
                more[task.name] = of, (Round(some),)
        lines = overlay(programs, array, dialect, more=more, turned=told)
        made = objects_of_overlay(first) if told else objects(first)
    hosts = [
        _host(programs.get(task.name, first), one, task, several=len(members) > 1)
        for one in members
        for task in one.tasks
    ]
    return Written(lines, made, hosts, crowded(first, array, dialect))


def _host(program: ArrayProgram, one: Member, task: Task, *, several: bool) -> GraphHost:
    """What a task's host program moves."""
    beside = Beside(one.prefix, one.moved(program)) if several else None
    host = graph_host(program, task.graph, task.joined, task.layers, beside)
    return replace(host, name=task.name)


#: A configuration: its members, and its text, or why it has none.
Configuration = tuple[tuple[Member, ...], Written | MatchError]


def configurations_of(
    members: Sequence[Member], array: Device, dialect: Dialect
) -> tuple[Configuration, ...]:
    """Configurations that graphs of a network need: one, where all have one text.

    Args:
        members: in the order in which they first run.
        array: the device.
        dialect: version of the text; that of 2025 has one sequence in each.
    """
    if not members:
        return ()
    whole = None if dialect.globals else _tried(members, array, dialect)
    if whole is not None and not isinstance(whole, MatchError):
        return ((tuple(members), whole),)
    alone = {one.name: _tried((one,), array, dialect) for one in members}
    found: list[Configuration] = []
    left = []
    for one in members:
        if dialect.globals or isinstance(alone[one.name], MatchError):
            found.append(((one,), alone[one.name]))
        else:
            left.append(one)
    while left:
        some, text_of = [left[0]], alone[left[0].name]
        for one in left[1:]:
            made = _tried((*some, one), array, dialect)
            if not isinstance(made, MatchError):
                some, text_of = [*some, one], made
        found.append((tuple(some), text_of))
        left = [one for one in left if one not in some]
    return tuple(sorted(found, key=lambda each: members.index(each[0][0])))


def _tried(members: Sequence[Member], array: Device, dialect: Dialect) -> Written | MatchError:
    """A text, or why there is none."""
    try:
        return written(members, array, dialect)
    except (InfeasibleError, TargetError) as error:
        return error


def text_units(name: str, made: Written | MatchError) -> list[Unit]:
    """Files of a configuration called `name`; a remark in the place of its text where it has none.

    Commands are those of all configurations: `units.command_units`.
    """
    path, template = f"mlir/{name}.mlir", "xdna/program.mlir.mako"
    if not isinstance(made, Written):
        why = f"{made.where}: {made.what}" if made.where else made.what
        why = " ".join(why.split())
        lacks = f"{path} has no program for the open tool chain: {why}"
        return [Unit(path, template, {"text": f"// No program: {why}\n"}, warning=lacks)]
    lacks = made.lacks and f"{path}: {made.lacks}"
    lines = Unit(path, template, {"text": made.text}, warning=lacks)
    hosts = [unit for host in made.hosts for unit in host_units(host)]
    return [lines, *kernel_units(made.objects), *hosts]
