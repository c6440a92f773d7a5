/* Runs the cluster's kernels on tiles from stdin, on emulated cores one after the other. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ma_cluster_tile.h"

static int32_t core, cores;

int32_t ma_core(void) { return core; }
int32_t ma_cores(void) { return cores; }

typedef void kernel_function(const void *tile);

static int32_t backwards; /* cores work from the last to the first */

static void on_all_cores(kernel_function *kernel, const void *tile)
{
    for (int32_t i = 0; i < cores; ++i) {
        core = backwards ? cores - 1 - i : i;
        kernel(tile);
    }
}

void ma_fork(kernel_function *kernel, const void *argument) { on_all_cores(kernel, argument); }

uint32_t ma_fork_start(kernel_function *kernel, const void *argument, uint32_t bytes)
{
    (void)bytes;
    on_all_cores(kernel, argument);
    return 0;
}

/* A recurrent layer: scratch is where the state is to be. */
struct walk {
    struct ma_recurrent first;
    int32_t steps, x_step, y_step;
};

static void walk(const void *layer, kernel_function *one, kernel_function *other)
{
    kernel_function *const kernel[] = {one, other};
    struct walk w = *(const struct walk *)layer;
    uint8_t *const scratch = (uint8_t *)w.first.state;
    ma_fork_steps(kernel, other ? 2 : 1, &w.first, w.steps, w.x_step, w.y_step, scratch, 0);
}

static void walk_gru(const void *layer) { walk(layer, ma_gru, NULL); }
static void walk_gru_before(const void *layer) { walk(layer, ma_gru_gates, ma_gru_states); }
static void walk_lstm(const void *layer) { walk(layer, ma_lstm, NULL); }

static kernel_function *const kernels[] = {
    ma_conv2d_u8, ma_conv2d_i8, ma_depthwise_u8, ma_depthwise_i8, ma_dense_u8, ma_dense_i8,
    ma_max_pool_u8, ma_max_pool_i8, ma_average_pool_u8, ma_average_pool_i8,
    ma_add_u8_u8, ma_add_u8_i8, ma_add_i8_u8, ma_add_i8_i8, ma_quantize,
    ma_dequantize_u8, ma_dequantize_i8, ma_softmax_u8, ma_softmax_i8,
    ma_mul_u8_u8, ma_mul_u8_i8, ma_mul_i8_u8, ma_mul_i8_i8, ma_table, ma_norm,
    ma_product_u8, ma_product_i8, ma_permute,
    ma_real_conv2d, ma_real_depthwise, ma_real_max_pool, ma_real_average_pool, ma_real_softmax,
    ma_real_norm, ma_half_conv2d, ma_bfloat_conv2d, ma_real_add,
    ma_softmax_narrow_u8, ma_softmax_narrow_i8, ma_softmax_wide_u8, ma_softmax_wide_i8,
    ma_conv16_i16, ma_conv16_u16, ma_depthwise16_i16, ma_depthwise16_u16,
    walk_gru, walk_gru_before, walk_lstm,
};

/* Those from here on fork themselves. */
enum { WALKS = sizeof kernels / sizeof *kernels - 3 };

/* A job: which kernel, how many cores, in which order; bytes of each block, of the structure. */
struct job {
    int32_t kernel, cores, reverse, pointers, y, bytes;
    int32_t block[8];
};

static void read_all(void *to, size_t bytes)
{
    if (bytes && fread(to, 1, bytes, stdin) != bytes) {
        exit(9);
    }
}

static void run(const struct job *job, void *tile)
{
    cores = job->cores;
    backwards = job->reverse;
    if (job->kernel >= WALKS) {
        kernels[job->kernel](tile);
    } else {
        on_all_cores(kernels[job->kernel], tile);
    }
}

int main(void)
{
    struct job job;
    while (fread(&job, sizeof job, 1, stdin) == 1) {
        char *tile = malloc((size_t)job.bytes);
        void *blocks[8] = {0};
        read_all(tile, (size_t)job.bytes);
        for (int32_t i = 0; i < job.pointers; ++i) {
            blocks[i] = malloc((size_t)job.block[i]);
            read_all(blocks[i], (size_t)job.block[i]);
        }
        memcpy(tile, blocks, (size_t)job.pointers * sizeof(void *));
        run(&job, tile);
        fwrite(blocks[job.y], 1, (size_t)job.block[job.y], stdout);
        for (int32_t i = 0; i < job.pointers; ++i) {
            free(blocks[i]);
        }
        free(tile);
    }
    return 0;
}
