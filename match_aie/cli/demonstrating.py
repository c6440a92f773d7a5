"""`match-aie demo`."""

from __future__ import annotations

import shlex
from pathlib import Path

from match_aie import report
from match_aie.cli.terminal import program, say, say_json, working
from match_aie.demo import TARGET, DemoResult, run_demo
from match_aie.errors import MismatchError


def show_demo(folder: Path, as_json: bool, target: str = TARGET) -> None:
    """Compile, build and run the digits network, and show what came of it.

    Raises:
        MismatchError: a layer differs from its reference.
    """
    if not as_json:
        what = "(8x8 pixels, uint8 with int8 weights)"
        say(f"A residual CNN for handwritten digits {what}, compiled for {target}.")
    with working("demo") as progress:
        result = run_demo(folder, progress, target)
    if as_json:
        say_json(demo_json(result, folder))
    else:
        say()
        say(demo_text(result, folder))
    if result.equal != result.images:
        raise MismatchError(
            f"layers differ from their references on {result.images - result.equal} images: "
            "a defect in match_aie",
            where=str(folder),
            hint="please report it with the output of `match-aie doctor`",
        )


def demo_json(result: DemoResult, folder: Path) -> dict[str, object]:
    """The network's report, and what was measured."""
    return {
        **report.as_json(report.compiled_report(result.compiled)),
        "seconds": dict(result.compiled.seconds),
        "folder": str(folder),
        "images": result.images,
        "accuracy": result.right / result.images,
        "float_accuracy": result.float_right / result.images,
        "matches_reference": result.equal == result.images,
        "max_lsb_vs_model": result.largest_lsb,
        "microseconds": result.microseconds,
    }


def demo_text(result: DemoResult, folder: Path) -> str:
    """The layer table, the measurements, and where to go from here."""
    place, call = shlex.quote(str(folder)), program()
    against = (
        "not compared with onnxruntime, which is not installed"
        if result.largest_lsb is None
        else f"at most {result.largest_lsb} LSB from onnxruntime"
    )
    # What is not the network's C runs in an emulation of the chip.
    emulated = ", the array emulated" if result.compiled.program.units else ""
    return "\n".join(
        [
            result.compiled.summary(),
            "",
            f"measured on {result.images} images that training never saw:",
            f"  accuracy    {result.right} of {result.images} (quantised, this code), "
            f"{result.float_right} of {result.images} (the float network before quantisation)",
            f"  exactness   every layer bit for bit equal to its numpy reference on {result.equal} "
            "images",
            f"  the model   {against}",
            f"  time        {result.microseconds:.0f} microseconds an image on this machine"
            f"{emulated}",
            "",
            f"The code is in {folder}, and yours. {folder / 'report.html'} draws who runs what and "
            "why: open it in a browser. Try next:",
            f"  {call} explain {place} down",
            f"  {call} run {place} --seed 1",
            f"  {call} compile YOUR_MODEL.onnx -o build/yours",
            f"  {call} demo --target CPU",
            f"  {call} targets {result.compiled.target.name}",
        ]
    )
