"""Arguments and options that several commands have."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")]
Folder = Annotated[Path, typer.Argument(metavar="DIR", help="A folder that compile wrote.")]


def _targets(begun: str) -> list[str]:
    """Installed targets whose names begin so, for a shell that completes a word."""
    from match_aie.hardware import target_names

    return [name for name in target_names() if name.startswith(begun)]


Target = Annotated[
    str,
    typer.Option(
        "--target", "-t", metavar="NAME", help="See `match-aie targets`.", autocompletion=_targets
    ),
]
TargetOptions = Annotated[
    Path | None,
    typer.Option(
        "--target-options", metavar="FILE", help="Arguments of the target, as YAML or JSON."
    ),
]
Model = Annotated[Path, typer.Argument(metavar="MODEL", help="An ONNX, TFLite or Relay file.")]
Shapes = Annotated[
    list[str] | None,
    typer.Option("--shape", metavar="NAME=1,3,32,32", help="Sizes or ranges (1..128)."),
]
Values = Annotated[
    list[str] | None,
    typer.Option(
        "--value", metavar="NAME=16000", help="Make an input of an ONNX model a constant."
    ),
]
Kept = Annotated[
    list[str] | None,
    typer.Option("--state", metavar="IN=OUT", help="Keep an output for an input of the next call."),
]
Pinned = Annotated[
    list[str] | None,
    typer.Option("--pin", metavar="LAYER=MODULE", help="Who runs a layer; core: no module."),
]
Cached = Annotated[
    bool, typer.Option("--cache/--no-cache", help="Keep and use results of mapping searches.")
]
Params = Annotated[
    Path | None,
    typer.Option("--params", metavar="FILE", help="Parameters of a Relay module: .npz or .params."),
]
Seconds = Annotated[
    float,
    typer.Option(
        "--timeout", min=0, metavar="SECONDS", help="Longest time that a run may take; 0: no limit."
    ),
]
Bounds = Annotated[
    list[str] | None,
    typer.Option("--limit", metavar="NAME=N", help="How large the model may be: docs/cli.md."),
]
What = Annotated[str, typer.Option(metavar="WHAT", help="To minimise: latency, energy or edp.")]
Rule = Annotated[
    str,
    typer.Option(
        metavar="RULE",
        help='"cheapest": the cover of least modelled cycles; "match": longest patterns first.',
    ),
]
