<%text># </%text>${name}

A target for match_aie.

```
pip install -e .
match-aie check-target ${name}
match-aie compile model.onnx -t ${name} -o build/model
match-aie explain build/model
```

What to change, in this order:

1. `${package}/target.py`: `memories` and `cost_model`, the numbers of your chip, each with its source.
2. `patterns` and `refuses`: what your hardware can run. `match-aie targets CPU` shows the operators
   of other layers.
3. `${package}/templates/dense.c.mako`: the C of a layer. It runs on the host too, since the check
   and `match-aie run` build it there; put intrinsics or register accesses behind a header of yours, with
   an emulation (`MatchTarget.runtime`).

After every step `match-aie check-target ${name}` says what is missing or wrong.
