"""What a whole network takes, as the manifest states it: cycles, energy, a simulated run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class CoverDetail:
    """What the chosen cover costs, modelled, in cycles of the target's clock.

    Attributes:
        rule: by which it was chosen.
        cycles: in all.
        layers: of layers that modules run.
        fallback: of what is left to the core.
        moves: of handing tensors over between units.
        match_cycles: of the cover that MATCH's rule chooses.
        proven: whether no cover is cheaper.
    """

    rule: str
    cycles: float
    layers: float
    fallback: float
    moves: float
    match_cycles: float
    proven: bool


@dataclass(frozen=True)
class EnergyDetail:
    """What an inference takes, modelled, in picojoules.

    Attributes:
        objective: what the network was compiled for.
        layers: of layers that modules run, as they are emitted.
        fallback: of what is left to the core.
        moves: of handing tensors over between units.
    """

    objective: str
    layers: float
    fallback: float
    moves: float

    @property
    def total(self) -> float:
        """The sum."""
        return self.layers + self.fallback + self.moves


@dataclass(frozen=True)
class SimulatedDetail:
    """One inference in the target's simulator.

    Attributes:
        cycles: of the whole run, of the clock `frequency_hz`.
        microseconds: the same.
        frequency_hz: of the target's clock.
        modelled: cycles among them that no simulator knows, as the core's.
    """

    cycles: float
    microseconds: float
    frequency_hz: float
    modelled: float


def cover_detail(selection: Mapping[str, Any]) -> CoverDetail:
    """Of a manifest's `selection`."""
    names = ("cycles", "layers", "fallback", "moves", "match_cycles")
    costs = {name: float(selection[name]) for name in names}
    return CoverDetail(rule=str(selection["rule"]), proven=bool(selection["proven"]), **costs)


def energy_detail(
    selection: Mapping[str, Any], layers: Sequence[float | None]
) -> EnergyDetail | None:
    """Of a manifest's `selection` and picojoules of each layer; None where one is not known."""
    if selection.get("picojoules") is None or any(each is None for each in layers):
        return None
    return EnergyDetail(
        str(selection["objective"]),
        sum(each or 0.0 for each in layers),
        float(selection["core_picojoules"]),
        float(selection["move_picojoules"]),
    )


def simulated_detail(simulated: Mapping[str, Any]) -> SimulatedDetail | None:
    """Of a manifest's `simulated`; None where no step has cycles of its own."""
    steps = simulated.get("steps", ())
    if not any(step["simulated"] for step in steps):
        return None
    return SimulatedDetail(
        float(simulated["cycles"]),
        float(simulated["microseconds"]),
        float(simulated["frequency_hz"]),
        sum(float(step["cycles"]) for step in steps if not step["simulated"]),
    )


def core_cycles(manifest: Mapping[str, Any]) -> dict[int, float]:
    """Modelled cycles of every fallback step by index, of the target's clock.

    A step may compute several operators, and an operator's label may be another's: each one's
    cycles go to the step of its label, else to the first one that computes such an operator and has
    not got as many yet, else to the first fallback step. Steps that no operator stands for have
    cycles of their own.
    """
    steps = manifest["steps"]
    found = {
        at: float(step.get("cycles", 0.0)) for at, step in enumerate(steps) if not step["layer"]
    }
    waiting = [at for at, cycles in found.items() if not cycles]
    if not waiting:
        return found
    names = {f["symbol"]: str(f["operators"]).split(", ") for f in manifest["fallback"]}
    open_ = {at: list(names.get(steps[at]["symbol"], ())) for at in waiting}
    # Steps in order that may still compute such an operator: a list each, read from its end, for
    # networks of thousands of steps.
    computing: dict[str, list[int]] = {}
    for at in reversed(waiting):
        for operator in dict.fromkeys(open_[at]):
            computing.setdefault(operator, []).append(at)
    labels = {steps[at]["label"]: at for at in reversed(waiting)}
    for item in (manifest.get("selection") or {}).get("core", ()):
        operator = item["operator"]
        alike = computing.get(operator, [])
        while alike and operator not in open_[alike[-1]]:
            alike.pop()
        at = labels.get(item["label"], alike[-1] if alike else waiting[0])
        if operator in open_[at]:
            open_[at].remove(operator)
        found[at] += float(item["cycles"])
    return found
