/* What the binding and ma_app.c call of PMSIS, with the declarations of the public one: types, names,
 * results and const as in pulp-platform/pulp-sdk@d4b5bcd, rtos/pmsis/pmsis_api/include; what is inline
 * there is a function here. Own text: no SDK is here, and what structures hold besides is not the SDK's,
 * so no object built with it belongs into a program for the chip. ma_alone.c gives it a meaning. */
#ifndef PMSIS_H
#define PMSIS_H

#include <stddef.h>
#include <stdint.h>

/* Data in L1, where nobody puts its first values. */
#define PI_L1 __attribute__((section("data_l1")))

typedef struct pi_device {
    struct pi_device_api *api;
    void *config;
    void *data;
} pi_device_t;

typedef struct pi_task {
    void (*work)(struct pi_task *task);
    void *to, *from;
    uint32_t bytes;
    int done;
} pi_task_t;

/* The stack of tasks is the cluster's in GreenWaves' SDK of GAP9 (as pulp-platform/Deeploy uses it), the
 * task's in pulp-sdk. */
struct pi_cluster_conf {
    int id;
    uint32_t cc_stack_size;
};

struct pi_cluster_task {
    void (*entry)(void *);
    void *arg;
    void *stacks;
    uint32_t stack_size, slave_stack_size;
    int nb_cores;
    pi_task_t *completion_callback;
    struct pi_cluster_task *next;
};

typedef enum { PI_CL_DMA_DIR_LOC2EXT = 0, PI_CL_DMA_DIR_EXT2LOC = 1 } pi_cl_dma_dir_e;

typedef struct pi_cl_dma_cmd_s {
    uint32_t ext, loc, size, stride, length;
    pi_cl_dma_dir_e dir;
    int open;
} pi_cl_dma_cmd_t;

void pi_open_from_conf(struct pi_device *device, void *conf);
void pi_cluster_conf_init(struct pi_cluster_conf *conf);
int pi_cluster_open(struct pi_device *device);
int pi_cluster_close(struct pi_device *device);
int pi_cluster_send_task_to_cl(struct pi_device *device, struct pi_cluster_task *task);
void pi_cl_team_fork(int nb_cores, void (*entry)(void *), void *arg);
/* In rtos/pulpos/common/include/pos/implem/pe.h, and in gap_sdk's API. */
void pi_cl_team_fork_cc(int nb_cores, void (*entry)(void *), void *arg);
/* Of pmsis/rtos/malloc/l2_malloc.h. */
void *pi_l2_malloc(int size);
void *pi_cl_l1_malloc(struct pi_device *device, uint32_t size);
#define pi_l1_malloc(x, y) pi_cl_l1_malloc(x, y)
uint32_t pi_core_id(void);
void pi_cl_dma_cmd(
    uint32_t ext, uint32_t loc, uint32_t size, pi_cl_dma_dir_e dir, pi_cl_dma_cmd_t *cmd);
void pi_cl_dma_cmd_2d(uint32_t ext, uint32_t loc, uint32_t size, uint32_t stride, uint32_t length,
    pi_cl_dma_dir_e dir, pi_cl_dma_cmd_t *cmd);
void pi_cl_dma_cmd_wait(pi_cl_dma_cmd_t *cmd);
pi_task_t *pi_task_block(pi_task_t *task);
void pi_task_wait_on(pi_task_t *task);

/* Of pmsis/chips/default.h, pmsis/drivers/perf.h and pmsis/rtos/os_frontend_api/os.h. */
#define PI_PERF_CYCLES 17
void pi_perf_conf(unsigned events);
void pi_perf_reset(void);
void pi_perf_start(void);
unsigned int pi_perf_read(int id);
int pmsis_kickoff(void *arg);
void pmsis_exit(int err);

/* As the public one: what it does not set is as it was. */
static inline struct pi_cluster_task *pi_cluster_task(
    struct pi_cluster_task *task, void (*entry)(void *), void *arg)
{
    task->entry = entry;
    task->arg = arg;
    task->stacks = NULL;
    task->stack_size = 0;
    task->nb_cores = 9;
    return task;
}

#endif
