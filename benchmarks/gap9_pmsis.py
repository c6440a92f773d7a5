"""A stub of PMSIS, over which the controller's code of an emitted GAP9 project is counted."""

#: What the binding calls: names as PMSIS has them, and nothing behind most of them. The DMA takes a
#: command as MCHAN does: a lock, a counter, the command in words, the lock again.
PMSIS = """#ifndef PMSIS_H
#define PMSIS_H
#include <stddef.h>
#include <stdint.h>
#define PI_L1 __attribute__((section(".data_l1")))
struct pi_device { void *config; };
struct pi_cluster_conf { int id; };
struct pi_cluster_task {
    void (*entry)(void *);
    void *arg;
    uint32_t stack_size, slave_stack_size;
};
typedef enum { PI_CL_DMA_DIR_LOC2EXT = 0, PI_CL_DMA_DIR_EXT2LOC = 1 } pi_cl_dma_dir_e;
typedef struct { uint32_t id; } pi_cl_dma_cmd_t;
#define DMA(offset) (*(volatile uint32_t *)(0x10204000u + (offset)))
int pi_cluster_send_task_to_cl(struct pi_device *device, struct pi_cluster_task *task);
void pi_cl_team_fork(int cores, void (*entry)(void *), void *argument);
void pi_cl_team_fork_cc(int cores, void (*entry)(void *), void *argument);
void *pi_l1_malloc(struct pi_device *device, uint32_t bytes);
void pi_open_from_conf(struct pi_device *device, void *conf);
int pi_cluster_open(struct pi_device *device);
int pi_cluster_close(struct pi_device *device);
static inline void pi_cluster_conf_init(struct pi_cluster_conf *conf) { conf->id = 0; }
/* GAP9's controller is a ninth core; two instructions as on the chip, that no compiler foresees. A
 * worker has -8 in a register that nobody uses. */
static inline uint32_t pi_core_id(void)
{
    uint32_t id;
    __asm__ volatile("mv %0, gp\\n\\taddi %0, %0, 8" : "=r"(id));
    return id;
}
static inline void pi_cluster_task(struct pi_cluster_task *task, void (*entry)(void *), void *arg)
{
    task->entry = entry;
    task->arg = arg;
}
static inline uint32_t dma_begin(uint32_t words, uint32_t l1, uint32_t l2)
{
    (void)DMA(0);
    const uint32_t id = DMA(4);
    DMA(4) = words;
    DMA(4) = l1;
    DMA(4) = l2;
    return id;
}
static inline void pi_cl_dma_cmd(uint32_t l2, uint32_t l1, uint32_t bytes, pi_cl_dma_dir_e to,
    pi_cl_dma_cmd_t *command)
{
    command->id = dma_begin(bytes | (uint32_t)to << 17, l1, l2);
    DMA(0) = 0;
}
static inline void pi_cl_dma_cmd_2d(uint32_t l2, uint32_t l1, uint32_t bytes, uint32_t stride,
    uint32_t line, pi_cl_dma_dir_e to, pi_cl_dma_cmd_t *command)
{
    command->id = dma_begin(bytes | (uint32_t)to << 17 | 1u << 18, l1, l2);
    DMA(4) = line;
    DMA(4) = stride;
    DMA(0) = 0;
}
static inline void pi_cl_dma_cmd_wait(pi_cl_dma_cmd_t *command)
{
    (void)DMA(0);
    while (DMA(8) >> command->id & 1) { }
    DMA(12) = 1u << command->id;
    DMA(0) = 0;
}
#endif
"""
STUBS = """#include "pmsis.h"
int pi_cluster_send_task_to_cl(struct pi_device *device, struct pi_cluster_task *task)
{ (void)device; task->entry(task->arg); return 0; }
void pi_cl_team_fork(int cores, void (*entry)(void *), void *argument)
{
    (void)cores;
#ifdef KERNELS
    __asm__ volatile("li gp, -8" : : : "memory");
    entry(argument);
    __asm__ volatile("li gp, 0" : : : "memory");
#else
    (void)entry; (void)argument; __asm__ volatile("");
#endif
}
void pi_cl_team_fork_cc(int cores, void (*entry)(void *), void *argument)
{ (void)cores; entry(argument); }
void *pi_l1_malloc(struct pi_device *device, uint32_t bytes)
{ (void)device; (void)bytes; return (void *)@LAYERS@; }
void pi_open_from_conf(struct pi_device *device, void *conf) { device->config = conf; }
int pi_cluster_open(struct pi_device *device) { (void)device; return 0; }
int pi_cluster_close(struct pi_device *device) { (void)device; return 0; }
"""
