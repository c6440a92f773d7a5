"""What stages of a pipeline that is planned read of each other, and whether it fits."""

from __future__ import annotations

from collections.abc import Sequence

from match_aie.errors import Infeasible
from match_aie.targets.aie_ml.array.layer import DenseLayer
from match_aie.targets.aie_ml.devices import Device
from match_aie.targets.aie_ml.graph.attention_group import Attended
from match_aie.targets.aie_ml.graph.attention_keys import PAIRED, key_gates
from match_aie.targets.aie_ml.graph.attention_stage import AttentionStage
from match_aie.targets.aie_ml.graph.faces import face_of
from match_aie.targets.aie_ml.graph.join import Link, Member
from match_aie.targets.aie_ml.graph.layer import zeros_of
from match_aie.targets.aie_ml.graph.pipeline import gates, join_stages
from match_aie.targets.aie_ml.graph.pipeline_rows import Rows
from match_aie.targets.aie_ml.graph.proof import cannot_lie
from match_aie.targets.aie_ml.graph.row_stage import RowStagePlan
from match_aie.targets.aie_ml.graph.seams import Stage, held_copies
from match_aie.targets.aie_ml.graph.spread_plan import SpreadPlan
from match_aie.workload import Workload

#: Orders of the streams that are tried of a choice: another choice is sooner laid out.
ORDERS = 6


def links_of(stages: Sequence[tuple[DenseLayer | Rows, Workload]]) -> list[Link]:
    """What each stage reads of others: of the one before it, unless it feeds attention."""
    found: list[Link] = []
    feeding: set[int] = set()
    for at, (layer, _) in enumerate(stages):
        if isinstance(layer, Attended):
            first = at - 4
            queries, keys, turned, values = (first + each for each in layer.feeds)
            feeding |= set(range(first, at + 1))
            found += [Link(queries, at, "x"), Link(turned, at, "x1"), Link(values, at, "x2")]
            found += [Link(keys, turned, "x")]
            if first:
                found += [Link(first - 1, each, "x") for each in (queries, keys, values)]
    for at, (layer, workload) in enumerate(stages):
        if isinstance(layer, Rows):
            found += [Link(writer, at, operand) for writer, operand in layer.again]
        if at and at not in feeding:
            operand = layer.operand if isinstance(layer, Rows) else workload.inputs[0].name
            found.append(Link(at - 1, at, operand))
    return found


def heads_read(stages: Sequence[tuple[DenseLayer | Rows, Workload]]) -> list[int]:
    """Of each dense layer the elements of a head of attention that it feeds; 0 of others."""
    found = [0] * len(stages)
    for at, (layer, workload) in enumerate(stages):
        if isinstance(layer, Attended):
            found[at - 4 : at] = [workload.sizes["C"]] * 4
    return [
        size
        for size, (layer, _) in zip(found, stages, strict=True)
        if isinstance(layer, DenseLayer)
    ]


def read_again(
    stages: Sequence[tuple[DenseLayer | Rows, Workload]],
) -> tuple[tuple[int, int, int], ...]:
    """Entries of a plan that a later one reads than the next: writer, reader, copies of buffers.

    Stages that are chosen together are one entry.
    """
    ends = [at for at, (layer, _) in enumerate(stages) if isinstance(layer, Attended)]
    entry: list[int] = []
    for at in range(len(stages)):
        inside = any(last - 4 < at <= last for last in ends)
        entry.append(entry[-1] if inside else len(set(entry)))
    links = links_of(stages)
    copies = held_copies(links)
    found = {
        (entry[link.writer], entry[link.reader], copies[link])
        for link in links
        if entry[link.reader] - entry[link.writer] > 1
    }
    return tuple(sorted(found))


def apart(
    stages: Sequence[tuple[DenseLayer | Rows, Workload]], sizes: Sequence[Stage]
) -> tuple[Link | None, Infeasible | None]:
    """Between which stages there are no buffers, and why; no link where it is no neighbours'.

    Args:
        stages: of the pipeline.
        sizes: that are chosen.
    """
    links = links_of(stages)
    copies = held_copies(links)
    pairs = [link for link in links if not _paired(link, sizes)]
    near = [link for link in pairs if link.reader - link.writer == 1]
    for link in (*near, *(link for link in pairs if link not in near)):
        found = gates(sizes[link.writer], sizes[link.reader], copies[link])
        if isinstance(found, Infeasible):
            own = link in near or isinstance(sizes[link.reader], AttentionStage)
            return (link if own else None), found
    for at, size in enumerate(sizes):
        mine = {link.operand: link for link in links if link.reader == at and _paired(link, sizes)}
        if not isinstance(size, AttentionStage):
            continue
        keys, values = (face_of(sizes[mine[name].writer]) for name in PAIRED)
        keyed = key_gates(keys, values, size, max(copies[link] for link in mine.values()))
        if isinstance(keyed, Infeasible):
            return mine[PAIRED[0]], keyed
    return None, None


def _paired(link: Link, sizes: Sequence[Stage]) -> bool:
    """Whether it is one of the two whose buffers keys and values share."""
    return isinstance(sizes[link.reader], AttentionStage) and link.operand in PAIRED


def refuses_whole(
    stages: Sequence[tuple[DenseLayer | Rows, Workload]],
    plans: Sequence[SpreadPlan | RowStagePlan],
    device: Device,
) -> Infeasible | None:
    """Why stages cannot be laid out as one graph.

    Args:
        stages: of the pipeline.
        plans: that are chosen.
        device: the array.
    """
    members = []
    for at, ((_, workload), plan) in enumerate(zip(stages, plans, strict=True)):
        graph = plan.graph(f"stage{at}", workload, zeros_of(workload))
        names = tuple(operand.name for operand in workload.inputs)
        if isinstance(plan, SpreadPlan):
            members.append(Member(graph, names, plan.timed))
        else:
            members.append(Member(graph, names, rows=plan.stage))
    whole = join_stages("stages", members, device, links_of(stages))
    return cannot_lie(whole.graph, device, orders=ORDERS)
