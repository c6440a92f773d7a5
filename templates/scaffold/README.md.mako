<%text># </%text>${name}

A target for match_aie.

```
pip install -e .
match-aie check-target ${name}
match-aie compile model.onnx -t ${name} -o build/model
match-aie explain build/model
```

What to change, in this order:

1. `src/${package}/target.py`: `memories` and `cost_model`, the numbers of your chip, each with its source.
2. `patterns` and `refuses`: what your hardware can run. `match-aie targets CPU` shows the operators
   of other layers.
3. `src/${package}/templates/dense.c.mako`: the C of a layer. It runs on the host too, since the check
   and `match-aie run` build it there; put intrinsics or register accesses behind a header of yours, with
   an emulation (`MatchTarget.runtime`).

After every step `match-aie check-target ${name}` says what is missing or wrong.

<%text>## Whose rounding</%text>

As written, sums become bytes as the model says: times a float32 `scale`, rounded to the nearest, ties to even
(`arithmetic = "model"`, the default). Hardware that multiplies by an integer and shifts says so in
`target.py`:

```python
from match_aie.hardware import Constants, Converted, OwnArithmetic
from match_aie.workload import FixedPoint, to_fixed_point

#: What the hardware has: bits of the multiplier, the largest shift, bits of the product.
HOW = FixedPoint(multiplier_bits=16, max_shift=31, bits=48, rounding="floor", inputs="centred")


class DenseArray(ExecModule, OwnArithmetic):
    arithmetic = "module"

    def convert(self, workload: Workload, constants: Constants) -> Converted | str:
        """A layer in the unit's arithmetic, with a proven bound, or why not."""
        return to_fixed_point(workload, constants, HOW)
```

A layer then has operands `multiplier` and `offset` in place of `bias` and `scale` (bias, rounding and the
output's zero point are in `offset`), and is at most one step off the model's result. The template here takes
both. "Arithmetic" in docs/targets.md has every field.
