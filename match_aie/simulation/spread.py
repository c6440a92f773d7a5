"""How long a layer takes that is spread over an array in a given way: one door for all arrays.

Simulators of arrays register in the entry-point group `match_aie.simulators`: a function from
`SpreadLayer` to `SpreadResult`, or to None where it does not know the device. Mappings of other
tools can be simulated through it, as far as they are tile counts, slices and epilogues.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib.metadata import entry_points

from match_aie.errors import MatchError, TargetError, shorten
from match_aie.simulation.timeline import Timeline

GROUP = "match_aie.simulators"


@dataclass(frozen=True)
class SpreadLayer:
    """A dense layer and how an array runs it; what is None is for the simulator to choose.

    Attributes:
        device: such as "vek280".
        rows: of the activations (batch).
        reduction: inputs.
        columns: outputs.
        a: element type of the activations.
        w: of the weights.
        out: of the result.
        bias: whether there is one.
        relu: whether negative results become 0.
        requantise: "shift", "multiplier", "channel" or "none".
        reduction_parts: tiles over which the reduction is split (CAS_LEN).
        column_parts: over which the columns are (CAS_NUM).
        row_parts: over which the rows are.
        call_rows: rows of a kernel call.
        call_columns: columns of one.
        epilogue: "overlapped", "exposed" or "flat".
        trace: whether a timeline is wanted.
    """

    device: str
    rows: int
    reduction: int
    columns: int
    a: str = "int8"
    w: str = "int8"
    out: str = "int8"
    bias: bool = True
    relu: bool = True
    requantise: str = "shift"
    reduction_parts: int | None = None
    column_parts: int | None = None
    row_parts: int | None = None
    call_rows: int | None = None
    call_columns: int | None = None
    epilogue: str | None = None
    trace: bool = False


@dataclass(frozen=True)
class SpreadResult:
    """Simulated cycles.

    Attributes:
        interval: cycles between results of the repeated layer.
        latency: cycles of a single run.
        frequency: of the array's clock, in Hz.
        operations: useful ones of a run, two a multiply-accumulate.
        tiles: at work.
        utilisation: share of time in which each tile computes, by "column,row".
        mapping: what was simulated, in words.
        timeline: where one was asked for.
    """

    interval: float
    latency: float
    frequency: float
    operations: int
    tiles: int
    utilisation: tuple[tuple[str, float], ...]
    mapping: str
    timeline: Timeline | None = None

    @property
    def tops(self) -> float:
        """Tera-operations per second of the repeated layer."""
        return self.operations * self.frequency / self.interval / 1e12


def simulate_spread(layer: SpreadLayer) -> SpreadResult:
    """How long `layer` takes.

    Raises:
        TargetError: no installed simulator knows the device.
        InfeasibleError: the mapping does not fit it.
    """
    for entry in entry_points(group=GROUP):
        try:
            simulator = entry.load()
        except (ImportError, AttributeError) as error:
            raise TargetError(
                f"simulator {entry.name!r} ({entry.value}) cannot be loaded: {error}",
                hint="reinstall the package that registers it",
            ) from error
        answer = simulator(layer)
        if isinstance(answer, SpreadResult):
            return answer
        if answer is not None:
            raise MatchError(f"simulator {entry.name!r} answers a {type(answer).__name__}")
    raise TargetError(
        f"no installed simulator knows the device {shorten(layer.device, 60)!r}",
        hint=f"install a package that registers one in {GROUP!r}",
    )
