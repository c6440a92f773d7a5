"""A project folder: build it, run it, compare it."""

from __future__ import annotations

import logging
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from match_aie.codegen.port import PortRecord
from match_aie.errors import OptionError, ProjectError, ToolchainError, shorten
from match_aie.timed import timed
from match_aie.toolchain.check import Closeness, Deviation, LayerMismatch, RoundedSums, check
from match_aie.toolchain.compiler import Product, build
from match_aie.toolchain.fallback_check import FallbackChecked, check_functions
from match_aie.toolchain.inputs import Inputs, match_inputs
from match_aie.toolchain.library import Runner
from match_aie.toolchain.locks import shared
from match_aie.toolchain.model_check import ModelDifference, compare_with_model
from match_aie.toolchain.process import TIMEOUT, Once, room_for, run_once, run_sanitized
from match_aie.toolchain.record import Record, element_dtype
from match_aie.toolchain.sizes import named, of_run
from match_aie.toolchain.stream import Stream

_LOG = logging.getLogger(__name__)


@dataclass(frozen=True, eq=False)
class RunResult:
    """What a run gave.

    Attributes:
        outputs: by the model's own names.
        matches_reference: whether every layer is its numpy reference's, on the inputs it really
            had: integer layers bit for bit, float32 layers within the bound of every element;
            None where nothing was compared. Of layers in `rounded` the reference is that of their
            mapping.
        mismatches: the layers that are not.
        layers_checked: how many were compared.
        max_lsb_vs_model: largest difference per output in integer steps from what the model
            means: onnxruntime without graph optimisations.
        max_abs_vs_model: the same in real numbers, for floating-point outputs.
        optimiser_lsb: how far onnxruntime's optimised run is from its run without optimisations,
            per output in integer steps: nothing of this project's. Empty after a quick run.
        optimiser_abs: the same in real numbers, for floating-point outputs.
        floats: how close float32 layers are to their reference; all others are compared bit for
            bit.
        model_note: why there is no comparison with the model, or an empty string.
        deviations: how far layers in a module's own arithmetic are from the model's, each on the
            inputs it really had; layers in the model's arithmetic are not in it.
        edited: files of the project that are not what was compiled, and were run as they are.
        fallback: what a comparison of the fallback's functions found; None where none was asked
            for. Mismatches of theirs are not in `mismatches`.
        rounded: layers whose partial sums are rounded while they wait, and how far that takes them
            from exact sums.
    """

    outputs: Mapping[str, np.ndarray]
    matches_reference: bool | None = None
    mismatches: tuple[LayerMismatch, ...] = ()
    layers_checked: int = 0
    max_lsb_vs_model: Mapping[str, int] = field(default_factory=dict)
    max_abs_vs_model: Mapping[str, float] = field(default_factory=dict)
    model_note: str = ""
    deviations: tuple[Deviation, ...] = ()
    edited: tuple[str, ...] = ()
    floats: tuple[Closeness, ...] = ()
    optimiser_lsb: Mapping[str, int] = field(default_factory=dict)
    optimiser_abs: Mapping[str, float] = field(default_factory=dict)
    fallback: FallbackChecked | None = None
    rounded: tuple[RoundedSums, ...] = ()


@dataclass(frozen=True, eq=False)
class Project:
    """A compiled network on disk.

    Attributes:
        folder: where.
        record: its manifest.
        edited: whether files that are not what was compiled run as they are.
    """

    folder: Path
    record: Record
    edited: bool = False

    @property
    def manifest(self) -> Mapping[str, Any]:
        """The whole of match_aie.json."""
        return self.record.everything

    def build(
        self,
        *,
        compiler: str | Sequence[str] | None = None,
        sanitize: bool = False,
        quick: bool = False,
        static: bool = False,
    ) -> Build:
        """Build the shared library, or an executable that works on raw files.

        Such a program is called with the files of all inputs, then those of all outputs, in the
        network's order: the elements of a dense tensor, as the machine has them, and nothing else.

        Args:
            compiler: command; $CC, cc, gcc, clang or the ziglang package by default.
            sanitize: with address and undefined-behaviour sanitizers.
            quick: without optimisation: built fast, runs slowly.
            static: an executable that needs no shared library, with the weights inside.

        Raises:
            OptionError: `sanitize` and `static`.
            ToolchainError: no compiler, or it refuses.
            ProjectError: a file is not what was compiled, or the build folder cannot be written.
        """
        if sanitize and static:
            raise OptionError("a static program has no sanitizers: ask for one of both")
        with shared(self.folder):
            made = self._build(compiler, sanitize=sanitize, quick=quick, static=static)
        return Build(self, made, sanitize, static)

    def runner(
        self,
        *,
        compiler: str | Sequence[str] | None = None,
        trace: bool = False,
        sizes: Mapping[str, int] | None = None,
    ) -> Runner:
        """Buffers and prepared pointers for many calls; builds where needed.

        Args:
            compiler: see `build`.
            trace: built so that it can tell what every step wrote.
            sizes: of the runs, by name, where a run gives sizes; else the largest.

        Raises:
            OptionError: no such size, or one out of its range.
            ToolchainError: no compiler, it refuses, or the library does not load.
            ProjectError: a file is not what was compiled, or the library has other sizes than
                the manifest.
        """
        with shared(self.folder):
            return Runner(self._build(compiler, trace=trace).path, named(self.record, sizes))

    def stream(self, *, compiler: str | Sequence[str] | None = None) -> Stream:
        """A stream of calls, for a network that keeps something between them.

        Raises:
            OptionError: the network keeps nothing.
            ToolchainError: see `runner`.
            ProjectError: see `runner`.
        """
        with shared(self.folder):
            return Stream(self._build(compiler).path, self.record)

    def _build(
        self,
        compiler: str | Sequence[str] | None,
        *,
        sanitize: bool = False,
        trace: bool = False,
        quick: bool = False,
        static: bool = False,
    ) -> Product:
        with timed(_LOG, f"build {self.record.network}"):
            return build(
                self.folder,
                self.record,
                compiler=compiler,
                sanitize=sanitize,
                trace=trace,
                edited=self.edited,
                quick=quick,
                static=static,
            )

    def run(
        self,
        inputs: Inputs,
        *,
        check: bool = True,
        compiler: str | Sequence[str] | None = None,
        check_fallback: bool = False,
        quick: bool = False,
        timeout: float | None = TIMEOUT,
    ) -> RunResult:
        """Run the network once, in a process of its own; builds where needed.

        Args:
            inputs: one array where there is one input, or arrays by the model's own names; of
                exactly the dtype and shape that the network takes. Where a run gives sizes,
                these are those of the arrays.
            check: compare every layer with its reference, and the outputs with onnxruntime's
                where it is installed and the project holds an ONNX model.
            compiler: see `build`.
            check_fallback: with `check`, also compare every function of the fallback with what
                TVM computes of it with LLVM, on the inputs it really had.
            quick: see `build`; and without the figures of onnxruntime's optimiser, which it
                computes in a process of its own.
            timeout: seconds that the network may take; None for no limit.

        Raises:
            OptionError: inputs that do not fit, or no such timeout.
            RunError: a layer crashed, ended the process, or did not end in time.
            ToolchainError: no compiler, it refuses, or the run fails.
            ProjectError: a file is not what was compiled, or sizes do not agree.
        """
        record = of_run(self.record, inputs)
        if check_fallback and record.sizes:
            raise OptionError(
                "functions of a network whose sizes a run gives are not compared one by one",
                hint="compile it for one size (--shape), and check that",
            )
        arrays = match_inputs(inputs, record.inputs)
        with shared(self.folder):
            # With the trace in any case: it is what says which layer was running.
            made = self._build(compiler, trace=True, quick=quick)
            once = run_once(made.path, record, arrays, trace=check, timeout=timeout)
            if not check:
                return RunResult(once.outputs, edited=made.edited)
            return self._checked(
                record, once, arrays, made.edited, check_fallback, optimiser=not quick
            )

    def _checked(
        self,
        record: Record,
        once: Once,
        arrays: Mapping[str, np.ndarray],
        edited: tuple[str, ...],
        check_fallback: bool,
        *,
        optimiser: bool,
    ) -> RunResult:
        """What a run gave, compared.

        Args:
            record: with the shapes of this run.
            once: its outputs, and what every step wrote.
            arrays: the inputs.
            edited: files that were changed.
            check_fallback: whether functions of the fallback are compared, too.
            optimiser: whether onnxruntime's is asked.
        """
        done = check(self.folder, record, arrays, once.trace)
        functions = None
        if check_fallback:
            functions = check_functions(self.folder, record, arrays, once.trace)
        model: ModelDifference = compare_with_model(
            self.folder, record, arrays, dict(once.outputs), optimiser=optimiser
        )
        return RunResult(
            once.outputs,
            not done.mismatches if done.layers else None,
            done.mismatches,
            done.layers,
            model.max_lsb,
            model.max_abs,
            model.note,
            done.deviations,
            edited,
            done.floats,
            model.optimiser_lsb,
            model.optimiser_abs,
            functions,
            done.rounded,
        )

    def run_sanitized(
        self,
        inputs: Inputs,
        *,
        compiler: str | Sequence[str] | None = None,
        quick: bool = False,
        timeout: float | None = TIMEOUT,
    ) -> dict[str, np.ndarray]:
        """Outputs of a build with sanitizers, run as a process of its own on raw files.

        Args:
            inputs: as `run` takes them.
            compiler: see `build`.
            quick: see `build`.
            timeout: see `run`.

        Raises:
            OptionError: inputs that do not fit, or no such timeout.
            RunError: a layer did not end in time.
            ToolchainError: no compiler, it refuses, or a sanitizer found something.
        """
        record = of_run(self.record, inputs)
        arrays = match_inputs(inputs, record.inputs)
        with shared(self.folder):
            made = self._build(compiler, sanitize=True, quick=quick)
            return self._through_files(made.path, record, arrays, timeout)

    def _through_files(
        self,
        program: Path,
        record: Record,
        arrays: Mapping[str, np.ndarray],
        timeout: float | None,
    ) -> dict[str, np.ndarray]:
        """Outputs of an executable that reads and writes raw files.

        Args:
            program: the executable.
            record: with the shapes of this run.
            arrays: the inputs.
            timeout: in seconds.
        """
        with ExitStack() as stack:
            with room_for("files of inputs"):
                folder = tempfile.TemporaryDirectory(prefix="match_aie_")
                scratch = stack.enter_context(folder)
                sent = [Path(scratch, f"input_{i}") for i in range(len(arrays))]
                for path, array in zip(sent, arrays.values(), strict=True):
                    path.write_bytes(array.tobytes() or b"\0")
            received = [Path(scratch, f"output_{i}") for i in range(len(record.outputs))]
            run_sanitized(program, record, [*sent, *received], Path(scratch), timeout)
            return {
                port.name: _read(path, port)
                for port, path in zip(record.outputs, received, strict=True)
            }


def _read(path: Path, port: PortRecord) -> np.ndarray:
    """An output that the program wrote to a file.

    Raises:
        ProjectError: it is of another size than the manifest says.
    """
    data = path.read_bytes()
    if len(data) != port.nbytes:
        raise ProjectError(
            f"the code and match_aie.json do not agree: output {shorten(port.name, 60)!r} has "
            f"{len(data)} bytes in the code and {port.nbytes} in the manifest",
            hint="a changed size needs a changed model: compile it again",
        )
    return np.frombuffer(data, element_dtype(port.dtype), port.elements).reshape(port.shape)


@dataclass(frozen=True, eq=False)
class Build:
    """A project built with one compiler.

    Attributes:
        project: what was built.
        product: file, command and log.
        sanitize: whether `run` goes through the executable with sanitizers.
        static: whether it goes through one that needs no library.
    """

    project: Project
    product: Product
    sanitize: bool = False
    static: bool = False

    @property
    def path(self) -> Path:
        """The shared library, or the executable."""
        return self.product.path

    def run(
        self, inputs: Inputs, *, check: bool = True, timeout: float | None = TIMEOUT
    ) -> RunResult:
        """As `Project.run` with this build's compiler; then the executable, where it is one.

        Raises:
            OptionError: inputs that do not fit, or no such timeout.
            RunError: see `Project.run`.
            ToolchainError: the run fails, a sanitizer found something, or the executable
                computes something else.
        """
        result = self.project.run(
            inputs, check=check, compiler=self.product.compiler, timeout=timeout
        )
        if not self.sanitize and not self.static:
            return result
        record = of_run(self.project.record, inputs)
        arrays = match_inputs(inputs, record.inputs)
        with shared(self.project.folder):
            outputs = self.project._through_files(self.path, record, arrays, timeout)
        for name, array in outputs.items():
            if array.tobytes() != result.outputs[name].tobytes():
                raise ToolchainError(
                    "the executable and the shared library compute different outputs",
                    where=name,
                    hint="report this as a defect of match_aie",
                )
        return result
