"""Several programs as one configuration of the array, with a sequence of the host for each.

They are printed with numbers of turns that cores read (`turns`), or without, and must be the same
then but for what the host's sequences say, and what attributes of this project count in a run:
these stand in the text as lists, a number for each program. Any of the programs' own texts comes
out of it again.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import zip_longest

from match_aie.errors import Infeasible, InfeasibleError, TargetError
from match_aie.targets.aie_ml.array.program import ArrayProgram, Core
from match_aie.targets.aie_ml.array.roles import ROLES, bytes_of_roles
from match_aie.targets.aie_ml.devices import Device
from match_aie.targets.aie_ml.kernels.nest import Nest
from match_aie.targets.xdna.mlir.dialect import DEFAULT, Dialect
from match_aie.targets.xdna.mlir.kernels import Kernels, kernels_of
from match_aie.targets.xdna.mlir.objects import ObjectFile, objects
from match_aie.targets.xdna.mlir.sequence import ONCE, SEQUENCE, Round
from match_aie.targets.xdna.mlir.text import text
from match_aie.targets.xdna.mlir.turns import functions, reads_turns, turned_names

#: A number that this project counts, in one program's text, and those of all programs.
_COUNTED = re.compile(r"(match\.\w+) = (\d+) : (i\d+)")
_ALL = re.compile(r"(match\.\w+)_each = array<(i\d+): ([\d, ]+)>")

_BEGIN = re.compile(r"(\s*aiex?\.runtime_sequence @)(\w+)(\(.*\{)")


#: A sequence that moves other data of a program than all of it once: the program's name, and what.
More = tuple[str, Sequence[Round]]


def overlay(
    programs: Mapping[str, ArrayProgram],
    device: Device,
    dialect: Dialect = DEFAULT,
    *,
    more: Mapping[str, More] | None = None,
    turned: bool = True,
) -> str:
    """The module, with a sequence of each name.

    Args:
        programs: by the name of their sequence.
        device: that they are for.
        dialect: version of the text.
        more: sequences in rounds: through some ways only, so that of layers beside each other
            one runs while the others wait for their inputs, or of other data behind it.
        turned: whether cores read at run time how many turns a call has; else programs are the same
            but for what moves, as those of layers of one shape whose weights arrive are.

    Raises:
        TargetError: they are not one configuration, or the dialect has no such text.
        InfeasibleError: as `text`, or program memory has no room for calls of all roles.
    """
    if dialect.globals:
        raise TargetError(
            f"MLIR-AIE of {dialect.name} has symbols of ways whose sizes differ from sequence to "
            "sequence",
            hint="a later version",
        )
    _alike(programs)
    if turned:
        _hold_roles(next(iter(programs.values())), device)
    asked: dict[str, More] = {name: (name, ONCE) for name in programs}
    asked |= more or {}
    pieces = [
        _pieces(text(programs[of], device, dialect, turned=turned, rounds=rounds))
        for of, rounds in asked.values()
    ]
    heads, sequences, tails = zip(*pieces, strict=True)
    lines = [*_merged(heads, tuple(asked))]
    for name, each in zip(asked, sequences, strict=True):
        lines += [_BEGIN.sub(rf"\g<1>{name}\g<3>", each[0]), *each[1:]]
    return "\n".join((*lines, *_merged(tails, tuple(asked)))) + "\n"


def single(module: str, name: str) -> str:
    """The text of one of an overlay's programs.

    Raises:
        TargetError: there is none of that name.
    """
    names = [found[2] for found in map(_BEGIN.match, module.splitlines()) if found]
    if name not in names:
        raise TargetError(f"no sequence {name!r} in the text", hint=", ".join(names))
    at, kept, mine = names.index(name), [], True
    for line in module.splitlines():
        begin = _BEGIN.match(line)
        if begin:
            mine = begin[2] == name
            line = _BEGIN.sub(rf"\g<1>{SEQUENCE}\g<3>", line)
        if mine:
            kept.append(_ALL.sub(lambda found: _own(found, at), line))
        elif line.strip() == "}":
            mine = True
    return "\n".join(kept) + "\n"


def kernels_of_overlay(
    programs: Mapping[str, ArrayProgram], *, turned: bool = True
) -> dict[str, Kernels]:
    """What the text of each program refers to: all have the functions of all."""
    own = {
        name: kernels_of(one, turned_names(one) if turned else None)
        for name, one in programs.items()
    }
    every = {key: value for each in own.values() for key, value in each.functions.items()}
    # Of two turns none is between: the loop that calls such a function goes round no time.
    for core in (core for one in programs.values() if turned for core in one.cores):
        if reads_turns(core):
            begins, between, _ = functions(core)
            every.setdefault(between, every[begins])
    return {
        name: Kernels(every, each.linked, each.outsides, each.walks) for name, each in own.items()
    }


def objects_of_overlay(program: ArrayProgram) -> tuple[ObjectFile, ...]:
    """Object files that all programs of an overlay link: calls of all roles, whatever one has.

    Args:
        program: any of them.

    Raises:
        TargetError: as `objects`.
    """
    cores, named = [], turned_names(program)
    for core in program.cores:
        if reads_turns(core):
            assert isinstance(core.function, Nest)
            first, between, last = functions(core)
            named[core.tile] = first, between, between, last
            four = replace(core.function, m_tiles=1, n_tiles=1, k_tiles=ROLES)
            core = replace(core, function=four)
        cores.append(core)
    return objects(replace(program, cores=tuple(cores)), named)


def _hold_roles(program: ArrayProgram, device: Device) -> None:
    """See that each core has program memory for all that it links (`objects_of_overlay`).

    Raises:
        InfeasibleError: one has not.
    """
    arch = device.architecture
    most = arch.core.program_memory_bytes
    for core in program.cores:
        if isinstance(core.function, Nest) and reads_turns(core):
            need = bytes_of_roles(core.function, arch)
            if need > most:
                found = Infeasible("program memory", need, most, "bytes", ("a smaller block",))
                raise InfeasibleError(found, where=f"core {core.tile}, calls of all roles")


def _alike(programs: Mapping[str, ArrayProgram]) -> None:
    """Cores of all programs have one function each, whatever its loops and shift are.

    Raises:
        TargetError: they do not: other bounds, for instance, are in the text of a function.
    """
    first, *others = programs.items()
    for name, other in others:
        for one, two in zip(first[1].cores, other.cores, strict=False):
            if _looped_once(one) != _looped_once(two):
                raise TargetError(
                    f"{first[0]} and {name} have different kernels on core {one.tile}",
                    hint="one form of requantising and bounds of results for all layers",
                )


def _looped_once(core: Core) -> object:
    """Without what comes at run time: loops, and the shift."""
    call = core.function
    if not isinstance(call, Nest):
        return core.tile, call
    inner = replace(call.call, shift=0)
    return core.tile, replace(call, call=inner, m_tiles=1, n_tiles=1, k_tiles=1)


def _own(found: re.Match[str], at: int) -> str:
    name, kind, values = found.groups()
    return f"{name} = {values.split(', ')[at]} : {kind}"


def _pieces(module: str) -> tuple[list[str], list[str], list[str]]:
    """Lines before the sequence, of it, and behind it."""
    lines = module.splitlines()
    begin = next(at for at, line in enumerate(lines) if _BEGIN.match(line))
    end = next(at for at in range(begin, len(lines)) if lines[at].strip() == "}") + 1
    return lines[:begin], lines[begin:end], lines[end:]


def _merged(texts: Sequence[list[str]], names: Sequence[str]) -> Iterator[str]:
    """Lines of all texts; what is counted in a run is a list where it differs.

    Raises:
        TargetError: something else differs.
    """
    for each in zip_longest(*texts, fillvalue=""):
        bare = [_COUNTED.sub(r"\1", line) for line in each]
        for name, other in zip(names, bare, strict=True):
            if other != bare[0]:
                raise TargetError(
                    f"{names[0]} and {name} are not one configuration: {bare[0].strip()[:90]!r} "
                    f"and {other.strip()[:90]!r}"
                )
        counted = [_COUNTED.findall(line) for line in each]
        yield _listed(each[0], list(zip(*counted, strict=True)))


def _listed(line: str, values: Sequence[Sequence[tuple[str, str, str]]]) -> str:
    """One text's line with the numbers of all, in the order in which they stand."""
    left = iter(values)

    def one(found: re.Match[str]) -> str:
        return _each(found, next(left))

    return _COUNTED.sub(one, line)


def _each(found: re.Match[str], values: Sequence[tuple[str, str, str]]) -> str:
    numbers = [value for _, value, _ in values]
    if len(set(numbers)) == 1:
        return found[0]
    return f"{found[1]}_each = array<{found[3]}: {', '.join(numbers)}>"
