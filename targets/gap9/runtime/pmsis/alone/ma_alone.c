/* A stand-in for PMSIS, where no SDK is: a cluster with an L1 of 128 KiB that holds the runtime's
 * data, stacks and what is allocated; a DMA with 16 counters, whose bytes move at the wait; NE16 behind
 * its registers; a RAM of 8 MB, and a flash whose files are those of the folder that ALONE_FLASH names.
 * It says what a program computes, and nothing of time: its counter counts calls, not cycles.
 *
 * ALONE_FAIL names the one call that fails. What a runtime would not survive ends the process with
 * status 99 and a sentence. Programs lie below 4 GB, since PMSIS's addresses have 32 bits.
 */
#include "ma_alone.h"

#include "pmsis.h"

#include <bsp/flash/hyperflash.h>
#include <bsp/fs/readfs.h>
#include <bsp/ram/hyperram.h>

#include <string.h>

#include "ma_alone_registers.h"
#include "ma_host.h"

#define L1_BYTES 131072u
#define RUNTIME_BYTES 2048u /* of the runtime's own data in L1 */
#define COUNTERS 16
#define RAM_BYTES (8u << 20)

/* NE16's functional emulation, under names that leave the binding its own. */
uint32_t host_ne16_acquire(void);
void host_ne16_write(uint32_t index, uint32_t value);
void host_ne16_commit(void);
void host_ne16_wait(uint32_t number);

static _Alignas(16) uint8_t ram[RAM_BYTES];
static _Alignas(16) uint8_t l1[L1_BYTES] __attribute__((section("alone_l1")));
/* What programs have in L1; of it only the size is in `l1`. It holds anything at first. */
#define POISON 0xA5
extern uint8_t __start_data_l1[], __stop_data_l1[];
static uint32_t heap = RUNTIME_BYTES, stacks;
static int opened, in_cluster, counters;
/* What pi_perf_read gives: calls of this file that move bytes, start kernels, or touch registers. */
static uint32_t ticks;

#if defined(__GNUC__)
__attribute__((format(printf, 1, 2)))
#endif
static _Noreturn void stop(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    alone_say(format, arguments);
    va_end(arguments);
    alone_exit(99);
}

static _Noreturn void die(const char *sentence)
{
    stop("stand-in: %s\n", sentence);
}

static int fails(const char *call)
{
    const char *const named = alone_setting("ALONE_FAIL");
    return named && strcmp(named, call) == 0;
}

/* ---- what NE16's emulation asks for -------------------------------------------------------- */

uint8_t *ma_emulated_l1(void)
{
    return l1;
}

uint32_t ma_emulated_l1_bytes(void)
{
    return L1_BYTES;
}

_Noreturn void ma_stop(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    alone_say(format, arguments);
    va_end(arguments);
    stop("\n");
}

void ma_check_settled(const void *begin, uint32_t bytes, const char *what)
{
    (void)begin;
    (void)bytes;
    (void)what;
}

/* ---- L2 ------------------------------------------------------------------------------------- */

void *pi_l2_malloc(int size)
{
    static uint32_t taken;
    uint32_t bytes = 0;
    uint8_t *const heap_of_l2 = alone_l2(&bytes);
    if (size < 0 || (uint32_t)size > bytes - taken) {
        return NULL;
    }
    taken += ((uint32_t)size + 15) & ~15u;
    return heap_of_l2 + taken - (((uint32_t)size + 15) & ~15u);
}

/* ---- NE16's registers ---------------------------------------------------------------------- */

#define NE16 0x10201000u
#define CLOCKS 0x10200018u

static uint32_t clocks, looks, queued, oldest, acquired;

/* Every third look finds the oldest job at its end. */
static void look(void)
{
    if (queued && ++looks % 3 == 0 && !fails("ne16")) {
        host_ne16_wait(++oldest);
        --queued;
    }
}

uint32_t alone_read32(uint32_t address)
{
    ++ticks;
    if (address == CLOCKS) {
        return clocks;
    }
    if (!(clocks & 0x800u)) {
        die("NE16 is used before its clock is on");
    }
    if (!(clocks & 0x100u) || !(clocks & 0xffu)) {
        die("NE16 is used where it waits for the cores, or they for it, without an end");
    }
    look();
    switch (address - NE16) {
    case 0x04: /* acquire */
        if (queued == 2) {
            return 0xffffffffu;
        }
        acquired = host_ne16_acquire();
        return acquired % 256;
    case 0x0c: /* status */
        return queued;
    case 0x10: /* running job */
        return queued ? (oldest + 1) % 256 : 0xffffffffu;
    default:
        die("a register that nobody reads");
    }
}

void alone_write32(uint32_t address, uint32_t value)
{
    const uint32_t l1_base = (uint32_t)(uintptr_t)l1, index = (address - NE16 - 0x20) / 4;
    if (address == CLOCKS) {
        clocks = value;
    } else if (address == NE16) {
        host_ne16_commit();
        ++queued;
    } else if (address >= NE16 + 0x20 && index < 24) {
        /* Addresses, as NE16's emulation knows them: L1 begins at 0x10000000. */
        const int is_address = index < 4 || index == 5;
        host_ne16_write(index, is_address && value ? value - l1_base + 0x10000000u : value);
    } else if (address != NE16 + 0x14) {
        die("a register that nobody writes");
    }
}

/* ---- cluster ------------------------------------------------------------------------------- */

void pi_open_from_conf(struct pi_device *device, void *conf)
{
    device->config = conf;
}

void pi_cluster_conf_init(struct pi_cluster_conf *conf)
{
    conf->id = 0;
}

int pi_cluster_open(struct pi_device *device)
{
    if (fails("cluster_open")) {
        return -1;
    }
    memset(__start_data_l1, POISON, (size_t)(__stop_data_l1 - __start_data_l1));
    device->data = l1;
    heap = RUNTIME_BYTES + (uint32_t)(__stop_data_l1 - __start_data_l1);
    stacks = 0;
    opened = 1;
    return 0;
}

int pi_cluster_close(struct pi_device *device)
{
    device->data = NULL;
    opened = 0;
    return 0;
}

void *pi_cl_l1_malloc(struct pi_device *device, uint32_t size)
{
    const uint32_t at = (heap + 3) & ~3u;
    if (!opened || device->data != l1) {
        die("L1 of a cluster that is not open");
    }
    if (fails("l1_malloc") || size > L1_BYTES - at) {
        return NULL;
    }
    heap = at + size;
    return l1 + at;
}

/* Stacks are taken when the first task comes, and kept for tasks of the same sizes. */
static int take_stacks(struct pi_device *device, const struct pi_cluster_task *task)
{
    const uint32_t bytes
        = task->stack_size + task->slave_stack_size * (uint32_t)(task->nb_cores - 1);
    if (task->stack_size % 16 || task->slave_stack_size % 16) {
        die("stacks that are not aligned to 16 bytes");
    }
    if (stacks && stacks != bytes) {
        die("tasks with stacks of different sizes");
    }
    if (!stacks && !pi_cl_l1_malloc(device, bytes)) {
        return -1;
    }
    stacks = bytes;
    return 0;
}

int pi_cluster_send_task_to_cl(struct pi_device *device, struct pi_cluster_task *task)
{
    static int sent;
    if (!opened || in_cluster) {
        die("a task for a cluster that is not open, or busy");
    }
    if (take_stacks(device, task) || (++sent > 1 && fails("send_task"))) {
        return -1;
    }
    in_cluster = 1;
    task->entry(task->arg);
    in_cluster = 0;
    if (counters) {
        die("a task ended with transfers under way");
    }
    return 0;
}

void pi_cl_team_fork(int nb_cores, void (*entry)(void *), void *arg)
{
    if (!in_cluster || nb_cores > ALONE_CORES) {
        die("a fork from outside the cluster, or of too many cores");
    }
    ++ticks;
    for (int core = 0; core < nb_cores; ++core) {
        alone_be_core(core);
        entry(arg);
    }
    alone_be_core(CONTROLLER);
}

void pi_cl_team_fork_cc(int nb_cores, void (*entry)(void *), void *arg)
{
    if (!in_cluster || nb_cores > ALONE_CORES) {
        die("a fork from outside the cluster, or of too many cores");
    }
    alone_team(nb_cores, entry, arg);
}

uint32_t pi_core_id(void)
{
    return (uint32_t)alone_core();
}

/* ---- DMA ----------------------------------------------------------------------------------- */

static void check_l1(uint32_t loc, uint32_t size)
{
    const uint32_t begin = (uint32_t)(uintptr_t)l1;
    if (loc < begin + RUNTIME_BYTES + stacks || loc + size > begin + heap) {
        die("a transfer outside of what was allocated of L1");
    }
}

void pi_cl_dma_cmd_2d(uint32_t ext, uint32_t loc, uint32_t size, uint32_t stride, uint32_t length,
    pi_cl_dma_dir_e dir, pi_cl_dma_cmd_t *cmd)
{
    if (!in_cluster || counters == COUNTERS || size > 0x1ffff || !size) {
        die("a DMA command from outside the cluster, without a counter, or of no legal length");
    }
    check_l1(loc, size);
    ++counters;
    ++ticks;
    *cmd = (pi_cl_dma_cmd_t){ext, loc, size, stride, length, dir, 1};
    if (dir == PI_CL_DMA_DIR_EXT2LOC) {
        memset((void *)(uintptr_t)loc, 0xa5, size);
    }
}

void pi_cl_dma_cmd(
    uint32_t ext, uint32_t loc, uint32_t size, pi_cl_dma_dir_e dir, pi_cl_dma_cmd_t *cmd)
{
    pi_cl_dma_cmd_2d(ext, loc, size, size, size, dir, cmd);
}

void pi_cl_dma_cmd_wait(pi_cl_dma_cmd_t *cmd)
{
    if (!in_cluster || !cmd->open) {
        die("a wait for a DMA command that is not under way");
    }
    for (uint32_t done = 0, line = 0; done < cmd->size; done += cmd->length, ++line) {
        void *const near = (void *)(uintptr_t)(cmd->loc + done);
        void *const far = (void *)(uintptr_t)(cmd->ext + line * cmd->stride);
        const uint32_t bytes = cmd->size - done < cmd->length ? cmd->size - done : cmd->length;
        if (cmd->dir == PI_CL_DMA_DIR_EXT2LOC) {
            memcpy(near, far, bytes);
        } else {
            memcpy(far, near, bytes);
        }
    }
    cmd->open = 0;
    --counters;
}

/* ---- counters, and the begin ---------------------------------------------------------------- */

void pi_perf_conf(unsigned events)
{
    if (events != 1u << PI_PERF_CYCLES) {
        die("a counter that nobody reads");
    }
}

void pi_perf_reset(void)
{
    ticks = 0;
}

void pi_perf_start(void)
{
}

unsigned int pi_perf_read(int id)
{
    return id == PI_PERF_CYCLES ? ticks++ : 0;
}

int pmsis_kickoff(void *arg)
{
    union {
        void *given;
        void (*entry)(void);
    } const kickoff = {arg};
    kickoff.entry();
    return 0;
}

void pmsis_exit(int err)
{
    alone_exit(err);
}

/* ---- L3 ------------------------------------------------------------------------------------ */

static int ram_opened, flash_opened, mounted;
static uint32_t ram_taken = 64;

void pi_hyperram_conf_init(struct pi_hyperram_conf *conf)
{
    conf->ram.size = (int)RAM_BYTES;
}

void pi_hyperflash_conf_init(struct pi_hyperflash_conf *conf)
{
    conf->flash.size = 1 << 26;
}

void pi_readfs_conf_init(struct pi_readfs_conf *conf)
{
    conf->fs.flash = NULL;
}

int32_t pi_ram_open(struct pi_device *device)
{
    (void)device;
    ram_opened = !fails("ram_open");
    return ram_opened ? 0 : -1;
}

void pi_ram_close(struct pi_device *device)
{
    (void)device;
    ram_opened = 0;
}

int pi_ram_alloc(struct pi_device *device, uint32_t *addr, uint32_t size)
{
    (void)device;
    if (!ram_opened || fails("ram_alloc") || size > RAM_BYTES - ram_taken) {
        return -1;
    }
    *addr = ram_taken;
    ram_taken += size;
    return 0;
}

int pi_ram_free(struct pi_device *device, uint32_t addr, uint32_t size)
{
    (void)device;
    if (addr + size != ram_taken) {
        die("RAM is given back that was not taken");
    }
    ram_taken = addr;
    return 0;
}

void pi_ram_write(struct pi_device *device, uint32_t pi_ram_addr, void *data, uint32_t size)
{
    (void)device;
    if (!ram_opened || pi_ram_addr + size > ram_taken) {
        die("a write to RAM that was not allocated");
    }
    memcpy(ram + pi_ram_addr, data, size);
}

static void copy(pi_task_t *task)
{
    memcpy(task->to, task->from, task->bytes);
}

void pi_ram_read_async(
    struct pi_device *device, uint32_t pi_ram_addr, void *data, uint32_t size, pi_task_t *task)
{
    (void)device;
    if (!ram_opened || in_cluster || pi_ram_addr + size > ram_taken) {
        die("a read of RAM that was not allocated, or by the cluster");
    }
    memset(data, 0xa5, size);
    task->to = data;
    task->from = ram + pi_ram_addr;
    task->bytes = size;
    task->work = copy;
}

pi_task_t *pi_task_block(pi_task_t *task)
{
    *task = (pi_task_t){0};
    return task;
}

void pi_task_wait_on(pi_task_t *task)
{
    if (!task->work || task->done) {
        die("a wait for a task that was never started, or twice");
    }
    task->work(task);
    task->done = 1;
}

int pi_flash_open(struct pi_device *device)
{
    (void)device;
    flash_opened = !fails("flash_open");
    return flash_opened ? 0 : -1;
}

void pi_flash_close(struct pi_device *device)
{
    (void)device;
    flash_opened = 0;
}

int32_t pi_fs_mount(struct pi_device *device)
{
    const struct pi_fs_conf *const conf = device->config;
    if (!flash_opened || !conf->flash) {
        die("a file system on a flash that is not open");
    }
    mounted = !fails("fs_mount");
    return mounted ? 0 : -1;
}

void pi_fs_unmount(struct pi_device *device)
{
    (void)device;
    mounted = 0;
}

pi_fs_file_t *pi_fs_open(struct pi_device *device, const char *file, int flags)
{
    static pi_fs_file_t found;
    static int host;
    char path[1024];
    const char *const folder = alone_setting("ALONE_FLASH");
    if (!mounted || flags != PI_FS_FLAGS_READ || !folder
        || strlen(folder) + strlen(file) + 2 > sizeof path) {
        return NULL;
    }
    strcpy(path, folder);
    strcat(path, "/");
    strcat(path, file);
    uint32_t bytes = 0;
    host = alone_open(path, &bytes);
    if (host < 0) {
        return NULL;
    }
    found = (pi_fs_file_t){device, &host, bytes};
    return &found;
}

void pi_fs_close(pi_fs_file_t *file)
{
    alone_close(*(int *)file->data);
}

int32_t pi_fs_read(pi_fs_file_t *file, void *buffer, uint32_t size)
{
    return fails("fs_read") ? 1 : alone_read(*(int *)file->data, buffer, size);
}
