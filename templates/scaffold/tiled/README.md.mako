<%text># </%text>${name}

A target for match_aie: a vector unit behind a scratchpad, a DMA, and a core.

```
pip install -e .
match-aie check-target ${name}
match-aie compile model.onnx -t ${name} -o build/model
match-aie simulate build/model
```

What to change, in this order:

1. `${package}/target.py`: `memories`, `Cost` and `Timing`, the numbers of your chip, each with its source.
2. `patterns` and `refuses`: what your hardware can run. `match-aie targets CPU` shows the operators
   of other layers; `layouts` says how constants are packed.
3. `${package}/templates/layer.c.mako`: the C of a layer on one tile. Put intrinsics and register accesses
   behind a header of yours in `${package}/runtime/include`, with the same results in C in
   `${package}/runtime/emulation`, and name both in `runtime()`. Builds for the chip define `MA_CHIP`.

After every step `match-aie check-target ${name}` says what is missing or wrong. docs/tutorial.md of
match_aie builds a larger target from here: two memories, packed weights, partial sums.
