"""From a user's model to a Relax module in canonical quantised form."""

from match_aie.frontend.load import load
from match_aie.frontend.model import Model, Port
from match_aie.frontend.state import State, with_states


def normalize(
    model: Model,
    *,
    integer_io: bool = False,
    unsigned: bool = False,
    convolved: bool | frozenset[str] = False,
) -> Model:
    """The model in canonical quantised form, see `match_aie.frontend.canonical`.

    Args:
        model: as loaded.
        integer_io: give inputs and outputs that are float only for a quantize or dequantize at
            the edge of the network their integer type.
        unsigned: make int8 tensors inside the network uint8, for targets that need it.
        convolved: make quantised transposed convolutions convolutions whose channels are then
            moved between pixels, for targets without a layer of them; labels where some are.

    Raises:
        ModelError: control flow at run time.
    """
    # Imported here: TVM takes a second, and reading a model's ports needs none of it.
    from match_aie.frontend import canonical

    return canonical.normalize(model, integer_io=integer_io, unsigned=unsigned, convolved=convolved)


__all__ = ["Model", "Port", "State", "load", "normalize", "with_states"]
