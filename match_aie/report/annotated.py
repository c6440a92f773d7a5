"""A compiled network's own ONNX model, whose nodes say who runs them: for Netron and the like."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from match_aie.errors import OptionError
from match_aie.report.network import NetworkReport, StepRow, network_report
from match_aie.report.text import FALLBACK

#: Before every key, so that it is nobody else's.
PREFIX = "match_aie."


def annotated(model: bytes, manifest: Mapping[str, Any]) -> tuple[bytes, int]:
    """The model with metadata at each node that a call of the network is named after.

    Nodes that were fused into another one's layer carry none. Metadata change no meaning: the
    model stays valid and runs as before.

    Args:
        model: an ONNX file.
        manifest: the `match_aie.json` of what was made of it.

    Returns:
        The file, and how many nodes were annotated.

    Raises:
        OptionError: it is no ONNX model.
        ProjectError: the manifest is damaged.
    """
    import onnx

    report = network_report(manifest)
    try:
        made = onnx.load_from_string(model)
    except Exception as error:  # protobuf's and onnx's own errors have no base
        raise OptionError("the project's model is no ONNX file; only such are annotated") from error
    done = 0
    for node in made.graph.node:
        facts = _facts(report, {node.name, *node.output} - {""})
        done += bool(facts)
        for key, value in facts.items():
            node.metadata_props.add(key=PREFIX + key, value=value)
    return made.SerializeToString(deterministic=True), done


def _facts(report: NetworkReport, names: set[str]) -> dict[str, str]:
    """Of all calls that bear one of `names`: two where halves of a layer run at the same time."""
    steps = [step for step in report.steps if _plain(step.name) in names]
    layers = [step for step in steps if step.layer is not None]
    found: dict[str, list[str]] = {}
    for step in layers or steps:  # a layout change before a layer bears its name, too
        for key, value in _said(step):
            found.setdefault(key, []).append(value)
    return {key: "; ".join(values) for key, values in found.items()}


def _plain(name: str) -> str:
    """A call's name without the rows that it computes."""
    return name.partition(" rows ")[0]


def _said(step: StepRow) -> Iterator[tuple[str, str]]:
    yield "call", str(step.index)
    yield "module", step.layer.module if step.layer else FALLBACK
    yield "runs_as", step.layer.pattern if step.layer else step.operators
    if step.layer is not None:
        yield "cycles_modelled", f"{step.layer.cycles:.0f}"
        for key, loops in (("in_space", step.layer.spatial), ("in_time", step.layer.temporal)):
            if loops:
                yield key, ", ".join(f"{dim} {size}" for dim, size in loops)
    if step.simulated is not None:
        yield "cycles_simulated", f"{step.simulated:.0f}"
