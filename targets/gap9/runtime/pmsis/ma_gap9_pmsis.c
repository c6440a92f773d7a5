/* The platform on GAP9's SDK (PMSIS): offload, fork, L1, DMA. Neither compiled with the SDK nor run
 * on silicon; written from PMSIS's documented calls, and compiled against their prototypes.
 *
 * The controller of the cluster is the core that the SDK sends tasks to; ma_fork starts the eight
 * workers and waits for them. Build with the kernels and ma_ne16_pmsis.c instead of emulation/.
 */
#include "ma_gap9.h"

#include "pmsis.h"

#include <stddef.h>

/* Of L1 that layers may take; the SDK has stacks and data of its own there. */
#ifndef MA_L1_BYTES
#define MA_L1_BYTES 120000
#endif
#define WORKERS 8
#define STACK_BYTES 3500
#define WORKER_STACK_BYTES 3400
/* Transfers at a time, and commands of one transfer in flight: a command moves two dimensions. */
#define TRANSFERS 16
#define COMMANDS 4

static struct pi_device cluster;
static uint8_t *l1_memory;

/* ---- platform ------------------------------------------------------------------------------ */

static int open_cluster(void)
{
    struct pi_cluster_conf conf;
    if (l1_memory) {
        return 0;
    }
    pi_cluster_conf_init(&conf);
    pi_open_from_conf(&cluster, &conf);
    if (pi_cluster_open(&cluster)) {
        return 1;
    }
    l1_memory = pi_l1_malloc(&cluster, MA_L1_BYTES + 15);
    return l1_memory == NULL;
}

int ma_network(ma_steps *steps, uint8_t *arena, const void *const in[], void *const out[])
{
    if (open_cluster()) {
        return 1;
    }
    steps(arena, in, out);
    return 0;
}

const char *ma_fault(void)
{
    return NULL;
}

void ma_offload(void (*entry)(void *argument), void *argument)
{
    struct pi_cluster_task task;
    pi_cluster_task(&task, entry, argument);
    task.stack_size = STACK_BYTES;
    task.slave_stack_size = WORKER_STACK_BYTES;
    pi_cluster_send_task_to_cl(&cluster, &task);
}

struct work {
    void (*kernel)(const void *argument);
    const void *argument;
};

static void run_kernel(void *argument)
{
    const struct work *const work = argument;
    work->kernel(work->argument);
}

void ma_fork(void (*kernel)(const void *argument), const void *argument)
{
    struct work work = {kernel, argument};
    pi_cl_team_fork(WORKERS, run_kernel, &work);
}

int32_t ma_core(void)
{
    return (int32_t)pi_core_id();
}

int32_t ma_cores(void)
{
    return WORKERS;
}

/* ---- memory -------------------------------------------------------------------------------- */

uint8_t *ma_l1_open(uint32_t bytes)
{
    return bytes > MA_L1_BYTES ? NULL : (uint8_t *)(((uintptr_t)l1_memory + 15) & ~(uintptr_t)15);
}

void ma_l1_close(uint8_t *l1)
{
    (void)l1;
}

const void *ma_l1_at(uint32_t offset)
{
    return ma_l1_open(0) + offset;
}

static struct transfer {
    pi_cl_dma_cmd_t command[COMMANDS];
    uint32_t started;
    int busy;
} transfers[TRANSFERS];

/* Lines of the innermost level are one command; before a command slot is used again, its last
 * transfer is waited for. */
static void start_plane(struct transfer *transfer, uint32_t l2, uint32_t l1,
    const struct ma_block *block, pi_cl_dma_dir_e direction)
{
    pi_cl_dma_cmd_t *const command = &transfer->command[transfer->started % COMMANDS];
    if (transfer->started >= COMMANDS) {
        pi_cl_dma_cmd_wait(command);
    }
    ++transfer->started;
    if (block->count[0] == 1) {
        pi_cl_dma_cmd(l2, l1, block->bytes, direction, command);
    } else {
        pi_cl_dma_cmd_2d(l2, l1, block->bytes * block->count[0], block->stride[0], block->bytes,
            direction, command);
    }
}

/* Lines lie one after the other in L1, so that l1_stride[0] is their length. */
static ma_dma start(const void *l2, const void *l1, const struct ma_block *block,
    pi_cl_dma_dir_e direction)
{
    uint32_t i = 0;
    while (transfers[i].busy) {
        i = (i + 1) % TRANSFERS;
    }
    transfers[i].busy = 1;
    transfers[i].started = 0;
    for (uint32_t p = 0; p < block->count[2]; ++p) {
        for (uint32_t q = 0; q < block->count[1]; ++q) {
            const uint32_t far = p * block->stride[2] + q * block->stride[1];
            const uint32_t near = p * block->l1_stride[2] + q * block->l1_stride[1];
            start_plane(&transfers[i], (uint32_t)(uintptr_t)l2 + far,
                (uint32_t)(uintptr_t)l1 + near, block, direction);
        }
    }
    return i + 1;
}

ma_dma ma_dma_load(void *l1, const void *l2, const struct ma_block *block)
{
    return start(l2, l1, block, PI_CL_DMA_DIR_EXT2LOC);
}

ma_dma ma_dma_store(void *l2, const void *l1, const struct ma_block *block)
{
    return start(l2, l1, block, PI_CL_DMA_DIR_LOC2EXT);
}

/* ---- synchronisation ----------------------------------------------------------------------- */

void ma_dma_wait(ma_dma number)
{
    if (number == 0) {
        return;
    }
    struct transfer *const transfer = &transfers[number - 1];
    const uint32_t open = transfer->started < COMMANDS ? transfer->started : COMMANDS;
    for (uint32_t i = 0; i < open; ++i) {
        pi_cl_dma_cmd_wait(&transfer->command[i]);
    }
    transfer->busy = 0;
}
