/* What the binding to PMSIS calls, as documented: prototypes to compile against, no SDK. */
#ifndef PMSIS_H
#define PMSIS_H

#include <stdint.h>

struct pi_device {
    void *data;
};
struct pi_cluster_conf {
    int id;
};
struct pi_cluster_task {
    void (*entry)(void *);
    void *arg;
    uint32_t stack_size, slave_stack_size;
};
typedef enum { PI_CL_DMA_DIR_LOC2EXT = 0, PI_CL_DMA_DIR_EXT2LOC = 1 } pi_cl_dma_dir_e;
typedef struct {
    uint32_t id;
} pi_cl_dma_cmd_t;

void pi_cluster_conf_init(struct pi_cluster_conf *conf);
void pi_open_from_conf(struct pi_device *device, void *conf);
int pi_cluster_open(struct pi_device *device);
void *pi_l1_malloc(struct pi_device *device, int size);
struct pi_cluster_task *pi_cluster_task(
    struct pi_cluster_task *task, void (*entry)(void *), void *arg);
int pi_cluster_send_task_to_cl(struct pi_device *device, struct pi_cluster_task *task);
void pi_cl_team_fork(int cores, void (*entry)(void *), void *arg);
uint32_t pi_core_id(void);
void pi_cl_dma_cmd(
    uint32_t ext, uint32_t loc, uint32_t size, pi_cl_dma_dir_e dir, pi_cl_dma_cmd_t *cmd);
void pi_cl_dma_cmd_2d(uint32_t ext, uint32_t loc, uint32_t size, uint32_t stride, uint32_t length,
    pi_cl_dma_dir_e dir, pi_cl_dma_cmd_t *cmd);
void pi_cl_dma_cmd_wait(pi_cl_dma_cmd_t *cmd);

#endif
