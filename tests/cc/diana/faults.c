/* Runs one job of an array in the emulation, with its fields from the test. */
#include <stddef.h>
#include <string.h>

#include "ma_chip.h"
#include "ma_diana.h"
#include "ma_host.h"

/* Bytes of cells before the addends. */
#define ADDENDS 147456

static struct ma_diana_job job;
static int loading;
static int8_t input;    /* first element of x */
static int32_t addend;  /* of the analog array's first channel */

static void layer(void *argument)
{
    static uint8_t image[64];
    const struct ma_block block = {64, {1, 1, 1}, {0, 0, 0}, {0, 0, 0}};
    uint8_t *const l1 = ma_l1_open(MA_L1_BYTES);
    (void)argument;
    memset(l1, 0, MA_L1_BYTES);
    l1[0] = (uint8_t)input;
    memcpy(l1 + MA_ACTIVATION_BYTES + ADDENDS, &addend, sizeof addend);
    ma_l2_operand(image, sizeof image);
    const ma_dma load = loading ? ma_dma_load(l1, image, &block) : 0;
    ma_diana_run(&job);
    ma_dma_wait(load);
    ma_l1_close(l1);
}

static int steps(uint8_t *arena, const void *const in[], void *const out[])
{
    (void)arena;
    (void)in;
    (void)out;
    return ma_offload(layer, NULL);
}

/* A 1x1 convolution of 4x4 pixels from 16 to 16 channels, but for what the test changes; `places`
 * are offsets of x, y, weight and offset. Returns the emulation's sentence, or "". */
const char *test_job(const uint32_t places[4], uint32_t filter, uint32_t stride, uint32_t shift,
    uint32_t rows, int load)
{
    uint8_t *const l1 = ma_emulated_l1();
    job = (struct ma_diana_job){
        .kind = MA_DIANA_CONV2D,
        .x = l1 + places[0],
        .y = l1 + places[1],
        .weight = l1 + places[2],
        .offset = l1 + places[3],
        .in_rows = rows,
        .in_columns = 4,
        .in_channels = 16,
        .out_rows = 4,
        .out_columns = 4,
        .out_channels = 16,
        .in_line = 64,
        .in_pixel = 16,
        .out_line = 64,
        .out_pixel = 16,
        .filter = filter,
        .stride = stride,
        .shift = shift,
    };
    loading = load;
    input = 0;
    addend = 0;
    return ma_network(steps, NULL, NULL, NULL) ? ma_fault() : "";
}

/* The same of the analog array, of one pixel; all weights are 0. */
const char *test_analog(uint32_t inputs, uint32_t outputs, uint32_t gain, uint32_t shift, int first,
    int added, uint32_t weights)
{
    uint8_t *const l1 = ma_emulated_l1();
    job = (struct ma_diana_job){
        .kind = MA_DIANA_ANALOG,
        .x = l1,
        .y = l1 + 4096,
        .weight = l1 + MA_ACTIVATION_BYTES + weights,
        .multiplier = l1 + MA_ACTIVATION_BYTES + ADDENDS,
        .offset = l1 + MA_ACTIVATION_BYTES + ADDENDS,
        .in_rows = 1,
        .in_columns = 1,
        .in_channels = inputs,
        .out_rows = 1,
        .out_columns = 1,
        .out_channels = outputs,
        .filter = 1,
        .stride = 1,
        .shift = shift,
        .gain = gain,
    };
    loading = 0;
    input = (int8_t)first;
    addend = added;
    return ma_network(steps, NULL, NULL, NULL) ? ma_fault() : "";
}
