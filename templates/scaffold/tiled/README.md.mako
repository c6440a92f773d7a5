<%text># </%text>${name}

A target for match_aie: a vector unit behind a scratchpad, a DMA, and a core.

```
pip install -e .
match-aie check-target ${name}
match-aie compile model.onnx -t ${name} -o build/model
match-aie simulate build/model
```

What to change, in this order:

1. `src/${package}/target.py`: `memories`, `Cost`, `Timing`: the numbers of your chip, each with its source.
2. `patterns` and `refuses`: what your hardware can run. `match-aie targets CPU` shows the operators
   of other layers. `layouts` says how constants are packed; it is a member of `hw.Packed`, which the module
   inherits in addition, as it does other groups of members (docs/targets.md, first tables).
3. `src/${package}/templates/layer.c.mako`: the C of a layer on one tile. Put intrinsics and register accesses
   behind a header of yours in `src/${package}/runtime/include`, with the same results in C in
   `src/${package}/runtime/emulation`, and name both in `runtime()`. Builds for the chip define `MA_CHIP`.

After every step `match-aie check-target ${name}` says what is missing or wrong. docs/tutorial.md of
match_aie builds a larger target from here: two memories, packed weights, partial sums.

<%text>## Whose rounding</%text>

As written, sums become bytes as the model says: times a float32 `scale`, rounded to the nearest, ties to even
(`arithmetic = "model"`, the default). Hardware that multiplies by an integer and shifts says so in
`target.py`:

```python
from match_aie.hardware import Constants, Converted, OwnArithmetic
from match_aie.workload import FixedPoint, to_fixed_point

#: What the hardware has: bits of the multiplier, the largest shift, bits of the product.
HOW = FixedPoint(multiplier_bits=16, max_shift=31, bits=48, rounding="floor", inputs="centred")


class VectorUnit(hw.ExecModule, OwnArithmetic):
    arithmetic = "module"

    def convert(self, workload: Workload, constants: Constants) -> Converted | str:
        """A layer in the unit's arithmetic, with a proven bound, or why not."""
        return to_fixed_point(workload, constants, HOW)
```

A layer then has operands `multiplier` and `offset` in place of `bias` and `scale` (bias, rounding and the
output's zero point are in `offset`), and is at most one step off the model's result. The template here takes
both. A memory with a list of `operands` has to name them. "Arithmetic" in
docs/targets.md has every field.
