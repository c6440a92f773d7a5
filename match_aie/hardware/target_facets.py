"""What only some chips have, in groups beside `MatchTarget`; see `module_facets`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

from match_aie.errors import Infeasible, TargetError
from match_aie.hardware.core import CoreCost, Operation
from match_aie.hardware.cost import Cost
from match_aie.hardware.energy import Energy
from match_aie.hardware.facet import facet
from match_aie.hardware.mapping import Mapping as LoopMapping
from match_aie.hardware.module import ExecModule
from match_aie.hardware.module_facets import Priced
from match_aie.hardware.move import Move
from match_aie.hardware.passes import Pass, PlacedPass
from match_aie.hardware.unit import Bid, ChosenLayer, Configuration, HandedOver, Seat, Unit


class ChipCosts:
    """What selection adds up beside the layers of modules, and what reports count.

    `frequency` is the reference clock in Hz, in whose cycles selection adds up costs of modules,
    of the core and of moves. Only its ratio to a module's own frequency matters, so it may stay
    None where no module states one.
    """

    frequency: float | None = None
    #: Cycles of operators that no module runs.
    core: CoreCost = CoreCost()
    #: Cycles of the reference clock to hand over between two units: one starts the other, waits,
    #: and is told. An assumption; what a chip really takes belongs in its target.
    synchronisation: float = 100.0
    #: What things take in picojoules; None where nothing is known of it.
    energy: Energy | None = None

    def fallback_cost(self, operation: Operation) -> float:
        """Cycles of the reference clock that the core takes for `operation`; `core`'s count."""
        return self.core.cycles(operation)

    def move_cost(self, move: Move) -> float:
        """Cycles of the reference clock to hand a tensor from one module to another.

        0 within one unit; else `synchronisation`, and the tensor's bytes at the lower of the two
        outermost memories' bandwidths where these memories have different names. What it takes to
        change the order of elements (`Packed.layouts`) is not among it.
        """
        if move.stays:
            return 0.0
        transfers = (
            reference_cycles(self, module, move.nbytes / module.memories[-1].bytes_per_cycle)
            for module in move.ways
        )
        return self.synchronisation + max(transfers, default=0.0)

    def start_cost(self, move: Move) -> float:
        """Cycles of the reference clock to start what reads the tensor, beside `move_cost`.

        For starts that layers in a row have once: what `cost` says of each has none of them, what
        the layers cost as they are emitted has.
        """
        return 0.0


class SharedMemory:
    """An inner memory that all modules have in common.

    `shared_memory` names it: layers on the controller find it as the layer before left it, so that
    what one writes may stay there for the next ones; empty where nothing may stay.
    `list_bytes` are bytes of it, beside what tiles may take, for lists of tiles, which the
    controller reads while it walks. 0 where lists lie with the constants.
    """

    shared_memory: str = ""
    list_bytes: int = 0


class Rewrites:
    """What is done to a network.

    `activations`: "unsigned" makes int8 tensors inside the network uint8, exactly, before modules
    see it. `transposed`: "convolutions" makes quantised transposed convolutions convolutions whose
    channels are then moved between pixels, exactly, for chips without such a layer; "cheapest" does
    so where that is modelled faster, for chips that run some of them as they are. `passes` are
    done before patterns are matched, in order, such as `pad_channels(16)`; `placed_passes` once it
    is decided who runs what, such as `PadChannelsOf(16, "array")`. Where one of these changes
    something, who runs what is decided once more.
    """

    activations: Literal["as_is", "unsigned"] = "as_is"
    transposed: Literal["as_is", "convolutions", "cheapest"] = "as_is"
    passes: Sequence[Pass] = ()
    placed_passes: Sequence[PlacedPass] = ()


class ArrayChip:
    """A chip that all layers of a network are on at once; its modules are `OnArray`."""

    def capacities(self) -> Mapping[str, int]:
        """What the network's layers share, by name (`OnArray.demands`); nothing by default.

        Selection keeps the sum of the chosen layers' demands within it.
        """
        return {}

    def spared(self) -> frozenset[str]:
        """Capacities that layers need less of once they hand their results over; none by default.

        Selection first leaves them out. Where `companions` then lacks something, it decides again
        with all of them.
        """
        return frozenset()

    def together(self, layers: Sequence[Seat]) -> Mapping[int, tuple[LoopMapping, Cost]]:
        """Other mappings for selected layers that run at the same time; none by default.

        Selection prices each layer alone and adds up. Where layers work side by side, such as the
        stages of a pipeline, the slowest sets the pace: the target divides what they share anew.

        Args:
            layers: all that were selected, each behind those whose results it reads.

        Returns:
            By number of the layer, how it runs then, and its share of what all of them take. They
            keep to the target's capacities together with the layers that stay as they are.
        """
        del layers
        return {}

    def configurations(self, bids: Sequence[Bid]) -> Sequence[Configuration]:
        """Ways to set up the chip in which layers take less together than each for itself.

        Selection looks for the cheapest cover without and with each of them, and takes the best.

        Args:
            bids: everything that could run, in the order of the network.
        """
        del bids
        return ()

    def handed_over(self, layers: Sequence[ChosenLayer]) -> Mapping[str, HandedOver]:
        """Layers whose results or inputs the target keeps in its modules, by symbol.

        Args:
            layers: of all modules, in execution order.
        """
        del layers
        return {}

    def companions(
        self, network: str, layers: Sequence[ChosenLayer]
    ) -> Sequence[Unit] | Infeasible:
        """Sources that the chosen layers need beside the network's C; none by default.

        Here a target places layers that share something of the chip.

        Args:
            network: C identifier of the network, the prefix of all symbols.
            layers: of all modules, in execution order.

        Returns:
            The sources, or what the chip lacks for these layers together.
        """
        del network, layers
        return ()


class BuiltFor:
    """A chip of which emitted code needs something."""

    def built_for(self) -> str:
        """Which processor that is, for reports; empty where any will do."""
        return ""


#: All of them.
TARGET_FACETS = (ChipCosts, SharedMemory, Rewrites, ArrayChip, BuiltFor)


def reference_cycles(target: object, module: ExecModule, cycles: float) -> float:
    """`cycles` of a module's clock in cycles of the target's reference clock.

    Raises:
        TargetError: the module states a frequency and the target does not.
    """
    own, frequency = facet(module, Priced).frequency, facet(target, ChipCosts).frequency
    if own is None:
        return cycles
    if frequency is None:
        raise TargetError(
            f"module {module.name} of target {getattr(target, 'name', '')} runs at {own:g} Hz, and "
            "the target states no frequency to compare with",
            hint="give the target a frequency, that of its core (`ChipCosts`)",
        )
    return cycles * frequency / own
