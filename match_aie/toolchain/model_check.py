"""Comparing a run with the model itself in onnxruntime, where that is installed.

What a model means is what its operators say, one after the other: onnxruntime with its graph
optimisations disabled. Optimised, it fuses quantised operators into kernels with an arithmetic of
their own, which may be far from that; this difference is onnxruntime's and is told apart.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from match_aie.codegen.port import PortRecord
from match_aie.errors import shorten
from match_aie.toolchain.optimised import optimised_run
from match_aie.toolchain.record import Record
from match_aie.toolchain.sessions import errors, opened
from match_aie.toolchain.whole_sums import whole_sums

if TYPE_CHECKING:
    from onnxruntime import InferenceSession


@dataclass(frozen=True)
class ModelDifference:
    """How far a run is from the model, and onnxruntime's optimiser from the model.

    Attributes:
        max_lsb: largest difference per output in integer steps, where the step is known, from
            onnxruntime without graph optimisations.
        max_abs: largest absolute difference per floating-point output, likewise.
        optimiser_lsb: the difference of onnxruntime's own optimised run from its run without
            optimisations, in integer steps; empty where it does not run both.
        optimiser_abs: the same in real numbers.
        note: why there is no comparison, or an empty string.
    """

    max_lsb: Mapping[str, int] = field(default_factory=dict)
    max_abs: Mapping[str, float] = field(default_factory=dict)
    optimiser_lsb: Mapping[str, int] = field(default_factory=dict)
    optimiser_abs: Mapping[str, float] = field(default_factory=dict)
    note: str = ""


def compare_with_model(
    folder: Path,
    record: Record,
    inputs: Mapping[str, np.ndarray],
    outputs: Mapping[str, np.ndarray],
    *,
    optimiser: bool = True,
) -> ModelDifference:
    """Run model.onnx of the project on `inputs` in onnxruntime and compare with `outputs`.

    Args:
        folder: of the project.
        record: its manifest.
        inputs: by the model's names.
        outputs: of our run, by the model's names.
        optimiser: whether it is also run as onnxruntime's optimiser makes it.
    """
    if record.model is None or not record.model.endswith(".onnx"):
        return ModelDifference(note="the project holds no ONNX model")
    if importlib.util.find_spec("onnxruntime") is None:
        return ModelDifference(note="onnxruntime is not installed")
    try:
        session = _meant(folder / record.model)
        feed = _feed(session, record, inputs)
        if isinstance(feed, str):
            return ModelDifference(note=feed)
        names = [output.name for output in session.get_outputs()]
        theirs = dict(zip(names, session.run(names, feed), strict=True))
    except errors() as error:
        return ModelDifference(note=f"onnxruntime cannot run the model: {shorten(str(error))}")
    found = _differences(record, outputs, theirs)
    if isinstance(found, str):
        return ModelDifference(note=found)
    fast = optimised_run(folder / record.model, feed) if optimiser else None
    other = None if fast is None else _differences(record, theirs, fast)
    apart = ({}, {}) if other is None or isinstance(other, str) else other
    return ModelDifference(*found, *apart)


def _meant(path: Path) -> InferenceSession:
    """The model in onnxruntime as its operators say it, with sums that do not saturate."""
    from onnxruntime import GraphOptimizationLevel as levels

    # Some models run only with the rewrites that do not touch arithmetic.
    plain = (levels.ORT_DISABLE_ALL, levels.ORT_ENABLE_BASIC)
    whole = whole_sums(path)
    if whole is not None:
        try:
            return opened(whole, plain)
        except errors():
            pass  # a kernel that takes no such weights: the model as it is
    return opened(path, plain)


def _feed(
    session: InferenceSession, record: Record, inputs: Mapping[str, np.ndarray]
) -> dict[str, np.ndarray] | str:
    """What the model takes, by name, or why it cannot be fed."""
    ports = {port.name: port for port in record.inputs}
    feed = {}
    for wanted in session.get_inputs():
        if wanted.name not in ports:
            return f"the model wants an input {shorten(wanted.name, 60)!r} that was compiled away"
        feed[wanted.name] = _as_model_input(
            inputs[wanted.name], ports[wanted.name], wanted.type == "tensor(float)"
        )
    return feed


def _as_model_input(array: np.ndarray, port: PortRecord, wants_float: bool) -> np.ndarray:
    """`array` as the model takes it: in real numbers where the project takes their integers."""
    if wants_float and port.dtype != "float32" and port.scale is not None:
        steps = array.astype(np.int64) - port.zero_point
        return steps.astype(np.float32) * np.float32(port.scale)
    return array


def _differences(
    record: Record, outputs: Mapping[str, np.ndarray], theirs: Mapping[str, np.ndarray]
) -> tuple[dict[str, int], dict[str, float]] | str:
    """Largest difference of every output in integer steps and in real numbers, or why not."""
    lsb: dict[str, int] = {}
    absolute: dict[str, float] = {}
    for port in record.outputs:
        ours, model = outputs[port.name], theirs.get(port.name)
        if model is None or not isinstance(model, np.ndarray) or model.size != ours.size:
            return f"the model's output {shorten(port.name, 60)!r} has another size"
        steps, real = _difference(port, ours.reshape(-1), model.reshape(-1))
        if steps is not None:
            lsb[port.name] = steps
        if real is not None:
            absolute[port.name] = real
    return lsb, absolute


def _difference(
    port: PortRecord, ours: np.ndarray, model: np.ndarray
) -> tuple[int | None, float | None]:
    """Largest difference in integer steps and in real numbers, None where it has no meaning."""
    floats = [np.issubdtype(a.dtype, np.floating) for a in (ours, model)]
    if not any(floats):
        gap = np.abs(ours.astype(np.int64) - model.astype(np.int64))
        return int(gap.max(initial=0)), None
    real = ours.astype(np.float64)
    if not floats[0]:
        if port.scale is None:
            return None, None
        real = (real - port.zero_point) * port.scale
    wanted = model.astype(np.float64)
    same = (real == wanted) | (np.isnan(real) & np.isnan(wanted))
    with np.errstate(invalid="ignore"):
        gap = np.where(same, 0.0, np.abs(real - wanted))
    # A NaN on one side only is as far off as can be.
    largest = float(np.where(np.isnan(gap), np.inf, gap).max(initial=0.0))
    known = port.scale is not None and np.isfinite(largest)
    return (int(np.rint(largest / port.scale)) if known and port.scale else None), largest
