"""A Relay module, in whatever form, as a `Model`."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np

from match_aie.errors import ModelError, shorten
from match_aie.frontend.model import Model, Port
from match_aie.frontend.relax_import import load_relax
from match_aie.frontend.relay.json_reader import read_module
from match_aie.frontend.relay.lower import lower
from match_aie.frontend.relay.parameters import read_parameters
from match_aie.frontend.relay.parser import parse
from match_aie.frontend.relay.source import Source
from match_aie.frontend.relay.syntax import Module
from match_aie.limits import Limits


def load_relay(
    text: str,
    *,
    name: str | None = None,
    shapes: Mapping[str, Sequence[int]] | None = None,
    params: Any = None,
    limits: Limits = Limits(),
) -> Model:
    """Read a Relay module from its text, or from the JSON of `tvm.ir.save_json`.

    Args:
        text: either; JSON starts with a brace.
        name: of the network.
        shapes: sizes of inputs that the module leaves open, by name.
        params: values of parameters of `main`, see `read_parameters`; parameters without a value
            are inputs.
        limits: how much the constants that operators make may take.

    Raises:
        ModelError: with line, column and what was expected; or what does not fit.
        UnsupportedOperatorError: listing every operator that has no rule.
    """
    source, module = read(text)
    arrays = read_parameters(params)
    sizes = {key: tuple(int(s) for s in value) for key, value in (shapes or {}).items()}
    try:
        lowered = lower(source, module, arrays, sizes, limits)
    except RecursionError as error:
        raise ModelError("the module nests too deep to be a network") from error
    model = load_relax(lowered.module, name=name)
    labels = {key: lowered.labels.get(old, old) for key, old in model.labels.items()}
    inputs = [_named(p, n) for p, n in zip(model.inputs, lowered.inputs, strict=True)]
    return Model(
        module=model.module,
        name=model.name,
        inputs=tuple(inputs),
        outputs=model.outputs,
        source=text.encode("utf-8", "surrogatepass") + _digest(arrays),
        format="relay",
        labels=MappingProxyType(labels),
        warnings=(*lowered.warnings, *_unused(lowered.parameters, arrays)),
    )


def read(text: str) -> tuple[Source, Module]:
    """The syntax tree of `text`, and where its parts stand.

    Raises:
        ModelError: with line, column and what was expected.
    """
    try:
        if text.lstrip()[:1] == "{":
            return Source(""), read_module(text)
        source = Source(text)
        return source, parse(source)
    except RecursionError as error:
        raise ModelError("the module nests too deep to be a network") from error


def _named(port: Port, name: str) -> Port:
    return Port(name, port.dtype, port.shape, port.scale, port.zero_point)


def _digest(arrays: Mapping[str, np.ndarray]) -> bytes:
    """Stands for the parameters in what identifies the model."""
    digest = hashlib.sha256()
    for name in sorted(arrays):
        value = np.ascontiguousarray(arrays[name])
        digest.update(f"{name} {value.dtype} {value.shape}".encode("utf-8", "surrogatepass"))
        digest.update(value.tobytes())
    return digest.digest() if arrays else b""


def _unused(parameters: Sequence[str], arrays: Mapping[str, np.ndarray]) -> list[str]:
    names = [name for name in arrays if name not in parameters]
    if not names:
        return []
    shown = ", ".join(shorten(name, 40) for name in names[:5])
    return [f"main has no parameters for {len(names)} of the arrays given: {shown}"]
