"""How scores in steps become weights of bfloat16: the same wherever rows of queries lie."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from match_aie.targets.aie_ml.schedule.machine import Machine
from match_aie.targets.aie_ml.schedule.operation import Operation
from match_aie.targets.aie_ml.schedule.words_moved import in_turn, moved


def weights(
    core: Machine,
    vector: Callable[[Machine, str, tuple[str, ...]], Operation],
    rounded: Callable[[Machine, str, str], Operation],
) -> Iterator[Operation]:
    """From `above`, 32 scores in steps, to a polynomial's sums (`outer0`, `outer1`) and `exponent`.

    Args:
        core: what takes how long.
        vector: a product of sixteen floats, or a sum.
        rounded: sixteen sums as elements of two bytes.
    """
    yield from in_turn(core, ("bits", "fraction", "mantissa"), ("above",))
    yield moved(core, "exponent", ("bits",))
    for half in range(2):
        near: tuple[str, ...] = ("mantissa",)
        for at, name in enumerate((f"inner{half}", f"outer{half}")):
            yield moved(core, f"constant{half}{at}", ())
            yield vector(core, f"{name}sum", (*near, f"constant{half}{at}"))
            yield rounded(core, name, f"{name}sum")
            near = "mantissa", name
