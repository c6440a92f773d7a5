"""What is known of a processor: vectors, caches, peaks; from data files, or from this machine.

Every file of `facts/` describes one name that `CPU(arch=...)` takes, with the source of each
number. `native` picks the file with the widest vectors that this machine has, and puts in the
cache sizes that the operating system states; or the file that the variable `PIN` names.
"""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Mapping
from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from typing import Any

from match_aie.cost_models.processor import Cache, Dot, Machine, Peaks
from match_aie.errors import TargetError, shorten

__all__ = [
    "NATIVE",
    "PIN",
    "PORTABLE",
    "Cache",
    "Dot",
    "Machine",
    "Peaks",
    "executes",
    "machine",
    "names",
    "native",
    "with_caches",
]

NATIVE = "native"
#: The environment variable that says what `native` finds, whatever this machine is.
PIN = "MATCH_AIE_ARCH"
#: What runs everywhere: C without vector types or flags of its own.
PORTABLE = "portable"


def names() -> tuple[str, ...]:
    """What `machine` takes beside "native", sorted."""
    found = (entry.name for entry in files(__package__).joinpath("facts").iterdir())
    return tuple(sorted(name.removesuffix(".json") for name in found if name.endswith(".json")))


def machine(arch: str = NATIVE) -> Machine:
    """The facts about `arch`, or about this machine where it is "native".

    Raises:
        TargetError: there are no facts about `arch`.
    """
    if arch == NATIVE:
        return native()
    if arch not in names():
        raise TargetError(
            f"no processor architecture called {shorten(str(arch), 60)!r}",
            hint="arch is one of " + ", ".join((NATIVE, *names())),
        )
    text = files(__package__).joinpath("facts", f"{arch}.json").read_text(encoding="utf-8")
    return _machine(arch, json.loads(text))


def _machine(name: str, data: Mapping[str, Any]) -> Machine:
    return Machine(
        name=name,
        family=data["family"],
        flags=tuple(data["flags"]),
        compilers=tuple(data["compilers"]),
        features=tuple(data["features"]),
        vector_bytes=data["vector_bytes"],
        vector_registers=data["vector_registers"],
        dot=data["dot"],
        caches=tuple(Cache(**cache) for cache in data["caches"]),
        memory_bytes_per_cycle=data["memory_bytes_per_cycle"],
        memory_latency=data.get("memory_latency", 0.0),
        peaks=Peaks(**data["peaks"]),
    )


#: Linux's names of what a file of facts may ask for, where they differ from the file's.
_LINUX = {
    "avx512vnni": "avx512_vnni",
    "avxvnni": "avx_vnni",
    "dotprod": "asimddp",
    "lzcnt": "abm",
    "sse3": "pni",
}
_FAMILIES = {"x86_64": "x86-64", "amd64": "x86-64", "aarch64": "aarch64", "arm64": "aarch64"}
#: Levels that `PIN` may name and that have no facts of their own: no vectors wide enough.
_LEVELS = {"x86-64": "portable", "x86-64-v2": "portable"}
_PREFERRED = (
    "x86-64-v4+avx512vnni",
    "x86-64-v3+avxvnni",
    "x86-64-v4",
    "x86-64-v3",
    "aarch64",
    "cortex-a72",
)


def native(cpuinfo: Path = Path("/proc/cpuinfo"), caches: Path | None = None) -> Machine:
    """This machine: the best facts it fulfils, with its own cache sizes; `PORTABLE` where none.

    Where the environment variable `PIN` names facts, those, whether this machine fulfils them or
    not: compiling needs no processor, and running says what is missing.

    Args:
        cpuinfo: where Linux lists the processor's features.
        caches: the folder where Linux describes its caches.

    Raises:
        TargetError: `PIN` names no facts.
    """
    pinned = os.environ.get(PIN, "").strip()
    if pinned and pinned != NATIVE:
        facts = _pinned(pinned)
    else:
        found = (machine(name) for name in _PREFERRED)
        facts = next((each for each in found if executes(each, cpuinfo)), machine(PORTABLE))
    if facts.name != PORTABLE and facts.family != _family():
        return facts
    sizes = _cache_sizes(caches or Path("/sys/devices/system/cpu/cpu0/cache"))
    return with_caches(facts, sizes if facts.name == PORTABLE else _counted_on(facts, sizes))


def _pinned(name: str) -> Machine:
    name = _LEVELS.get(name, name)
    if name not in names():
        raise TargetError(
            f"{PIN} names no processor architecture: {shorten(name, 60)!r}",
            hint="unset it, or set it to one of " + ", ".join((*_LEVELS, *names())),
        )
    return machine(name)


def executes(facts: Machine, cpuinfo: Path = Path("/proc/cpuinfo")) -> bool:
    """Whether this machine, whatever `PIN` says, runs what is compiled for `facts`."""
    needs = {_LINUX.get(feature, feature) for feature in facts.features}
    same = facts.family == _family() or facts.name == PORTABLE
    return same and needs <= _features(cpuinfo)


def _family() -> str:
    """Of this machine's processor; "" where none of the files is for it."""
    return _FAMILIES.get(platform.machine().lower(), "")


def _counted_on(facts: Machine, sizes: Mapping[int, int]) -> dict[int, int]:
    """What a core can count on of this machine's caches: beyond the second no more than facts say.

    Cores share them, and a guest of a hypervisor is told the size of all (AMD's 32 MiB serve eight
    cores) but not who else fills it.
    """
    stated = {level: cache.bytes for level, cache in enumerate(facts.caches, start=1)}
    return {
        level: min(nbytes, stated.get(level, nbytes)) if level > 2 else nbytes
        for level, nbytes in sizes.items()
    }


def _features(cpuinfo: Path) -> set[str]:
    try:
        lines = cpuinfo.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return set()
    for line in lines:
        key, _, value = line.partition(":")
        if key.strip() in ("flags", "Features"):
            return set(value.split())
    return set()


def _cache_sizes(folder: Path) -> dict[int, int]:
    """Bytes of the data caches by level, as Linux states them."""
    found: dict[int, int] = {}
    for index in sorted(folder.glob("index*")):
        try:
            kind = (index / "type").read_text().strip()
            level = int((index / "level").read_text())
            size = (index / "size").read_text().strip()
            if kind != "Instruction" and size.endswith("K"):
                found[level] = int(size[:-1]) * 1024
        except (OSError, ValueError):
            continue
    return found


def with_caches(facts: Machine, sizes: Mapping[int, int]) -> Machine:
    """`facts` with these bytes of data caches by level, from 1; others stay."""
    caches = tuple(
        replace(cache, bytes=sizes.get(level, cache.bytes))
        for level, cache in enumerate(facts.caches, start=1)
    )
    return replace(facts, caches=caches)
