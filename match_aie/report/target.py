"""A target as text and as JSON: modules, memories, patterns."""

from __future__ import annotations

import json
from collections.abc import Iterator

from match_aie.hardware import ExecModule, MatchTarget, Memory, arguments_of
from match_aie.report.table import count, table


def target_text(target: MatchTarget) -> str:
    """Name, description, arguments, and every module with its memories and patterns."""
    profile = target.build_profile()
    lines = [
        f"{target.name}: {target.description()}",
        f"  built with {' '.join(profile.flags)}; buffers start at multiples of "
        f"{profile.alignment} bytes",
    ]
    taken = arguments_of(type(target))
    if taken:
        rows = [(name, json.dumps(value)) for name, value in taken.items()]
        lines += ["", table(("argument", "default (--target-options FILE)"), rows, "  ", 80)]
    for module in target.modules():
        lines += ["", f"  module {module.name}", *_module(module)]
    return "\n".join(lines)


def _module(module: ExecModule) -> Iterator[str]:
    for memory in module.memories:
        yield f"    memory {_memory(memory)}"
    rows = [
        (pattern.name, pattern.kind, " <- ".join(pattern.structure.operators()))
        for pattern in module.patterns()
    ]
    yield table(("pattern", "kind", "operators, output first"), rows, "    ", 120)


def _memory(memory: Memory) -> str:
    size = "no limit" if memory.bytes is None else f"{count(memory.bytes)} bytes"
    return f"{memory.name}: {size}, {memory.bytes_per_cycle:g} bytes per cycle"


def target_json(target: MatchTarget) -> dict[str, object]:
    """The same as plain objects."""
    return {
        "name": target.name,
        "description": target.description(),
        "flags": list(target.build_profile().flags),
        "alignment": target.build_profile().alignment,
        "arguments": arguments_of(type(target)),
        "modules": [
            {
                "name": module.name,
                "memories": [
                    {"name": m.name, "bytes": m.bytes, "bytes_per_cycle": m.bytes_per_cycle}
                    for m in module.memories
                ],
                "patterns": [
                    {
                        "name": pattern.name,
                        "kind": pattern.kind,
                        "operators": list(pattern.structure.operators()),
                    }
                    for pattern in module.patterns()
                ],
            }
            for module in target.modules()
        ],
    }
