/* Runs tiles of a layer on NE16: from sizes and addresses to the registers of its jobs.
 *
 * `targets/gap9/ne16/job.py` is the same in Python and says what the registers mean. Channels are
 * innermost in both images; how far apart pixels and lines lie is stated, since a job may work on
 * a part of what is in L1. The accelerator reads (and ignores) what lies
 * `top * in_line + left * in_pixel` bytes before the input: that must be inside L1.
 */
#ifndef MA_NE16_H
#define MA_NE16_H

#include <stdint.h>

#include "ma_gap9.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { MA_NE16_CONV3X3 = 0, MA_NE16_DEPTHWISE = 1, MA_NE16_CONV1X1 = 2 };

/* What all tiles of a layer share. A stored weight, unsigned, means 0 where it is `weight_zero`.
 * `scale_bits` 0 stores the int32 sum (out_bytes 4); otherwise
 * y = clip((sum * scale[k] + bias[k]) >> shift), to uint8 with `relu`, to int8 without. */
struct ma_ne16_layer {
    uint32_t mode, stride, weight_bits, out_bytes;
    uint32_t scale_bits, shift;
    uint16_t relu, weight_zero;
};

/* Output rows, columns, channels; input rows, columns, channels that are in L1 (depthwise: as many
 * as output channels); zeros above and left of them. Zeros below and right of the input are as
 * many as the output still needs, two at most. */
struct ma_ne16_shape {
    uint32_t rows, columns, outputs;
    uint32_t in_rows, in_columns, inputs;
    uint32_t top, left;
    uint32_t in_line, in_pixel, out_line, out_pixel; /* bytes from one to the next */
};

/* Nothing here divides: a core of the cluster takes up to 35 cycles for it (33 by three).
 * Blocks of 1 << bits that cover `size`, and how much the last one has. */
static inline uint32_t ma_ne16_blocks(uint32_t size, uint32_t bits)
{
    return ((size - 1) >> bits) + 1;
}

static inline uint32_t ma_ne16_rest(uint32_t size, uint32_t bits)
{
    return ((size - 1) & ((1u << bits) - 1)) + 1;
}

/* Threes that cover `size`, at most 65,536: a register has 16 bits for them. */
static inline uint32_t ma_ne16_threes(uint32_t size)
{
    return ((size - 1) * 0xaaabu >> 17) + 1;
}

static inline uint32_t ma_ne16_halves(uint32_t high, uint32_t low)
{
    return high << 16 | low;
}

static inline uint32_t ma_ne16_configuration(const struct ma_ne16_layer *layer)
{
    const uint32_t norm = layer->scale_bits != 0;
    return (layer->weight_bits - 1) | norm << 4 | layer->mode << 5
        | (uint32_t)(layer->stride == 2 && layer->mode != MA_NE16_CONV1X1) << 8
        | layer->scale_bits / 16 << 12 | 1u << 15 | layer->shift << 16
        | (layer->out_bytes == 4 ? 2u : 0u) << 21 | (uint32_t)!layer->relu << 23 | norm << 25;
}

/* Registers that all jobs of a tile share. */
static inline void ma_ne16_common(const struct ma_ne16_layer *layer,
                                  const struct ma_ne16_shape *tile, uint32_t weight,
                                  uint32_t scale, uint32_t bias)
{
    const uint32_t point = layer->mode == MA_NE16_CONV1X1;
    const uint32_t depthwise = layer->mode == MA_NE16_DEPTHWISE;
    const uint32_t step = point ? layer->stride : 1;
    const uint32_t half = layer->stride == 2 && !point;
    const uint32_t blocks = ma_ne16_blocks(tile->inputs, 4);
    const uint32_t bits = depthwise ? 4 : 5;
    const uint32_t plane = point ? 2 * layer->weight_bits : 18;
    const uint32_t filter = point ? plane * blocks : plane * layer->weight_bits * blocks;
    ma_ne16_write(0, weight);
    ma_ne16_write(3, scale);
    ma_ne16_write(4, 0);
    ma_ne16_write(5, bias);
    ma_ne16_write(6, tile->in_pixel * step);
    ma_ne16_write(7, tile->in_line * step);
    ma_ne16_write(8, 0);
    ma_ne16_write(9, 32);
    ma_ne16_write(10, tile->out_pixel >> half);
    ma_ne16_write(11, tile->out_line >> half);
    ma_ne16_write(12, plane);
    ma_ne16_write(13, depthwise ? 0 : filter);
    ma_ne16_write(14, 0);
    ma_ne16_write(15, ma_ne16_halves(ma_ne16_rest(tile->outputs, bits),
                                     ma_ne16_rest(tile->inputs, 4)));
    ma_ne16_write(18, ma_ne16_halves(ma_ne16_blocks(tile->outputs, bits), blocks));
    ma_ne16_write(21, 0u - layer->weight_zero);
    ma_ne16_write(22, 0);
    ma_ne16_write(23, ma_ne16_configuration(layer));
}

/* Zeros needed after `size` elements that have `before` zeros before them. */
static inline uint32_t ma_ne16_after(uint32_t before, uint32_t size, uint32_t needed)
{
    return needed > before + size ? needed - before - size : 0;
}

/* Registers of the job that makes `rows` x `columns` output pixels from (row, column) on. */
static inline void ma_ne16_part(const struct ma_ne16_layer *layer,
                                const struct ma_ne16_shape *tile, uint32_t x, uint32_t y,
                                uint32_t row, uint32_t column, uint32_t rows, uint32_t columns)
{
    const uint32_t stride = layer->stride;
    const uint32_t filter = layer->mode == MA_NE16_CONV1X1 ? 1 : 3;
    const uint32_t corners = stride == 2 && filter == 3;
    /* In the image with its zeros; the address may lie before the tile, in unsigned arithmetic. */
    const uint32_t up = stride * row, left = stride * column;
    const uint32_t top = tile->top > up ? tile->top - up : 0;
    const uint32_t before = tile->left > left ? tile->left - left : 0;
    const uint32_t bottom = ma_ne16_after(tile->top, tile->in_rows,
                                          up + (rows - 1) * stride + filter);
    const uint32_t right = ma_ne16_after(tile->left, tile->in_columns,
                                         left + (columns - 1) * stride + filter);
    const uint32_t tall = corners ? 2 * rows - 1 : rows;
    const uint32_t wide = corners ? 2 * columns - 1 : columns;
    const uint32_t down = ma_ne16_threes(tall), across = ma_ne16_threes(wide);
    const uint32_t last_row = tall - 3 * (down - 1), last_column = wide - 3 * (across - 1);
    ma_ne16_write(1, x + (up - tile->top) * tile->in_line + (left - tile->left) * tile->in_pixel);
    ma_ne16_write(2, y + row * tile->out_line + column * tile->out_pixel);
    ma_ne16_write(16, ma_ne16_halves(last_row, last_column));
    ma_ne16_write(17, ma_ne16_halves(last_row + filter - 1 - bottom,
                                     last_column + filter - 1 - right));
    ma_ne16_write(19, ma_ne16_halves(down, across));
    ma_ne16_write(20, top << 28 | right << 24 | bottom << 20 | before << 16);
}

/* How to wait for a tile's operands: what is called before the first job may start. */
struct ma_ne16_arrival {
    void (*wait)(const void *argument);
    const void *argument;
};

/* Queues the jobs of a tile and returns the number of the last one, for ma_ne16_wait. While they
 * run nobody may change x, weight, scale or bias, nor touch y. With stride 2 a job makes 2x2 pixels
 * (the 3x3 modes do not stride over their input), so there are many; from the third on only what
 * differs is written: the two slots keep their registers and take turns. */
static inline uint32_t ma_ne16_tile(const struct ma_ne16_layer *layer, const uint8_t *x,
                                    const uint8_t *weight, const void *scale,
                                    const int32_t *bias, void *y,
                                    const struct ma_ne16_shape *tile,
                                    const struct ma_ne16_arrival *arrival)
{
    const uint32_t corners = layer->stride == 2 && layer->mode != MA_NE16_CONV1X1;
    const uint32_t high = corners ? 2 : tile->rows, wide = corners ? 2 : tile->columns;
    const uint32_t norm = layer->scale_bits != 0;
    const uint32_t from = ma_l1_address(x), to = ma_l1_address(y);
    uint32_t number = 0, programmed = 0;
    for (uint32_t row = 0; row < tile->rows; row += high) {
        for (uint32_t column = 0; column < tile->columns; column += wide) {
            number = ma_ne16_acquire();
            if (programmed++ < 2)
                ma_ne16_common(layer, tile, ma_l1_address(weight),
                               norm ? ma_l1_address(scale) : 0, norm ? ma_l1_address(bias) : 0);
            ma_ne16_part(layer, tile, from, to, row, column,
                         tile->rows - row < high ? tile->rows - row : high,
                         tile->columns - column < wide ? tile->columns - column : wide);
            if (arrival && programmed == 1)
                arrival->wait(arrival->argument);
            ma_ne16_commit();
        }
    }
    return number;
}

#ifdef __cplusplus
}
#endif

#endif
