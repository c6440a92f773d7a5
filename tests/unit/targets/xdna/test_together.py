"""Attention beside dense layers of several reductions: one configuration, its text, its results."""

import re
from dataclasses import replace

import numpy as np
import pytest

from match_aie.errors import InternalError, TargetError
from match_aie.targets.aie_ml.array.layout import lay_out
from match_aie.targets.aie_ml.execute import execute
from match_aie.targets.aie_ml.graph.together import together
from match_aie.targets.aie_ml.simulate import ends_of_groups, run_layer
from match_aie.targets.xdna.mlir import DIALECTS, read
from match_aie.targets.xdna.mlir.dialect import DEFAULT
from match_aie.targets.xdna.mlir.host import host_arguments
from match_aie.targets.xdna.mlir.overlay import kernels_of_overlay, overlay, single
from match_aie.targets.xdna.mlir.sequence import Limits, Round, rounds_of, sequence, through
from match_aie.targets.xdna.mlir.syntax import TextError
from match_aie.targets.xdna.mlir.turns import pairs_of, turned_names
from tests.beside_attention import EAST, SIZES, WEST, members, program_of, tensors_of
from tests.overlays import NPU1


def part_of(program, columns):
    """What of a program is in some columns: cores, buffers, descriptors, flows."""
    return (
        [core for core in program.cores if core.tile[0] in columns],
        [buffer for buffer in program.buffers if buffer.tile[0] in columns],
        [one for one in program.descriptors if one.channel.tile[0] in columns],
        [(r.source, r.sinks) for r in program.routes if r.source.tile[0] in columns],
    )


@pytest.mark.parametrize("size", SIZES.values())
def test_results_of_both_are_the_references(size):
    """One run after another, each layer's result its own."""
    runs = [tensors_of(size, seed) for seed in (1, 2)]
    done = execute(program_of(size), NPU1, [given for given, _ in runs])
    for number, (_, wanted) in enumerate(runs):
        for name, values in wanted.items():
            assert np.unique(values).size > 10
            found = done.tensor(values, f"{name}_y", run=number)
            np.testing.assert_array_equal(found, values)


def test_each_layer_stays_in_its_columns():
    """So a sequence may move the data of one alone, as if the other were not there."""
    for size in SIZES.values():
        program, graphs = program_of(size), members(size)[0]
        alone = lay_out(graphs["dense"], replace(NPU1, columns=2, shim_noc_columns=(0, 1)))
        mine, found = part_of(program, WEST), part_of(alone, WEST)
        assert [len(each) for each in mine] == [len(each) for each in found]
        assert mine[0] == found[0]
        for way in program.ways:
            west = way.outside.name.startswith("dense_")
            assert way.channel.tile[0] in (WEST if west else EAST)
        for route in program.routes:
            tiles = [route.source.tile, *(sink.tile for sink in route.sinks)]
            assert len({tile[0] in WEST for tile in tiles}) == 1


def test_both_at_once_take_less_time_than_one_after_the_other():
    graphs = members(SIZES["long"])[0]
    alone = [run_layer(lay_out(graph, NPU1), NPU1).cycles for graph in graphs.values()]
    both = run_layer(program_of(SIZES["long"]), NPU1)
    assert both.whole
    assert max(alone) <= both.cycles < sum(alone)


@pytest.mark.parametrize("dialect", [d for d in DIALECTS.values() if not d.globals])
def test_one_text_has_every_layer_alone_and_beside_attention(dialect):
    programs = {f"{name}_beside": program_of(size) for name, size in SIZES.items()}
    some = {name: (f"{name}_beside", WEST) for name in SIZES}
    some["attention"] = next(iter(programs)), EAST
    more = {
        name: (of, (Round(through(programs[of], columns)),)) for name, (of, columns) in some.items()
    }
    module = overlay(programs, NPU1, dialect, more=more)
    assert module.count("runtime_sequence @") == 5
    kernels = kernels_of_overlay(programs)
    for name, (of, columns) in {**{each: (each, range(4)) for each in programs}, **some}.items():
        mine = single(module, name)
        assert read(mine, NPU1, kernels[of]) == programs[of]
        moved = {line.split("metadata = @")[1].split("}")[0] for line in mine.splitlines()
                 if "dma_memcpy_nd" in line}  # fmt: skip
        assert moved == {
            way.outside.name for way in programs[of].ways if way.channel.tile[0] in columns
        }
    # Attention's cores have a body of their own, which reads no number.
    assert set(pairs_of(programs["long_beside"])) == {
        core.tile for core in programs["long_beside"].cores if core.tile[0] in WEST
    }
    assert module.count("aie.core(") == len(programs["long_beside"].cores)
    assert any("queries" in name or "attention" in name
               for name in turned_names(programs["long_beside"])[2, 2])  # fmt: skip


def test_what_a_sequence_leaves_out_is_not_read_as_moved():
    programs = {"both": program_of(SIZES["long"])}
    kernels = kernels_of_overlay(programs)["both"]
    dense = (Round(through(programs["both"], WEST)),)
    module = single(overlay(programs, NPU1, more={"dense": ("both", dense)}), "dense")
    lines = module.splitlines()
    first = next(at for at, line in enumerate(lines) if "dma_memcpy_nd" in line)
    with pytest.raises(TextError, match="where the program says 'aiex"):
        read("\n".join((*lines[:first], *lines[first + 1 :])) + "\n", NPU1, kernels)
    with pytest.raises(TargetError, match="a sequence that moves nothing"):
        overlay(programs, NPU1, more={"none": ("both", (Round(frozenset()),))})


def freed(module, program):
    """Descriptors of a sequence are free again before they are used anew; how often it waits."""
    results = {w.outside.name for w in program.ways if w.channel.direction == "s2mm"}
    place = {way.outside.name: way.channel.tile[0] for way in program.ways}
    used, waits, early = {}, 0, 0
    for line in module[module.index("runtime_sequence") :].splitlines():
        moved = re.search(r"dma_memcpy_nd.*id = (\d+) .*metadata = @(\w+)\}", line)
        waited = re.search(r"dma_wait \{symbol = @(\w+)", line)
        if moved:
            number, name = int(moved[1]), moved[2]
            assert number < 16
            assert (place[name], number) not in used
            used[place[name], number] = name
            assert list(used.values()).count(name) <= 4
            early = waits
        elif waited:
            waits += 1
            (name,) = waited.groups()
            assert name in results
            # The oldest transfer of this way; those of its group's inputs end before it.
            group = name.split("_")[0]
            if name == max(one for one in results if one.startswith(group)):
                for way in place:
                    if way.startswith(group):
                        key = next(key for key, held in used.items() if held == way)
                        del used[key]
    assert not used
    return early


@pytest.mark.parametrize("windows", [1, 2, 7])
def test_windows_follow_each_other_in_a_sequence(windows):
    """Attention's data of one, of both layers before it; descriptors come round."""
    program = program_of(SIZES["long"])
    words = {arg.name: arg.words for arg in host_arguments(program)}
    rounds = [Round()]
    for columns in (EAST, WEST):
        for number in range(1, windows):
            further = tuple((name, number * words[name]) for name in ("inputs", "outputs"))
            rounds.append(Round(through(program, columns), further))
    more = {"many": ("both", tuple(rounds))}
    module = single(overlay({"both": program}, NPU1, more=more), "many")
    assert read(module, NPU1, kernels_of_overlay({"both": program})["both"]) == program
    assert rounds_of(program, module) == tuple(rounds)
    assert module.count("dma_memcpy_nd") == windows * len(program.ways)
    # Four transfers may wait in a channel's queue.
    assert (freed(module, program) > 0) == (windows > 4)
    for argument, one in words.items():
        size = one if argument == "constants" else windows * one
        assert f"%{argument}: memref<{size}xi32>" in module


def test_a_round_of_too_many_transfers_is_refused():
    program = program_of(SIZES["short"])
    for limits in (Limits(2, 4), Limits(16, 0)):
        with pytest.raises(TargetError, match="more transfers at once than an interface tile has"):
            list(sequence(program, DEFAULT, limits))


def test_layers_that_are_not_apart_are_refused():
    graphs = members(SIZES["long"])[0]
    with pytest.raises(InternalError, match="share a function"):
        together("both", {"one": graphs["dense"], "two": graphs["dense"]})
    other = replace(graphs["attention"], memory="plio")
    with pytest.raises(InternalError, match="are not fed alike"):
        together("both", {"dense": graphs["dense"], "attention": other})


def test_groups_beside_each_other_have_their_own_pace():
    """Runs of each end in their order; the first ones are those of a single run of both."""
    program = program_of(SIZES["long"])
    ends = ends_of_groups(program, NPU1, (WEST, EAST), 4)
    assert [len(each) for each in ends] == [4, 4]
    for each in ends:
        assert list(each) == sorted(set(each))
    once = ends_of_groups(program, NPU1, (WEST, EAST), 1)
    assert max(max(each) for each in once) == pytest.approx(
        run_layer(program, NPU1).cycles, rel=0.01
    )
    # The dense layer is short: its runs do not wait for attention's.
    assert ends[0][-1] < ends[1][-1]
    with pytest.raises(TargetError, match="column 2, which is no group's"):
        ends_of_groups(program, NPU1, (WEST,), 1)
