"""How large a model may be: bounds that are checked before anything is allocated."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace

from match_aie.errors import LimitError, OptionError

#: Attributes of the function of a recurrent layer whose steps are not written out: how many they
#: are, and how many were accepted. Where no module runs it, the fallback refuses it.
STEPS = "steps"
STEPS_ACCEPTED = "steps_accepted"


@dataclass(frozen=True)
class Limits:
    """What one compilation accepts of a model; a bound that is met is not exceeded.

    A file of a few bytes can ask for more than any machine has. The defaults keep a compilation
    within 4 GB of memory; who has more, and trusts the model, raises them.

    Attributes:
        file_bytes: of a model file. Bytes, parsed message and working copy are held together.
        constant_bytes: of all constants together, those that folding makes included. Measured, a
            compilation holds about nine times these bytes at its peak, so 384 MiB are 3.5 GB.
        tensor_elements: of any tensor, activations included. What int32 indices reach: OR-tools
            and many compilers' loops are exact up to there.
        nodes: of the graph with functions, branches and composite operators expanded. The time of
            a compilation grows with them, about a second for every thousand.
        depth: of functions that call functions, and of subgraphs in subgraphs. ONNX's checker and
            its shape inference recurse into both.
        rank: dimensions of a tensor; numpy takes 64.
        recurrent_steps: of LSTM, GRU and RNN that no module runs as a layer: the fallback has
            their steps written out one by one.

    Raises:
        OptionError: a bound that is no positive integer.
    """

    file_bytes: int = 512 << 20
    constant_bytes: int = 384 << 20
    tensor_elements: int = 2**31 - 1
    nodes: int = 20_000
    depth: int = 40
    rank: int = 32
    recurrent_steps: int = 1024

    def __post_init__(self) -> None:
        """Refuse bounds that mean nothing."""
        for field in fields(self):
            value = getattr(self, field.name)
            if not isinstance(value, int) or isinstance(value, bool) or value < 1:
                raise OptionError(
                    f"a limit of {value!r} for {field.name}", hint="give a positive integer"
                )

    def changed(self, values: Mapping[str, int]) -> Limits:
        """These limits with other values.

        Raises:
            OptionError: there is no such limit, or a value is not positive.
        """
        names = [field.name for field in fields(self)]
        unknown = sorted(set(values) - set(names))
        if unknown:
            raise OptionError(
                f"no limit called {unknown[0]!r}", hint="there are " + ", ".join(names)
            )
        return replace(self, **values)

    def check(self, limit: str, demand: int, what: str, where: str = "") -> None:
        """Refuse a demand beyond a limit.

        Args:
            limit: the field of this class.
            demand: in the unit of that field.
            what: that asks for it, the start of a sentence.
            where: in the model.

        Raises:
            LimitError: it is too much.
        """
        bound = getattr(self, limit)
        if demand > bound:
            unit = limit.partition("_")[2] or limit
            shown = f"{demand:,}" if demand < 10**18 else f"about 10**{len(str(demand)) - 1}"
            raise LimitError(
                f"{what}: {shown} {unit}, and {bound:,} are accepted",
                where=where,
                hint=f"where the model is meant so, raise the limit: --limit {limit}=N, or "
                f"limits=Limits({limit}=N)",
            )
