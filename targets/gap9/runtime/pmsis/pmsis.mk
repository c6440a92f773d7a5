# An application of an SDK that has pmsis_rules.mk: `make gap9` calls it, from the project's folder. Written
# for pulp-platform/pulp-sdk@d4b5bcd (tools/rules/pmsis_rules.mk, rtos/pulpos/common/rules).
APP := $(MA_NETWORK)
APP_SRCS := $(MA_C)
PULP_APP_ASM_SRCS := $(MA_S)
APP_CFLAGS := $(MA_FLAGS) -std=gnu11 -Iinclude -Ikernels -Ipmsis -D_Thread_local=
ifneq ($(COUNTERS),)
APP_CFLAGS += -DMA_COUNTERS '-DMA_CODE="$(MA_CODE)"'
ifneq ($(MA_WHERE),)
APP_CFLAGS += '-DMA_WHERE="$(MA_WHERE)"'
endif
endif
APP_LDFLAGS += -lm -lc -lgcc
ifneq ($(MA_FILE),)
# Constants come from the flash's file system, by way of the RAM: drivers that pulp-sdk leaves out.
READFS_FILES += $(MA_FILE)
CONFIG_HYPERFLASH ?= 1
CONFIG_HYPERRAM ?= 1
CONFIG_READFS ?= 1
endif
include $(RULES_DIR)/pmsis_rules.mk
