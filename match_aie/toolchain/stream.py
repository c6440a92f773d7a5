"""A network that keeps something from one call to the next, step by step."""

from __future__ import annotations

import ctypes
from pathlib import Path

import numpy as np

from match_aie.errors import OptionError
from match_aie.toolchain.faults import stopped
from match_aie.toolchain.inputs import Inputs, match_inputs
from match_aie.toolchain.library import Runner, aligned
from match_aie.toolchain.record import Record


class Stream(Runner):
    """A stream of calls, through the emitted `_step`; what is kept begins as the model says.

    A `Runner` whose call is a step: it does not read the inputs that are states. Several streams
    of one project do not see each other's state.
    """

    def __init__(self, path: Path, record: Record) -> None:
        """Load the library at `path`, and reset.

        Raises:
            OptionError: the network keeps nothing.
            ToolchainError: the library does not load, or this processor cannot run it.
            ProjectError: the library's sizes are not the manifest's.
        """
        if not record.states.records:
            raise OptionError(
                "the network keeps nothing from one call to the next",
                hint='compile it with states={"an input": "the output that it is next"}',
            )
        super().__init__(path, record)
        nbytes = 2 * record.states.nbytes + record.alignment
        self._state = aligned((nbytes,), "uint8", record.alignment)
        self._reset = getattr(self._library, f"{record.network}_reset")
        self._reset.restype, self._reset.argtypes = None, [ctypes.c_void_p]
        self._step = getattr(self._library, f"{record.network}_step")
        self._step.restype, self._step.argtypes = ctypes.c_int, [ctypes.c_void_p] * 4
        self._kept = {record.inputs[state.input].name for state in record.states.records}
        self.reset()

    def reset(self) -> None:
        """Begin a new stream."""
        self._reset(self._state.ctypes.data)

    def __call__(self) -> None:
        """One step, on what `inputs` hold.

        Raises:
            ToolchainError: it returned a status other than 0; the state is as it was.
        """
        status = self._step(self._state.ctypes.data, *self._arguments)
        if status != 0:
            raise stopped(status, self.fault(), self._record)

    def step(self, inputs: Inputs) -> dict[str, np.ndarray]:
        """All outputs of one step.

        Args:
            inputs: as `Project.run` takes them, without those that are states.

        Raises:
            OptionError: inputs that do not fit.
            ToolchainError: see a call.
        """
        ports = [port for port in self._record.inputs if port.name not in self._kept]
        for name, array in match_inputs(inputs, ports).items():
            self.inputs[name][...] = array
        self()
        return {name: array.copy() for name, array in self.outputs.items()}
