"""The verbs and their options; each does its work in a module of its own, imported when used."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from match_aie.cli.parameters import (
    Bounds,
    Cached,
    Folder,
    Json,
    Kept,
    Model,
    Params,
    Pinned,
    Rule,
    Seconds,
    Shapes,
    Target,
    TargetOptions,
    Values,
    What,
)
from match_aie.cli.terminal import say

app = typer.Typer(
    name="match-aie",
    help="Compiles neural networks for heterogeneous chips into C that belongs to you.",
    add_completion=True,
    pretty_exceptions_enable=False,
    epilog="Exit codes: 0 ok, 1 user error, 2 does not fit, 3 toolchain, 4 wrong result.",
)


@app.callback(invoke_without_command=True)
def start(
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", help="Print the version, and of which schema projects are.")
    ] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show tracebacks of errors.")] = False,
    quiet: Annotated[
        bool, typer.Option("--quiet", "-q", help="Print errors and what --json asks for, only.")
    ] = False,
    verbose: Annotated[
        int,
        typer.Option(
            "--verbose", "-v", count=True, help="Log the time of each stage; -vv: of each search."
        ),
    ] = 0,
) -> None:
    """Compiles neural networks for heterogeneous chips into C that belongs to you."""
    del debug, quiet, verbose  # read by `match_aie.cli.guard`, wherever they stand
    if version:
        import match_aie
        from match_aie.version import SCHEMA_VERSION

        say(f"match-aie {match_aie.__version__} (projects of schema {SCHEMA_VERSION})")
        raise typer.Exit
    if context.invoked_subcommand is None:
        say(context.get_help())


@app.command("compile")
def compile_(
    model: Model,
    target: Target = "CPU",
    target_options: TargetOptions = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="DIR", help="Where to write; nothing by default."),
    ] = None,
    shape: Shapes = None,
    value: Values = None,
    state: Kept = None,
    pin: Pinned = None,
    memory_limit: Annotated[
        str | None,
        typer.Option("--memory-limit", metavar="64k", help="Bytes that activations may take."),
    ] = None,
    arithmetic: Annotated[
        str,
        typer.Option(
            metavar="WHOSE",
            help="module: the hardware's rounding; model: the model's; nearest: a stated loss.",
        ),
    ] = "module",
    integer_io: Annotated[
        bool, typer.Option("--integer-io", help="Integer inputs and outputs where possible.")
    ] = False,
    selection: Rule = "cheapest",
    objective: What = "latency",
    cache: Cached = True,
    params: Params = None,
    limit: Bounds = None,
    name: Annotated[
        str | None, typer.Option(metavar="NET", help="Name of the network in the C code.")
    ] = None,
    force: Annotated[
        bool, typer.Option("--overwrite", "--force", help="Replace a project in DIR.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Compile MODEL for a target and write a project: C sources, weights, Makefile."""
    from match_aie.cli.compiling import Request, compile_model

    compile_model(
        Request(
            model,
            target,
            output,
            tuple(shape or ()),
            memory_limit,
            arithmetic,
            integer_io,
            name,
            force,
            *(selection, cache, params),
            *(tuple(limit or ()), tuple(value or ()), objective),
            *(tuple(state or ()), tuple(pin or ()), target_options),
        ),
        as_json,
    )


@app.command()
def run(
    folder: Folder,
    inputs: Annotated[
        Path | None,
        typer.Option(metavar="X.NPZ", help="Arrays by input name; random values by default."),
    ] = None,
    outputs: Annotated[
        Path | None, typer.Option(metavar="Y.NPZ", help="Where to write the outputs.")
    ] = None,
    seed: Annotated[int, typer.Option(min=0, metavar="N", help="Of the random inputs.")] = 0,
    size: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=N", help="Of the random inputs, where a run gives sizes."),
    ] = None,
    compiler: Annotated[
        str | None, typer.Option(metavar="CC", help="C compiler; the system's own by default.")
    ] = None,
    sanitize: Annotated[
        bool, typer.Option("--sanitize", help="With address and undefined-behaviour checks.")
    ] = False,
    check_fallback: Annotated[
        bool,
        typer.Option("--check-fallback", help="Compare fallback functions with TVM's LLVM code."),
    ] = False,
    edited: Annotated[
        bool, typer.Option("--edited", help="Run files as they are that were changed since.")
    ] = False,
    timeout: Seconds = 600,
    as_json: Json = False,
) -> None:
    """Build a project for this machine, run it once, and compare it with its references."""
    from match_aie.cli.running import RunRequest, run_project

    request = RunRequest(
        *(folder, inputs, outputs, seed, compiler, sanitize, edited, timeout or None),
        check_fallback=check_fallback,
        sizes=tuple(size or ()),
    )
    run_project(request, as_json)


@app.command()
def simulate(
    folder: Folder,
    trace: Annotated[
        Path | None,
        typer.Option("--trace", metavar="T.JSON", help="Write who was busy when, for Perfetto."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Run a project once in its chip's simulator: cycles per layer beside the predicted ones."""
    from match_aie.cli.simulating import simulate_project

    simulate_project(folder, trace, as_json)


@app.command("compare-cycles")
def compare_cycles(
    folder: Folder,
    log: Annotated[Path, typer.Argument(metavar="LOG", help="What a chip's program printed.")],
    run: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Of which run; by default the last.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Set what a chip counted beside prediction and simulation, step by step."""
    from match_aie.cli.counting import compare_log

    compare_log(folder, log, run, as_json)


@app.command()
def explain(
    folder: Folder,
    layer: Annotated[
        str | None,
        typer.Argument(
            metavar="LAYER", help="A layer's name, C function, or number; all by default."
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Say who runs each layer at what modelled cost, who else could, and who refused and why."""
    from match_aie.cli.explaining import explain_project

    explain_project(folder, layer, as_json)


@app.command()
def report(
    folder: Folder,
    figure: Annotated[
        str | None,
        typer.Option(
            "--figure",
            metavar="NAME",
            help="One figure: graph, layers, memory, timeline, floorplan ...",
        ),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help="The page, an .svg or .png, or the model as .onnx with who runs each node.",
        ),
    ] = None,
    compare: Annotated[
        Path | None,
        typer.Option("--compare", metavar="DIR", help="Print what differs from this project."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Write a project's report.html anew, one figure as a file, or what differs from another."""
    from match_aie.cli.reporting import report_project

    report_project(folder, figure, output, compare, as_json)


@app.command("map")
def map_(
    model: Model,
    layer: Annotated[str, typer.Argument(metavar="LAYER", help="A layer's name.")],
    target: Target = "CPU",
    target_options: TargetOptions = None,
    module: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="How this module would run it; who does by default."),
    ] = None,
    engine: Annotated[
        str, typer.Option(metavar="ENGINE", help="Of the search: loma, exact or zigzag.")
    ] = "loma",
    objective: What = "latency",
    shape: Shapes = None,
    value: Values = None,
    cache: Cached = True,
    params: Params = None,
    limit: Bounds = None,
    as_json: Json = False,
) -> None:
    """Show how a layer's loops run: nest, bytes and reuse per memory, cost, next best mappings."""
    from match_aie.cli.mapping import MapRequest, map_layer

    request = MapRequest(
        *(model, target, layer, module, engine, tuple(shape or ()), cache, params),
        *(tuple(limit or ()), objective, tuple(value or ()), target_options),
    )
    map_layer(request, as_json)


@app.command()
def targets(
    name: Annotated[str | None, typer.Argument(metavar="NAME", help="Describe this one.")] = None,
    as_json: Json = False,
) -> None:
    """List the installed targets, or describe one: modules, memories, patterns."""
    from match_aie.cli.explaining import show_targets

    show_targets(name, as_json)


@app.command("check-target")
def check_target(
    name: Annotated[str, typer.Argument(metavar="NAME", help="An installed target.")],
    compiler: Annotated[
        str | None, typer.Option(metavar="CC", help="C compiler; the system's own by default.")
    ] = None,
    timeout: Seconds = 300,
    budget: Annotated[
        float,
        typer.Option(
            min=0,
            metavar="SECONDS",
            help="For trying each module without those that were preferred; 0: no limit.",
        ),
    ] = 600,
    case: Annotated[
        list[str] | None,
        typer.Option(metavar="WORD", help="Only layers whose name holds the word; repeatable."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Try a target on small layers of every kind: compile, build, run, compare, simulate."""
    from match_aie.cli.checking import check_named

    limits = (timeout or None, budget or None)
    check_named(name, compiler, limits, tuple(case or ()), as_json)


@app.command("new-target")
def new_target(
    name: Annotated[str, typer.Argument(metavar="NAME", help="What the chip is called.")],
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", metavar="DIR", help="Where to write; a folder named like the package."
        ),
    ] = None,
    tiled: Annotated[
        bool, typer.Option("--tiled", help="With a scratchpad, a DMA, and their emulation.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Write a Python package with a target of one module and one template, to start from."""
    from match_aie.cli.checking import show_new_target

    show_new_target(name, output, tiled, as_json)


@app.command()
def doctor(as_json: Json = False) -> None:
    """Say what is installed, what is missing, and what does not work without it."""
    from match_aie.cli.checking import show_doctor

    show_doctor(as_json)


@app.command()
def demo(
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="DIR", help="Where the project goes.")
    ] = Path("build/digits"),
    target: Annotated[
        str, typer.Option("--target", "-t", metavar="NAME", help="What it is compiled for.")
    ] = "VersalAIEML",
    as_json: Json = False,
) -> None:
    """Compile, build and run a trained network on 100 real images."""
    from match_aie.cli.demonstrating import show_demo

    show_demo(output, as_json, target)
