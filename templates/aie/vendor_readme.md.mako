# ${network}: the array's part, for AMD's tools

Written by match_aie. **AMD's tools have not seen these sources**; `make emulate` runs them in an emulation of their API and compares every bit.
Device: ${device.name} (${device.architecture.name}, ${device.columns} columns of ${device.core_rows} tiles, ${f"{device.clock_ghz:g}"} GHz).

| file | what |
|---|---|
| `${network}_graphs.cpp`, `*_graph.h` | the graphs, placed: ${', '.join(f'`{name}`' for name in graphs)} |
| `*.hpp`, `*_kernels.h`, other `*.cpp` | kernels |
| `app.cpp` | what simulators run: ${frames} frames through every graph, compared with golden results |
| `data/` | inputs and golden results of these frames, one file for each way; parameters (weights, biases, multipliers) |
| `ma_golden.h`, `check.cpp` | how files are read and compared |
| `${network}_host.cpp` | the Arm core's side on the chip: called by `../src/${network}.c` |
| `Makefile` | all commands below |

${'##'} What you need

- Vitis with AI Engine tools, and its licence: `source /tools/Xilinx/Vitis/VERSION/settings64.sh`.
- A platform of the board: `make PLATFORM=/path/to/name.xpfm ...`.${f' By default the `{platform}_*` of your installation.' if platform else ''}
% if part:
  Simulators also do with the device's name alone (`make PLATFORM= PART=${part} ...`).
% else:
  What `v++` calls this device (`PART=`) is in no public document that we found.
% endif
- For `make emulate` and `make check`: a C++20 compiler, nothing of AMD's.

${'##'} Simulate

```
make x86sim      # v++ --compile --mode aie --target=x86sim; x86simulator --pkg-dir=Work_x86 --input-dir=. --output-dir=x86simulator_output
make aiesim      # v++ --compile --mode aie --target=hw;     aiesimulator --pkg-dir=Work --input-dir=. --output-dir=aiesimulator_output --profile
make emulate     # c++ app.cpp in match_aie's emulation
```

Each ends with `PASSED`, or with `FAILED` and the first number that is wrong.
% if memory:
`app.cpp` copies inputs into memory that the array reaches, starts a graph once for all frames where it holds several, copies later frames
while it works on earlier ones, and compares results as they come.
% endif
% if streams:
Streams of programmable logic come from `data/<graph>_<stream>.txt` and go to `data/<graph>_<stream>.txt` of the simulator's output folder: 128
bits a line, all frames one after the other. `make check OUTPUT=x86simulator_output` compares them with `data/*_golden.txt`; an `x` there
stands for any number (what is filled up). Times between results (`T 413 ns`, of `aiesimulator`) give the interval.
% endif

`aiesimulator --profile` writes cycles of every kernel to `aiesimulator_output`. Compare them with `match-aie explain` of the project's folder.

${'##'} Your own data

The files of `data/` are text; parameters are bytes in hexadecimal. A frame has this many numbers:

| way | direction | type | numbers a frame |
|---|---|---|---|
% for job in jobs:
% for direction, ways in (('in', job.inputs), ('out', job.outputs)):
% for way in ways:
| `${job.name}_${way.name}` | ${direction}${', constants' if way.constant else ''} | ${way.c_type} | ${way.elements} |
% endfor
% endfor
% endfor

The number of frames stands in `app.cpp`. Fewer may be run than files hold.

${'##'} On the chip

```
make hw PLATFORM=... SYSROOT=... ROOTFS=... IMAGE=... LINK="..."
```

makes `libadf.a` (`v++ --compile --mode aie --target=hw`), an XSA (`v++ --link`), the Arm core's program from
`../src`, `${network}_host.cpp`, and what the compiler wrote to `Work/ps/c_rts`, then an SD card and an xclbin (`v++ --package`). `SYSROOT`, `ROOTFS`
(`rootfs.ext4`) and `IMAGE` (`Image`) are of the board's Linux with XRT (AMD's common image and its SDK); cross compilers are `CROSS` (`aarch64-linux-gnu-`).
% if streams:

Streams are your platform's. For every stream of the table above give a data mover or your own kernel, and name the connection in a
configuration file: `LINK="--config system.cfg mover.xo"`, with lines such as `stream_connect=mover_1.s:ai_engine_0.${fed}`. The
Arm core's program calls two functions that you give: `ma_stream_send(name, from, bytes)` and `ma_stream_receive(name, to, bytes)`.
% endif
% if memory:

Graphs fed by the chip's memory need no programmable logic: `LINK` stays empty.
% endif

On the board, the program opens the device, loads the xclbin that `MA_XCLBIN` names, and runs the whole network on raw files:

```
MA_XCLBIN=${network}.xclbin ./${network} INPUT... OUTPUT...
```

In a program of your own call `${network}_run` of `../include/${network}.h`. Where you open the device yourself, compile without `-DMA_XRT` and call
`adf::registerXRT(device, uuid)` before the first run.

${'##'} What no public example shows

`match-aie` lists such constructs in its documentation (versal, Limits); `VersalAIEML(documented_only=True)` emits none of them.
