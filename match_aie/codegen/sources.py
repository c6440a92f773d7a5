"""The emitted project as bytes by path; nothing here touches the disk."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from types import MappingProxyType

from match_aie.codegen import manifest as manifests
from match_aie.codegen.digests import digests, sealed
from match_aie.codegen.flags import checked, is_cxx
from match_aie.codegen.fragment import render_template, render_text
from match_aie.codegen.network import NetworkView, network_view, render_common
from match_aie.codegen.page import FILE as PAGE
from match_aie.codegen.port import PortLike, records
from match_aie.codegen.state import StateLike, state_records
from match_aie.codegen.weights import Blob, layout
from match_aie.errors import InternalError, TargetError
from match_aie.hardware import BuildProfile, Runtime, Unit
from match_aie.lowering import NetworkProgram

#: Name of the file that makes a folder a project.
MANIFEST = manifests.FILE

_COMPILED = (".c", ".cpp", ".S", ".s")


@dataclass(frozen=True)
class ModelFile:
    """The model as the user gave it.

    Attributes:
        data: its bytes.
        format: "onnx" or "tflite" are kept in the project; others only by their hash.
    """

    data: bytes
    format: str


class Sources(Mapping[str, bytes]):
    """File contents by relative path, unchangeable, in sorted order."""

    def __init__(self, files: Mapping[str, bytes]) -> None:
        """Refuse paths that lead out of the project.

        Raises:
            InternalError: a path is absolute, or not in its simplest form.
        """
        for name in files:
            path = PurePosixPath(name)
            if path.is_absolute() or ".." in path.parts or str(path) != name or "\\" in name:
                raise InternalError(f"{name!r} is no path inside a project")
        self._files = MappingProxyType({name: bytes(files[name]) for name in sorted(files)})

    def __getitem__(self, name: str) -> bytes:
        """Bytes of the file `name`."""
        return self._files[name]

    def __iter__(self) -> Iterator[str]:
        """Paths, sorted."""
        return iter(self._files)

    def __len__(self) -> int:
        """Number of files."""
        return len(self._files)


def render(
    program: NetworkProgram,
    layers: Mapping[str, str],
    manifest: Mapping[str, object],
    *,
    profile: BuildProfile = BuildProfile(),
    inputs: Sequence[PortLike] | None = None,
    outputs: Sequence[PortLike] | None = None,
    states: Sequence[StateLike] = (),
    model: ModelFile | None = None,
    runtime: Runtime = Runtime(),
) -> Sources:
    """The project of `program`: C, weights, Makefile and match_aie.json.

    Args:
        program: schedule and memory plan; its alignment holds for constants too.
        layers: C definitions of all layers by symbol, as `codegen.layer.render_layer` gives them.
        manifest: what the program does not know, for match_aie.json: "name" (the user's name of
            the network), "target", "options" and the like; no absolute paths, no times.
        profile: how the target's sources are built.
        inputs: what users call the inputs; the tensors' labels by default.
        outputs: what users call the outputs; the tensors' labels by default.
        states: outputs that are inputs of the next call.
        model: what was compiled.
        runtime: what the target ships; C files join the library.

    Raises:
        TargetError: flags or alignment that no build can have.
        InternalError: the program is not well formed.
    """
    _check(program, profile)
    schedule, name = program.schedule, program.schedule.name
    paths = (f"weights/{name}.bin", f"weights/{name}_reference.bin")
    blob, backing = _blobs(program)
    references = manifests.locate(program, blob, *paths)
    ports = records(schedule, schedule.inputs, inputs), records(schedule, schedule.outputs, outputs)
    kept = state_records(states, ports, program.plan.alignment)
    compiled = _compiled(program, bool(blob.members), bool(backing.members), runtime)
    title = str(manifest.get("name") or name)
    view = network_view(
        program,
        layers,
        blob,
        ports,
        title=title,
        profile=profile,
        sources=compiled,
        runtime=runtime,
        states=kept,
    )
    files = {**_texts(view), **_constants(view, blob, backing), **_meanings(program)}
    if references.data:
        files[paths[1]] = references.data
    stored = _model_file(model, files)
    for more in (runtime.files, runtime.vendor, units(program.units)):
        _add(files, more)
    build = _build(profile, name, compiled, runtime)
    described = manifests.describe(program, blob, references, ports, kept)
    _add_manifest(files, manifest, described | {"model": stored, "build": build})
    return Sources(files)


def described(project: Sources, manifest: Mapping[str, object], page: bytes) -> Sources:
    """`project` with another manifest, sealed again, and the page that shows it."""
    return Sources({**project, MANIFEST: sealed(manifest), PAGE: page})


def units(wanted: Sequence[Unit]) -> dict[str, bytes]:
    """The text of every unit by its path.

    Raises:
        TargetError: a template is missing or fails.
        InternalError: two units of one path have different texts.
    """
    files: dict[str, bytes] = {}
    for unit in wanted:
        made = render_text if unit.verbatim else render_template
        text = made(unit.template, **unit.values).encode()
        if files.setdefault(unit.path, text) != text:
            raise InternalError(f"two units of a project are called {unit.path} and differ")
    return files


def _blobs(program: NetworkProgram) -> tuple[Blob, Blob]:
    """Constants that stay in memory, and those that are fetched, in the order of the fetches."""
    schedule, alignment = program.schedule, program.plan.alignment
    constants = {constant.name: constant for constant in schedule.constants}
    streamed = [name for stream in program.streams for name in stream.constants]
    resident = [constant for name, constant in constants.items() if name not in set(streamed)]
    return layout(resident, alignment), layout([constants[n] for n in streamed], alignment)


def _constants(view: NetworkView, blob: Blob, backing: Blob) -> dict[str, bytes]:
    """The files of both blobs, and what assembles them."""
    files = {}
    for part, suffix, made in (("weights", "", blob), ("backing", "_backing", backing)):
        if made.members:
            path = f"weights/{view.name}{suffix}.bin"
            files[path] = made.data
            files[f"src/{view.name}_{part}.S"] = render_common(
                "weights.S", view, part=part, file=path, nbytes=len(made.data)
            )
    return files


def _meanings(program: NetworkProgram) -> dict[str, bytes]:
    """The file that says what the fallback's functions mean, where there are any."""
    data = manifests.meanings(program.schedule)
    return {manifests.MEANINGS: data} if data else {}


def _compiled(program: NetworkProgram, weights: bool, backing: bool, runtime: Runtime) -> list[str]:
    name = program.schedule.name
    own = [f"src/{name}.c", *([f"src/{name}_weights.S"] if weights else [])]
    own += [f"src/{name}_backing.S"] if backing else []
    own += [path for path in sorted(runtime.files) if path.endswith(_COMPILED)]
    return own + sorted({unit.path for unit in program.units if unit.compiled})


def _check(program: NetworkProgram, profile: BuildProfile) -> None:
    checked(profile.flags)
    checked(profile.cxx_flags)
    alignment = program.plan.alignment
    if alignment < 8 or alignment.bit_count() != 1:
        raise TargetError(f"alignment {alignment} is not a power of two of at least 8 bytes")


def _add_manifest(
    files: dict[str, bytes], told: Mapping[str, object], described: dict[str, object]
) -> None:
    described["files"] = sorted([*files, MANIFEST])
    described["digests"] = digests(files)
    twice = sorted(described.keys() & told.keys())
    if twice:
        raise InternalError(f"match_aie.json says {', '.join(twice)} of its own")
    _add(files, {MANIFEST: sealed({**told, **described})})


def _build(
    profile: BuildProfile, name: str, compiled: Sequence[str], runtime: Runtime
) -> dict[str, object]:
    cxx = {"cxx_flags": profile.cxx_flags} if any(is_cxx(path) for path in compiled) else {}
    return {
        "flags": profile.flags,
        **cxx,
        "compilers": profile.compilers,
        "sources": compiled,
        "main": f"src/{name}_main.c",
        "unread": sorted(["Makefile", *runtime.vendor]),
    }


def _texts(view: NetworkView) -> dict[str, bytes]:
    return {
        f"include/{view.name}.h": render_common("network.h", view),
        f"src/{view.name}.c": render_common("network.c", view),
        f"src/{view.name}_main.c": render_common("main.c", view),
        "Makefile": render_common("Makefile", view),
    }


def _model_file(model: ModelFile | None, files: dict[str, bytes]) -> dict[str, object] | None:
    """Add the model's file where it has one, and describe it."""
    if model is None:
        return None
    path = f"model.{model.format}" if model.format in ("onnx", "tflite") else None
    if path is not None:
        files[path] = model.data
    return {
        "format": model.format,
        "sha256": hashlib.sha256(model.data).hexdigest(),
        "file": path,
    }


def _add(files: dict[str, bytes], more: Mapping[str, bytes]) -> None:
    for path, data in more.items():
        if path in files:
            raise InternalError(f"two files of a project are called {path}")
        files[path] = data
