/* The platform on GAP9's SDK (PMSIS): offload, fork, L1, L3, DMA. Not run on silicon; written from
 * the public declarations (pulp-platform/pulp-sdk@d4b5bcd, rtos/pmsis), and executed against a mock
 * of them.
 *
 * The controller of the cluster is the core that the SDK sends tasks to; ma_fork starts the eight
 * workers and waits for them. In ma_beside they stand by while it goes on. Build with the kernels and ma_ne16_pmsis.c instead of emulation/, and
 * with MA_CHIP. Whatever fails ends the network: ma_network returns 1, ma_fault() says what it was.
 */
#include "ma_gap9.h"
#include "ma_pmsis.h"
#include "ma_simd.h"

#include "pmsis.h"

#include <stddef.h>

#if defined(MA_PLANNED_XPULP) && !MA_XPULP
#pragma message("planned for Xpulp, compiled without: layers take longer than they were planned with; " \
                "compile the network with instruction_set='rv32imc'")
#endif

/* Of L1: what layers may take, and stacks of the controller and of every worker. Lists of
 * tiles are there too (ma_near.h, 18,432 bytes at most), and the runtime's own data: of 128 KiB all
 * these leave it 7,680 bytes. */
#ifndef MA_L1_BYTES
#define MA_L1_BYTES 73728
#endif
#ifndef MA_STACK_BYTES
#define MA_STACK_BYTES 3584
#endif
#ifndef MA_WORKER_STACK_BYTES
#define MA_WORKER_STACK_BYTES 3456
#endif
#define WORKERS 8
/* Transfers at a time, and commands of one transfer in flight: a command moves two dimensions. A
 * command takes one of the DMA's counters until it is waited for; who wants one more waits forever. */
#define TRANSFERS 20
#define COMMANDS 4
#define COUNTERS 16
/* How long a core that waits for another one looks away, in turns of an empty loop: looking takes
 * L1's banks, all workers the same one. Of the one controller; workers, up to eight of which have
 * nothing to do while NE16 works, look a third as often: on GVSoC, where NE16 waits for them at their
 * bank, ResNet8 with two engines takes 5 to 10 % longer where they look as often. A host whose cores
 * are threads gives its processor away. */
#ifndef MA_PAUSE
#define MA_PAUSE 16
#define MA_YIELD() ((void)0)
#endif
/* What every transfer changes lies in L1, if the SDK says how. */
#ifndef PI_L1
#define PI_L1
#endif

static struct pi_device cluster;
static uint8_t *l1_memory;
/* How often the cluster was opened: L1 is lost when it is closed. */
static uint32_t openings;
/* Written by any core, read after a wait for it. */
static const char *volatile failure;

static void forget(void);
static void drain(void);

/* ---- platform ------------------------------------------------------------------------------ */

const char *ma_fault(void)
{
    return failure;
}

void ma_fail(const char *sentence)
{
    if (!failure) {
        failure = sentence;
    }
}

static int failed(const char *sentence)
{
    ma_fail(sentence);
    return 1;
}

struct offloaded {
    void (*entry)(void *argument);
    void *argument;
};

#ifdef MA_COUNTERS
static volatile int offloaded;

int ma_offloaded(void)
{
    return offloaded;
}
#define OFFLOADED(value) (offloaded = (value))
#else
#define OFFLOADED(value) ((void)0)
#endif

/* On the controller; a layer that failed leaves transfers behind, whose end nobody awaited. */
static void run_offloaded(void *argument)
{
    const struct offloaded *const work = argument;
    OFFLOADED(1);
    work->entry(work->argument);
    drain();
    OFFLOADED(0);
}

int ma_offload(void (*entry)(void *argument), void *argument)
{
    struct offloaded work = {entry, argument};
    struct pi_cluster_task task = {0};
    pi_cluster_task(&task, run_offloaded, &work);
#ifndef MA_BOARD /* GreenWaves' SDK has it of the cluster, see open_cluster */
    task.stack_size = MA_STACK_BYTES;
#endif
    task.slave_stack_size = MA_WORKER_STACK_BYTES;
    if (pi_cluster_send_task_to_cl(&cluster, &task)) {
        return failed("the cluster took no task: L1 has no room for its stacks");
    }
    return failure != NULL;
}

/* Workers in ma_beside: each looks, from time to time, whether it has something to do. Counters go
 * up by one with every start; words of L1, which one core writes and others read. */
static PI_L1 struct {
    void (*kernel)(const void *argument);
    uint32_t argument[MA_ARGUMENT_BYTES / 4];
    void (*entry)(void *argument);
    void *entered;
    uint32_t controller, stands;
    volatile uint32_t started, leave, done[WORKERS + 1];
} team;

/* L1 holds anything when the cluster was opened. */
static void prepare(void *argument)
{
    (void)argument;
    team.stands = 0;
    forget();
    ma_ne16_open();
}

/* The SDK takes stacks from L1 when the first task comes, and keeps them: before all else. */
static int open_cluster(void)
{
    struct pi_cluster_conf conf;
    if (l1_memory) {
        return 0;
    }
    pi_cluster_conf_init(&conf);
#ifdef MA_BOARD
    conf.cc_stack_size = MA_STACK_BYTES;
#endif
    pi_open_from_conf(&cluster, &conf);
    if (pi_cluster_open(&cluster)) {
        return failed("the cluster cannot be opened");
    }
    ++openings;
    if (!ma_offload(prepare, NULL)) {
        l1_memory = pi_l1_malloc(&cluster, MA_L1_BYTES + 15);
        if (!l1_memory) {
            ma_fail("beside the stacks L1 has no room for MA_L1_BYTES");
        }
    }
    if (failure) {
        (void)pi_cluster_close(&cluster); /* it failed already */
        return 1;
    }
    return 0;
}

int ma_network(ma_steps *steps, uint8_t *arena, const void *const in[], void *const out[])
{
    failure = NULL;
    ma_ne16_forget();
    if (open_cluster()) {
        return 1;
    }
    if (steps(arena, in, out) && !failure) {
        ma_fail("the network stopped and nobody said why");
    }
    return failure != NULL;
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

/* Which worker core `id` is: the controller is none, and on GAP9 comes behind them. */
static uint32_t worker(uint32_t id)
{
    return team.stands && id > team.controller ? id - 1 : id;
}

/* GAP9's controller is a core of its own; on a cluster without one it is the first worker. */
static uint32_t workers(void)
{
    return team.stands && team.controller < WORKERS ? WORKERS - 1 : WORKERS;
}

static void pause_looking(uint32_t turns)
{
    for (uint32_t i = 0; i < turns; ++i) {
        __asm__ volatile("" ::: "memory");
    }
    MA_YIELD();
}

static void work_on(uint32_t number)
{
    uint32_t seen = 0;
    for (;;) {
        const uint32_t leave = team.leave; /* before `started`, which never changes after it */
        __atomic_thread_fence(__ATOMIC_SEQ_CST);
        if (team.started != seen) {
            ++seen;
            team.kernel(team.argument);
            __atomic_thread_fence(__ATOMIC_SEQ_CST);
            team.done[number] = seen;
        } else if (leave) {
            return;
        } else {
            pause_looking(3 * MA_PAUSE);
        }
    }
}

static void run_beside(void *argument)
{
    (void)argument;
    const uint32_t id = (uint32_t)pi_core_id();
    if (id != team.controller) {
        work_on(worker(id));
        return;
    }
    team.entry(team.entered);
    ma_fork_wait(team.started); /* a layer that failed left it */
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    team.leave = 1;
}

/* pi_cl_team_fork_cc starts the workers and runs the same on the controller: pulp-sdk, where the
 * runtime implements it (rtos/pulpos), and GreenWaves' gap_sdk. Barriers of a team are no use here:
 * whether the controller belongs to them is not the same in these two. */
void ma_beside(void (*entry)(void *argument), void *argument)
{
    team.entry = entry;
    team.entered = argument;
    team.controller = (uint32_t)pi_core_id();
    team.started = team.leave = 0;
    for (uint32_t i = 0; i <= WORKERS; ++i) {
        team.done[i] = 0;
    }
    team.stands = 1;
    pi_cl_team_fork_cc(WORKERS, run_beside, NULL);
    team.stands = 0;
}

uint32_t ma_fork_start(void (*kernel)(const void *argument), const void *argument, uint32_t bytes)
{
    if (bytes > sizeof team.argument || bytes % 4) {
        ma_fail("the argument of a kernel is no whole words, or more than may be copied of it");
        return team.started;
    }
    ma_fork_wait(team.started);
    team.kernel = kernel;
    const volatile uint32_t *const words = argument; /* memcpy may go byte by byte */
    for (uint32_t i = 0; i < bytes / 4; ++i) {
        team.argument[i] = words[i];
    }
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    return ++team.started;
}

void ma_fork_wait(uint32_t ticket)
{
    for (uint32_t i = 0; i < workers(); ++i) {
        while (team.done[i] < ticket) {
            pause_looking(MA_PAUSE);
        }
    }
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
}

int32_t ma_core(void)
{
    return (int32_t)worker((uint32_t)pi_core_id());
}

int32_t ma_cores(void)
{
    return (int32_t)workers();
}

/* ---- memory -------------------------------------------------------------------------------- */

static uint8_t *l1_begin(void)
{
    return (uint8_t *)(((uintptr_t)l1_memory + 15) & ~(uintptr_t)15);
}

uint8_t *ma_l1_open(uint32_t bytes)
{
    if (bytes > MA_L1_BYTES) {
        ma_fail("a layer needs more of L1 than MA_L1_BYTES");
        return NULL;
    }
    return l1_begin();
}

void ma_l1_close(uint8_t *l1)
{
    (void)l1;
}

const void *ma_l1_at(uint32_t offset)
{
    return l1_begin() + offset;
}

int ma_l1_lost(uint32_t *known)
{
    const int lost = *known != openings;
    *known = openings;
    return lost;
}

void ma_l1_place(void *list, const void *from, uint32_t bytes)
{
    volatile uint32_t *const to = list; /* no call of memcpy, which may go byte by byte */
    const uint32_t *const words = from;
    for (uint32_t i = 0; i < bytes / 4; ++i) {
        to[i] = words[i];
    }
}

static PI_L1 struct transfer {
    pi_cl_dma_cmd_t command[COMMANDS];
    uint32_t started;
    int busy;
} transfers[TRANSFERS];
static PI_L1 uint32_t counters;

/* Waits for all commands of a transfer that are under way. */
static void finish(struct transfer *transfer)
{
    const uint32_t open = transfer->started < COMMANDS ? transfer->started : COMMANDS;
    for (uint32_t i = 0; i < open; ++i) {
        pi_cl_dma_cmd_wait(&transfer->command[i]);
    }
    counters -= open;
    transfer->started = 0;
}

/* A place for one more command of `transfer`, and a counter. */
static pi_cl_dma_cmd_t *next_command(struct transfer *transfer)
{
    pi_cl_dma_cmd_t *const command = &transfer->command[transfer->started % COMMANDS];
    if (transfer->started >= COMMANDS) {
        pi_cl_dma_cmd_wait(command);
        --counters;
    }
    for (uint32_t i = 0; counters == COUNTERS; ++i) {
        if (&transfers[i] != transfer) {
            finish(&transfers[i]);
        }
    }
    ++counters;
    ++transfer->started;
    return command;
}

/* Lines of the innermost level are one command. */
static void start_plane(struct transfer *transfer, uint32_t l2, uint32_t l1,
    const struct ma_block *block, pi_cl_dma_dir_e direction)
{
    pi_cl_dma_cmd_t *const command = next_command(transfer);
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
    while (i < TRANSFERS && transfers[i].busy) {
        ++i;
    }
    if (i == TRANSFERS) {
        ma_fail("more transfers are under way than the DMA's binding holds");
        return 0;
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
    finish(&transfers[number - 1]);
    transfers[number - 1].busy = 0;
}

static void forget(void)
{
    for (uint32_t i = 0; i < TRANSFERS; ++i) {
        transfers[i].busy = 0;
        transfers[i].started = 0;
    }
    counters = 0;
}

static void drain(void)
{
    for (uint32_t i = 0; i < TRANSFERS; ++i) {
        if (transfers[i].busy) {
            ma_dma_wait(i + 1);
        }
    }
}
