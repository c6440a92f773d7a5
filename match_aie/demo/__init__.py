"""A trained int8 network on real images: handwritten digits, 8x8 pixels, compiled and run here.

Model and images were made by benchmarks/train_digits.py from scikit-learn's digits (UCI "Optical
Recognition of Handwritten Digits"); the images were never seen in training.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from importlib import resources
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

import match_aie

if TYPE_CHECKING:
    from match_aie.compilation import Compilation
    from match_aie.toolchain import Project

Progress = Callable[[str], None]

#: What the demo is compiled for.
TARGET = "VersalAIEML"

#: The fastest of so many runs is told, or of as many as this many seconds allow.
REPEATS, SECONDS = 200, 2.0


@dataclass(frozen=True, eq=False)
class Digits:
    """Images [100, 1, 8, 8] float32 in 0..1, their labels [100], and the float network's answers.

    Attributes:
        images: pixel values.
        labels: the right digits.
        predictions: what the network said before it was quantised.
    """

    images: np.ndarray
    labels: np.ndarray
    predictions: np.ndarray


def digits_model() -> bytes:
    """The int8 network as an ONNX file: input `image` [1, 1, 8, 8], output `logits` [1, 10]."""
    return resources.files(__name__).joinpath("digits_int8.onnx").read_bytes()


def digits() -> Digits:
    """The 100 images that come with the package."""
    data = resources.files(__name__).joinpath("digits_test.npz").read_bytes()
    with np.load(BytesIO(data), allow_pickle=False) as arrays:
        return Digits(arrays["image"], arrays["label"], arrays["float_prediction"])


@dataclass(frozen=True, eq=False)
class DemoResult:
    """What the demo found; everything here is measured on this machine.

    Attributes:
        compiled: the network.
        project: where it was written and built.
        images: how many were run.
        right: of them recognised by the compiled network.
        float_right: recognised by the float network it was made from.
        equal: images on which every layer equals its reference bit for bit.
        largest_lsb: difference of any logit from onnxruntime; None where that is not installed.
        microseconds: shortest time of one run of the compiled network.
    """

    compiled: Compilation
    project: Project
    images: int
    right: int
    float_right: int
    equal: int
    largest_lsb: int | None
    microseconds: float


def run_demo(folder: Path, progress: Progress | None = None, target: str = TARGET) -> DemoResult:
    """Compile the network into `folder`, build it, and run all images.

    Args:
        folder: where the project goes.
        progress: called with the name of each stage.
        target: what it is compiled for.

    Raises:
        ProjectError: `folder` cannot be written, or holds something else.
        ToolchainError: no C compiler, or it refuses.
    """
    tell = progress or _ignore
    # The demo leaves nothing behind outside its folder: no cache of searches either.
    compiled = match_aie.compile(
        digits_model(), target, name="digits", cache=False, progress=progress
    )
    tell("write")
    project = compiled.write(folder, overwrite=True)
    tell("build")
    project.build()
    data = digits()
    right = equal = 0
    gaps: list[int] = []
    for index, image in enumerate(data.images):
        tell(f"image {index + 1} of {len(data.images)}")
        result = project.run(image[None])
        right += int(result.outputs["logits"].argmax() == data.labels[index])
        equal += result.matches_reference is True
        gaps += result.max_lsb_vs_model.values()
    return DemoResult(
        compiled,
        project,
        len(data.images),
        right,
        int((data.predictions == data.labels).sum()),
        equal,
        max(gaps) if gaps else None,
        _microseconds(project, data.images[0]),
    )


def _ignore(stage: str) -> None:
    del stage


def _microseconds(project: Project, image: np.ndarray) -> float:
    runner = project.runner()
    runner.inputs["image"][...] = image[None]
    times: list[float] = []
    while len(times) < REPEATS and sum(times) < SECONDS:
        start = time.perf_counter()
        runner()
        times.append(time.perf_counter() - start)
    return 1e6 * min(times)
