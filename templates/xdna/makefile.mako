# ${network}: the array's part for the open tool chain (MLIR-AIE, Peano, XRT). Written by match_aie; this file belongs to you.
#
#   make            kernels, configurations (.xclbin) and sequences of all graphs, and host programs
#   make check      compiles kernels with this project's emulation headers: needs only a C++20 compiler
#
# README.md says what to install.

PYTHON ?= python3
CXX ?= c++
# Folder of Peano (llvm-aie), and of MLIR-AIE's headers: aie_api. Names of folders may have spaces.
PEANO_INSTALL_DIR ?= $(shell $(PYTHON) -m pip show llvm-aie 2>/dev/null | sed -n 's/^Location: //p')/llvm-aie
% if dialect.name == '2025-05':
MLIR_AIE_DIR ?= $(shell realpath "$$(dirname "$$(which aie-opt)")/..")
AIECC ?= aiecc.py --no-compile-host
% else:
MLIR_AIE_DIR ?= $(shell $(PYTHON) -c "from aie.utils.config import root_path; print(root_path())")
AIECC ?= aiecc
% endif
XILINX_XRT ?= /opt/xilinx/xrt

ARCH := ${arch}
WARNINGS := -Wno-parentheses -Wno-attributes -Wno-macro-redefined -Wno-empty-body -Wno-missing-template-arg-list-after-template-kw
KERNEL_FLAGS = -O2 -std=c++20 --target=$(ARCH)-none-unknown-elf -DNDEBUG $(WARNINGS) -Ikernels -I../aie -I"$(MLIR_AIE_DIR)/include"
AIECC_FLAGS = --no-xchesscc --no-xbridge --peano="$(PEANO_INSTALL_DIR)"
GRAPHS := ${' '.join(c.name for c in configurations)}
HOSTS := ${' '.join(h.name for h in hosts)}

.PHONY: all check clean
all: $(GRAPHS:%=build/%.xclbin) $(HOSTS:%=build/%_host)

build/%.o: kernels/%.cc $(wildcard kernels/*.h kernels/*/*.hpp ../aie/*)
	@mkdir -p build
	"$(PEANO_INSTALL_DIR)/bin/clang++" $(KERNEL_FLAGS) -c $< -o $@
% for c in configurations:

    % if c.shared:
# One configuration, a sequence for each graph and each layer of an overlay: {1} is its name.
    % endif
build/${c.name}.xclbin: ${c.name}.mlir ${' '.join(f'build/{one.symbol}.o' for one in c.objects)}
	cp $< build/
	cd build && $(AIECC) $(AIECC_FLAGS) --aie-generate-xclbin --xclbin-name=${c.name}.xclbin --aie-generate-npu-insts --npu-insts-name=${"'{1}_insts.bin'" if c.shared else f'{c.name}_insts.bin'} ${c.name}.mlir
% endfor

build/%_host: %_host.cpp ma_xrt.h
	@mkdir -p build
	$(CXX) -O2 -std=c++20 -Wall -I. -I../include -I"$(XILINX_XRT)/include" $< -o $@ -L"$(XILINX_XRT)/lib" -lxrt_coreutil

check:
	for source in kernels/*.cc; do $(CXX) -std=c++20 -fsyntax-only -Wall -Wextra ${macro}-I../emulation -Ikernels -I../aie $$source || exit 1; done

clean:
	rm -rf build
