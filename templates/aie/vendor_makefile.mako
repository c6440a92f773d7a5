# The array's part of ${network} in AMD's tools: written by match_aie; this file belongs to you.
#
#   make x86sim      functional simulation: compiled for this machine, seconds
#   make aiesim      the array cycle by cycle, approximately: minutes to hours
#   make check       compares what they wrote with the golden files (both call it)
#   make hw          libadf.a for the chip, XSA, and the Arm core's program
#   make emulate     the same app.cpp in match_aie's emulation of the API: needs only a C++20 compiler
#
# README.md says what each needs.

% if platform:
# A platform of the board: the folder of platforms and its version are your installation's.
PLATFORM ?= $(firstword $(wildcard $(XILINX_VITIS)/base_platforms/${platform}_*/*.xpfm))
% else:
# A platform of the board (.xpfm).
PLATFORM ?=
% endif
# Without a platform, the simulators need the device's name at least.
PART ?= ${part or ''}
CXX ?= c++
VITIS_FLAGS ?=
DEVICE = $(if $(PLATFORM),--platform=$(PLATFORM),--part=$(PART))
COMPILE = v++ --compile --mode aie $(DEVICE) --include=. $(VITIS_FLAGS)
SOURCES = $(wildcard *.cpp *.h *.hpp)
OUTPUTS = ${' '.join(pairs)}

.PHONY: all x86sim aiesim check host package hw emulate clean
all: x86sim

Work_x86/done: $(SOURCES)
	$(COMPILE) --target=x86sim --work_dir=Work_x86 --aie.output-archive=libadf_x86.a app.cpp
	touch $@

x86sim: Work_x86/done check_files
	x86simulator --pkg-dir=Work_x86 --input-dir=. --output-dir=x86simulator_output
	$(MAKE) check OUTPUT=x86simulator_output

libadf.a: $(SOURCES)
	$(COMPILE) --target=hw --work_dir=Work --aie.output-archive=$@ app.cpp

aiesim: libadf.a check_files
	aiesimulator --pkg-dir=Work --input-dir=. --output-dir=aiesimulator_output --profile
	$(MAKE) check OUTPUT=aiesimulator_output

OUTPUT ?= x86simulator_output
check: check_files
% if pairs:
	./check_files $(foreach name,$(OUTPUTS),$(OUTPUT)/$(name).txt $(name)_golden.txt)
% else:
	@echo "app.cpp itself compared all results: the chip's memory feeds every graph"
% endif

check_files: check.cpp ma_golden.h
	$(CXX) -O1 -std=c++17 check.cpp -o $@

# The chip. LINK is what connects the array's ways to your design; see README.md.
LINK ?=
XSA = ${network}.xsa
$(XSA): libadf.a
	v++ --link --target hw --platform $(PLATFORM) libadf.a $(LINK) -o $@

# The board's Linux: its root file system and kernel, of the platform's common image.
ROOTFS ?=
IMAGE ?=
SD_CARD = --package.boot_mode=sd --package.image_format=ext4 --package.rootfs=$(ROOTFS) --package.kernel_image=$(IMAGE)
package: $(XSA) libadf.a host
	v++ --package --target hw --platform $(PLATFORM) $(SD_CARD) --package.defer_aie_run --package.sd_file=${network} $(XSA) libadf.a -o ${network}.xclbin

SYSROOT ?= $(SDKTARGETSYSROOT)
CROSS ?= aarch64-linux-gnu-
ARM_FLAGS = -O2 --sysroot=$(SYSROOT) -I$(SYSROOT)/usr/include/xrt -I$(XILINX_VITIS)/aietools/include -I../include -I. -ffp-contract=off -fno-strict-aliasing -D__PS_ENABLE_AIE__ -DMA_XRT
host: libadf.a
	$(CROSS)gcc -std=c11 $(ARM_FLAGS) -c ../src/${network}.c -o ${network}.o
	cd .. && $(CROSS)gcc -c src/${network}_weights.S -o aie/${network}_weights.o
	$(CROSS)gcc -std=c11 $(ARM_FLAGS) -DMATCH_AIE_STATIC -c ../src/${network}_main.c -o ${network}_main.o
	$(CROSS)g++ -std=c++20 $(ARM_FLAGS) -c ${network}_host.cpp -o ${network}_host.o
	$(CROSS)g++ -std=c++20 $(ARM_FLAGS) -c ${network}_graphs.cpp -o ${network}_graphs.o
	$(CROSS)g++ -std=c++20 $(ARM_FLAGS) -c Work/ps/c_rts/aie_control_xrt.cpp -o aie_control_xrt.o
	$(CROSS)g++ *.o --sysroot=$(SYSROOT) -L$(XILINX_VITIS)/aietools/lib/aarch64.o -ladf_api_xrt -lxrt_coreutil -lm -o ${network}

hw: package

emulate: emulated check_files
	mkdir -p emulation_output/data
	./emulated
% if pairs:
	./check_files $(foreach name,$(OUTPUTS),emulation_output/$(name).txt $(name)_golden.txt)
% endif

emulated: $(SOURCES) ../emulation/${network}_app.cpp ../emulation/adf.cpp
	$(CXX) -std=c++20 -O1 ${arch}-I../emulation -I. -I../include '-DMA_OUTPUT_FOLDER="emulation_output/"' ../emulation/${network}_app.cpp ../emulation/adf.cpp -o $@

clean:
	rm -rf Work Work_x86 *.a *.o *.xsa *.xclbin check_files emulated *simulator_output emulation_output
