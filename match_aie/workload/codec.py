"""Workloads as JSON, there and back without loss: floats travel as hexadecimal strings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any, get_args

from match_aie.errors import ModelError, ProjectError
from match_aie.workload.kinds import Kind
from match_aie.workload.workload import (
    Activation,
    Added,
    Axis,
    Operand,
    Precision,
    RealTail,
    Tail,
    Window,
    Workload,
)


def to_json(workload: Workload) -> dict[str, Any]:
    """`workload` as a JSON object; `from_json` gives an equal one."""
    run_time = {"run_time": list(workload.run_time)} if workload.run_time else {}
    added = {"added": [_added_to_json(each) for each in workload.added]} if workload.added else {}
    return {
        **run_time,
        **added,
        "kind": workload.kind,
        "dims": [[name, size] for name, size in workload.dims],
        "operands": [_operand_to_json(operand) for operand in workload.operands],
        "window": None if workload.window is None else asdict(workload.window),
        "tail": None if workload.tail is None else asdict(workload.tail),
        "real": None if workload.real is None else _real_to_json(workload.real),
        "parameters": [[name, float(value).hex()] for name, value in workload.parameters],
    }


def from_json(data: Mapping[str, Any]) -> Workload:
    """The workload that `to_json` wrote.

    Raises:
        ProjectError: `data` is not what `to_json` writes.
    """
    try:
        if data["kind"] not in get_args(Kind):
            raise ValueError(f"unknown kind {data['kind']!r}")
        return Workload(
            data["kind"],
            tuple((str(name), int(size)) for name, size in data["dims"]),
            tuple(_operand_from_json(operand) for operand in data["operands"]),
            None if data["window"] is None else _window_from_json(data["window"]),
            None if data["tail"] is None else Tail(**data["tail"]),
            None if data["real"] is None else _real_from_json(data["real"]),
            tuple((str(name), float.fromhex(value)) for name, value in data["parameters"]),
            tuple(map(str, data.get("run_time", ()))),
            tuple(_added_from_json(each) for each in data.get("added", ())),
        )
    except (KeyError, TypeError, ValueError, AttributeError, ModelError) as error:
        raise ProjectError(
            f"this is not a stored workload: {type(error).__name__}: {error}",
            hint="compile the model again with this version of match_aie",
        ) from error


def _operand_to_json(operand: Operand) -> dict[str, Any]:
    return {
        "name": operand.name,
        "dtype": operand.dtype,
        "shape": list(operand.shape),
        "axes": [[[[d, c] for d, c in axis.terms], axis.offset] for axis in operand.axes],
        "constant": operand.constant,
        "scale": None if operand.scale is None else float(operand.scale).hex(),
        "zero_point": operand.zero_point,
    }


def _operand_from_json(data: Mapping[str, Any]) -> Operand:
    return Operand(
        data["name"],
        data["dtype"],
        tuple(int(size) for size in data["shape"]),
        tuple(Axis(tuple((str(d), int(c)) for d, c in terms), int(o)) for terms, o in data["axes"]),
        bool(data["constant"]),
        None if data["scale"] is None else float.fromhex(data["scale"]),
        int(data["zero_point"]),
    )


def _added_to_json(added: Added) -> dict[str, Any]:
    scales = {"scale": float(added.scale).hex(), "to": float(added.to).hex()}
    return {"operand": added.operand, **scales, "tail": asdict(added.tail)}


def _added_from_json(data: Mapping[str, Any]) -> Added:
    scale, to = (float.fromhex(data[name]) for name in ("scale", "to"))
    return Added(str(data["operand"]), scale, to, Tail(**data["tail"]))


def _real_to_json(real: RealTail) -> dict[str, str]:
    numbers = {"factor": real.factor, "lo": real.lo, "hi": real.hi}
    named = {"activation": real.activation, "precision": real.precision}
    return {**named, **{n: float(v).hex() for n, v in numbers.items()}}


def _real_from_json(data: Mapping[str, Any]) -> RealTail:
    if data["activation"] not in get_args(Activation):
        raise ValueError(f"unknown activation {data['activation']!r}")
    if data["precision"] not in get_args(Precision):
        raise ValueError(f"unknown precision {data['precision']!r}")
    factor, lo, hi = (float.fromhex(data[name]) for name in ("factor", "lo", "hi"))
    return RealTail(data["activation"], factor, lo, hi, data["precision"])


def _window_from_json(data: Mapping[str, Any]) -> Window:
    (sy, sx), (dy, dx) = data["stride"], data["dilation"]
    top, left, bottom, right = data["padding"]
    return Window((sy, sx), (dy, dx), (top, left, bottom, right), bool(data["count_include_pad"]))
