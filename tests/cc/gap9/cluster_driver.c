/* Runs the cluster's kernels on tiles from stdin, on emulated cores one after the other. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ma_cluster.h"

static int32_t core, cores;

int32_t ma_core(void) { return core; }
int32_t ma_cores(void) { return cores; }

typedef void kernel_function(const void *tile);

static kernel_function *const kernels[] = {
    ma_conv2d_u8, ma_conv2d_i8, ma_depthwise_u8, ma_depthwise_i8, ma_dense_u8, ma_dense_i8,
    ma_max_pool_u8, ma_max_pool_i8, ma_average_pool_u8, ma_average_pool_i8,
    ma_add_u8_u8, ma_add_u8_i8, ma_add_i8_u8, ma_add_i8_i8, ma_quantize,
    ma_dequantize_u8, ma_dequantize_i8, ma_softmax_u8, ma_softmax_i8,
    ma_mul_u8_u8, ma_mul_u8_i8, ma_mul_i8_u8, ma_mul_i8_i8, ma_table, ma_norm,
    ma_product_u8, ma_product_i8, ma_permute,
};

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
    for (int32_t i = 0; i < cores; ++i) {
        core = job->reverse ? cores - 1 - i : i;
        kernels[job->kernel](tile);
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
