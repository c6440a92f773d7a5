# ${network}: the array's part, for the open tool chain

Written by match_aie for ${device.name}, in the MLIR-AIE dialect of ${dialect.name}. **MLIR-AIE, Peano and XRT have not seen these files**: kernels are compiled with an
emulation of `aie_api` and compared with their references bit for bit, host programs with a stand-in for XRT.

| file | what |
|---|---|
% for c in configurations:
| `${c.name}.mlir` | the program: tiles, buffers, locks, descriptors, flows, cores, ${'a sequence of the host for each graph, and each layer of an overlay' if c.shared else "the host's sequence"} |
    % for g in c.hosts:
| `${g.name}_host.cpp`, `${g.name}_host.py` | hand tensors to the array by XRT, and take results |
    % if g.constants:
| `${g.name}_constants.txt` | weights that are streamed: words of the argument `constants` |
    % endif
    % endfor
% endfor
| `kernels/*.cc` | functions that cores call; each becomes the object file of its name. They include `../aie/*.hpp` |
| `kernels/adf.h`, `kernels/ma_npu.h`, `kernels/aie_api/aie_adf.hpp` | what those headers need beside `aie_api` |
| `ma_xrt.h`, `ma_npu.py` | what host programs share; they also use `../include/ma_array.h` |

${'##'} What you need

A ${'Phoenix or Hawk Point' if device.name == 'npu1' else 'Strix, Strix Halo or Krackan'} processor with the `amdxdna` driver and XRT (github.com/amd/xdna-driver), and wheels of MLIR-AIE of about ${dialect.name} and of Peano:

```
python3 -m venv ironenv && . ironenv/bin/activate
python3 -m pip install mlir_aie -f https://github.com/Xilinx/mlir-aie/releases/expanded_assets/latest-wheels
python3 -m pip install llvm-aie -f https://github.com/Xilinx/llvm-aie/releases/expanded_assets/nightly
. /opt/xilinx/xrt/setup.sh
```

The dialect changes. `XDNA(mlir=...)` prints it as of ${', '.join(dialects)}; take wheels of that time, or the version that your wheels are of.

${'##'} Build and run

```
make                                   # clang++ --target=${arch}-none-unknown-elf, then aiecc, then c++
```

What it runs for a graph, in `build/`:

```
"$PEANO_INSTALL_DIR/bin/clang++" -O2 -std=c++20 --target=${arch}-none-unknown-elf -DNDEBUG -I../kernels -I../../aie -I"$MLIR_AIE_DIR/include" -c ../kernels/KERNEL.cc -o KERNEL.o
${'aiecc.py --no-compile-host' if dialect.name == '2025-05' else 'aiecc'} --no-xchesscc --no-xbridge --peano="$PEANO_INSTALL_DIR" --aie-generate-xclbin --xclbin-name=GRAPH.xclbin --aie-generate-npu-insts --npu-insts-name=GRAPH_insts.bin GRAPH.mlir${"  # '{1}_insts.bin' where a graph has several sequences" if any(c.shared for c in configurations) else ''}
c++ -O2 -std=c++20 -I.. -I../../include -I"$XILINX_XRT/include" ../GRAPH_host.cpp -o GRAPH_host -L"$XILINX_XRT/lib" -lxrt_coreutil
```

Host programs take and write raw tensors (an optional number at the end: so many runs, timed):

```
% for c in configurations:
    % for g in c.hosts:
build/${g.name}_host build/${c.name}.xclbin build/${g.name}_insts.bin ${f'{g.name}_constants.txt ' if g.constants else ''}${' '.join(f'{t.name}.bin' for t in (*g.inputs, *g.outputs))}
python3 ${g.name}_host.py build/${c.name}.xclbin build/${g.name}_insts.bin ${f'{g.name}_constants.txt ' if g.constants else ''}${' '.join(f'{t.name}.bin' for t in (*g.inputs, *g.outputs))}
    % endfor
% endfor
```

| graph | tensor | direction | type | elements |
|---|---|---|---|---|
% for g in hosts:
    % for way, tensors in (('in', g.inputs), ('out', g.outputs)):
        % for t in tensors:
| `${g.name}` | `${t.name}` | ${way} | ${t.dtype} | ${t.elements} |
        % endfor
    % endfor
% endfor

Tensors are those of layers as the network's C has them: images NHWC, quantised. `../match_aie.json` describes layers.
