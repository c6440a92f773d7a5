# The chip's own build: `make gap9`, and what may be said to it. Included by ../Makefile, which says NETWORK
# and SOURCES. This file belongs to you.
#
#   make gap9              the program of pmsis/app/ma_app.c, which runs the network twice, by one of three ways:
#     GAP_SDK_HOME         GreenWaves' SDK of GAP9 (5.x, its utils/cmake/setup.cmake): CMake, into build/chip/cmake
#     RULES_DIR            an SDK with pmsis_rules.mk (pulp-platform/pulp-sdk, older ones of GreenWaves); their
#                          environment scripts set it: into build/chip/pmsis
#     neither              a plain RISC-V compiler and a stand-in for PMSIS (pmsis/alone): build/chip/$(NETWORK).elf
#                          has the chip's memories, but belongs on no chip. It says whether all fits and links,
#                          and what is computed: `make gap9-run` runs it in qemu-riscv32
#   INPUT=FILE             the inputs' bytes, one after the other, instead of the program's own
#   COUNTERS=1             prints what every step takes: match-aie compare-cycles
#   WHERE=TEXT             where it runs, in that table
#   GAP9_FLAGS=-O2         instead of -O3; any other flags of yours, too
#   GAP9_CONFIG=FILE       Kconfig of GreenWaves' SDK instead of pmsis/sdk.config (your board)
#   RISCV_CC=..., RISCV_LD=...   compiler and linker of the plain way; by default the first GCC that is there
#   RISCV_MARCH=rv32imc    its instruction set; by default with Xpulp where the compiler knows it
#   V=1                    shows whole commands of the plain way

GAP9_DIR := build/chip
GAP9_SHOW := $(if $(V),,@)
GAP9_FLAGS ?= -O3
GAP9_L3 := $(filter %_backing.S,$(SOURCES))
GAP9_C := $(filter-out emulation/%,$(filter %.c,$(SOURCES))) pmsis/ma_gap9_pmsis.c pmsis/ma_ne16_pmsis.c
GAP9_C += $(if $(GAP9_L3),pmsis/ma_l3_pmsis.c) pmsis/app/ma_app.c
GAP9_S := $(filter-out $(GAP9_L3),$(filter %.S,$(SOURCES))) $(if $(INPUT),$(GAP9_DIR)/ma_inputs.S)
GAP9_FILE := $(if $(GAP9_L3),weights/$(NETWORK)_backing.bin)
GAP9_DEFINES = -DMA_CHIP -DMA_NETWORK=$(NETWORK)
GAP9_GIVEN = $(if $(INPUT),-DMA_INPUTS)
# What the plan is for: ma_gap9_pmsis.c says so where the compiler makes another code of it.
GAP9_PLANNED := $(if $(filter gap9%,$(MAKECMDGOALS)),$(shell grep -q '"instruction_set": "xpulp"' match_aie.json && echo -DMA_PLANNED_XPULP))
GAP9_CORRECT := -ffp-contract=off -fno-strict-aliasing $(GAP9_PLANNED)
GAP9_HASH = $(firstword $(shell (sha256sum src/$(NETWORK).c || shasum -a 256 src/$(NETWORK).c) 2>/dev/null) unknown)

GAP9_CMAKE := $(if $(GAP_SDK_HOME),$(wildcard $(GAP_SDK_HOME)/utils/cmake/setup.cmake))
GAP9_RULES := $(if $(RULES_DIR),$(wildcard $(RULES_DIR)/pmsis_rules.mk))
GAP9_WAY := $(if $(GAP9_CMAKE),gap9-cmake,$(if $(GAP9_RULES),gap9-rules,gap9-plain))

.PHONY: gap9 gap9-cmake gap9-rules gap9-plain gap9-run gap9-compiler FORCE
gap9: $(GAP9_WAY)

# Written anew only where they change: what was asked for last, and the inputs.
$(GAP9_DIR)/asked: GAP9_ASKED = $(RISCV_CC) $(RISCV_MARCH) $(GAP9_FLAGS) $(GAP9_COUNTS)
$(GAP9_DIR)/input: GAP9_ASKED = $(abspath $(INPUT))
$(GAP9_DIR)/asked $(GAP9_DIR)/input: FORCE
	@mkdir -p $(GAP9_DIR)
	@printf '%s\n' '$(subst ','"'"',$(GAP9_ASKED))' > $@.new
	@cmp -s $@.new $@ && rm $@.new || mv $@.new $@
$(GAP9_DIR)/ma_inputs.S: $(INPUT) $(GAP9_DIR)/input
	@printf '.section .rodata\n.globl ma_inputs\n.balign 64\nma_inputs:\n.incbin "%s"\n' '$(abspath $(INPUT))' > $@

# What the table of counters says of itself: the code, where it ran, the unit.
GAP9_COUNTS = $(if $(COUNTERS),-DMA_COUNTERS '-DMA_CODE="$(GAP9_HASH)"' $(if $(GAP9_SAYS),'-DMA_WHERE="$(GAP9_SAYS)"'))
GAP9_SAYS = $(WHERE)

gap9-cmake: $(GAP9_S)
	cmake -S pmsis -B $(GAP9_DIR)/cmake -DMA_NETWORK=$(NETWORK) '-DMA_C=$(GAP9_C)' '-DMA_S=$(GAP9_S)' \
	    '-DMA_FLAGS=$(GAP9_FLAGS) $(GAP9_CORRECT)' '-DMA_CODE=$(GAP9_HASH)' '-DMA_WHERE=$(WHERE)' \
	    '-DMA_COUNTERS=$(COUNTERS)' '-DMA_INPUTS=$(INPUT)' '-DMA_FILE=$(GAP9_FILE)' \
	    $(if $(GAP9_CONFIG),'-DMA_CONFIG=$(abspath $(GAP9_CONFIG))')
	cmake --build $(GAP9_DIR)/cmake

gap9-rules: $(GAP9_S)
	$(MAKE) -f pmsis/pmsis.mk MA_NETWORK=$(NETWORK) MA_C="$(GAP9_C)" MA_S="$(GAP9_S)" MA_FILE="$(GAP9_FILE)" \
	    MA_FLAGS="$(GAP9_FLAGS) $(GAP9_CORRECT) $(GAP9_DEFINES) $(GAP9_GIVEN)" COUNTERS=$(COUNTERS) MA_CODE=$(GAP9_HASH) \
	    MA_WHERE="$(WHERE)" BUILDDIR=$(CURDIR)/$(GAP9_DIR)/pmsis build

# ---- a plain compiler -----------------------------------------------------------------------------

GAP9_GCCS := riscv32-unknown-elf-gcc riscv64-unknown-elf-gcc riscv-none-elf-gcc
RISCV_CC ?= $(firstword $(foreach cc,$(GAP9_GCCS),$(shell command -v $(cc) 2>/dev/null)))
RISCV_LD ?= $(RISCV_CC)
# $(call GAP9_TAKES,FLAGS,C,COMPILER) is FLAGS where it takes them and the line of C, else nothing. GCCs take
# names of extensions that they do not know: a builtin says whether one is there.
GAP9_TAKES = $(shell printf '%s' '$(2)' | $(or $(3),$(RISCV_CC)) $(1) -mabi=ilp32 -Werror -x c -c -o /dev/null - 2>/dev/null && echo '$(1)')
GAP9_XPULP := int f(int x) { return __builtin_pulp_clipu_r(x, 7); }
RISCV_MARCH ?= $(patsubst -march=%,%,$(firstword $(foreach m,rv32imcxgap9 rv32imcxpulpv2,$(call GAP9_TAKES,-march=$(m),$(GAP9_XPULP))) \
    $(call GAP9_TAKES,-march=rv32imc,int x;)))

ifneq ($(filter gap9 gap9-plain gap9-run,$(MAKECMDGOALS)),)
ifeq ($(GAP9_WAY),gap9-plain)
# Once, not at every use.
RISCV_CC := $(RISCV_CC)
RISCV_MARCH := $(if $(RISCV_CC),$(RISCV_MARCH))
GAP9_SPECS = $(filter-out -march=%,$(call GAP9_TAKES,-march=$(RISCV_MARCH) -specs=picolibc.specs,int x;,$(1)))
GAP9_LIBC := $(if $(RISCV_CC),$(call GAP9_SPECS,$(RISCV_CC)))
GAP9_LIBS := $(if $(RISCV_CC),$(call GAP9_SPECS,$(RISCV_LD)))
endif
endif

GAP9_ARCH = -march=$(RISCV_MARCH) -mabi=ilp32
GAP9_INCLUDE := -Iinclude -Ikernels -Ipmsis -Ipmsis/alone -Iemulation
GAP9_ALONE := pmsis/alone/ma_alone.c pmsis/alone/ma_alone_rv32.c emulation/ma_ne16_host.c
GAP9_OBJECTS := $(patsubst %,$(GAP9_DIR)/plain/%.o,$(GAP9_C) $(GAP9_S) $(GAP9_ALONE))
# One core has no threads; NE16's emulation goes by other names, since the binding has its own.
GAP9_PLAIN = $(GAP9_ARCH) $(GAP9_LIBC) -std=c11 $(GAP9_FLAGS) $(GAP9_CORRECT) -Wall -Wextra $(WERROR) -fno-builtin-printf \
    -ffunction-sections -fdata-sections -D_Thread_local= $(GAP9_DEFINES) $(GAP9_INCLUDE)
GAP9_RENAMED := $(foreach f,acquire write commit wait,-Dma_ne16_$(f)=host_ne16_$(f)) -Dma_l1_address=host_l1_address
$(GAP9_DIR)/plain/emulation/%: GAP9_MORE := $(GAP9_RENAMED) -DMA_NE16_EMULATED
$(GAP9_DIR)/plain/pmsis/app/%: GAP9_MORE = $(GAP9_GIVEN) -DMA_UNIT='"calls of the stand-in"'
$(GAP9_DIR)/plain/pmsis/app/ma_app.c.o: $(GAP9_DIR)/input
gap9-plain: GAP9_SAYS = stand-in for PMSIS, of no chip and no time

$(GAP9_DIR)/plain/%.c.o: %.c $(GAP9_DIR)/asked $(wildcard */*.h */*/*.h)
	@mkdir -p $(@D)
	$(if $(V),,@echo '$(notdir $(RISCV_CC)) $<')
	$(GAP9_SHOW)$(RISCV_CC) $(GAP9_PLAIN) $(GAP9_COUNTS) -include pmsis/alone/ma_alone_registers.h $(GAP9_MORE) -c $< -o $@
$(GAP9_DIR)/plain/%.S.o: %.S $(GAP9_DIR)/asked $(wildcard weights/*)
	@mkdir -p $(@D)
	$(if $(V),,@echo '$(notdir $(RISCV_CC)) $<')
	$(GAP9_SHOW)$(RISCV_CC) $(GAP9_ARCH) -c $< -o $@

$(GAP9_DIR)/$(NETWORK).elf: $(GAP9_OBJECTS) pmsis/alone/alone.ld
	$(GAP9_SHOW)$(RISCV_LD) $(GAP9_ARCH) $(GAP9_LIBS) -nostartfiles -static -Tpmsis/alone/alone.ld -Wl,--gc-sections,--no-relax \
	    $(GAP9_OBJECTS) -lm -lc -lgcc -o $@

gap9-compiler:
	@test -n '$(RISCV_CC)' || { echo 'make gap9: there is no SDK and no RISC-V compiler. Either'; \
	    echo '  - source the environment script of an SDK: of GreenWaves for GAP9 (sets GAP_SDK_HOME), or of'; \
	    echo '    github.com/pulp-platform/pulp-sdk (configs/pulp-open.sh, sets RULES_DIR), or'; \
	    echo '  - install a GCC for RISC-V with a C library, on Debian:'; \
	    echo '    apt install gcc-riscv64-unknown-elf picolibc-riscv64-unknown-elf'; \
	    echo '  - or say where one is: make gap9 RISCV_CC=/path/to/riscv32-unknown-elf-gcc'; exit 1; }
	@test -n '$(RISCV_MARCH)' || { echo 'make gap9: $(RISCV_CC) has no rv32imc: it is no compiler for GAP9'; exit 1; }

gap9-plain: gap9-compiler $(GAP9_DIR)/$(NETWORK).elf
	@echo '$(GAP9_DIR)/$(NETWORK).elf: $(RISCV_MARCH), with the stand-in for PMSIS: for no chip. make gap9-run runs it'

gap9-run: gap9-plain
	@command -v qemu-riscv32 > /dev/null || { echo 'make gap9-run: there is no qemu-riscv32 (Debian: apt install qemu-user)'; exit 1; }
	@ALONE_FLASH=weights qemu-riscv32 $(GAP9_DIR)/$(NETWORK).elf
