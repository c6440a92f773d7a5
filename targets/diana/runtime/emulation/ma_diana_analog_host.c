/* Emulation of DIANA's analog array: sums of ternary weights, converted to 6 bits, without noise.
 *
 * A job that the array cannot do, or that reaches outside its memories, stops the program.
 */
#include "ma_diana_host.h"

#define ROWS 1152u
#define COLUMNS 512u
#define ROW_BLOCK 288u
#define COLUMN_BLOCK 128u
#define PLANE (COLUMN_BLOCK / 8)
#define MOST 63 /* of an input, and of an output */

static uint32_t up(uint32_t a, uint32_t b)
{
    return (a + b - 1) / b;
}

static uint32_t rows_of(const struct ma_diana_job *j)
{
    return j->filter * j->filter * j->in_channels;
}

static uint32_t block_bytes(const struct ma_diana_job *j)
{
    return up(rows_of(j), ROW_BLOCK) * ROW_BLOCK * 2 * PLANE;
}

static void check(const struct ma_diana_job *j)
{
    ma_diana_check_range("sum of so many products", rows_of(j), rows_of(j) <= ROWS);
    ma_diana_check_range("columns", j->out_channels, j->out_channels <= COLUMNS);
    ma_diana_check_range("gain", j->gain, j->gain != 0 && j->gain < 1u << 16);
    ma_diana_check_range("shift behind its converter", j->shift, j->shift <= 15);
    ma_diana_check_place(j->x,
        ma_diana_image_bytes(j->in_rows, j->in_columns, j->in_channels, j->in_line, j->in_pixel), 0,
        "input", "activation");
    ma_diana_check_place(j->y,
        ma_diana_image_bytes(
            j->out_rows, j->out_columns, j->out_channels, j->out_line, j->out_pixel),
        0, "output", "activation");
    if (MA_CELL_BYTES == 0) {
        ma_stop("a job of the analog array, which this program has not");
    }
    const uint64_t blocks = up(j->out_channels, COLUMN_BLOCK);
    ma_diana_check_place(j->weight, blocks * block_bytes(j), MA_CELL_BYTES, "weights", "cell");
    ma_diana_check_place(
        j->multiplier, blocks * 4 * COLUMN_BLOCK, MA_CELL_BYTES, "multipliers", "cell");
    ma_diana_check_place(j->offset, blocks * 4 * COLUMN_BLOCK, MA_CELL_BYTES, "offsets", "cell");
}

/* -1, 0 or 1: a bit of each plane of a row, words with the first column highest. */
static int32_t weight_of(const struct ma_diana_job *j, uint32_t row, uint32_t channel)
{
    const uint32_t column = channel % COLUMN_BLOCK;
    const uint8_t *const cells
        = j->weight + channel / COLUMN_BLOCK * block_bytes(j) + row * 2 * PLANE;
    const uint32_t byte = (column / 8) ^ 3u, bit = 7 - column % 8;
    return (cells[byte] >> bit & 1) - (cells[PLANE + byte] >> bit & 1);
}

static int32_t number_of(const uint8_t *words, uint32_t channel)
{
    uint32_t value = 0;
    for (uint32_t byte = 0; byte < 4; ++byte) {
        value |= (uint32_t)words[4 * channel + byte] << 8 * byte;
    }
    return (int32_t)value;
}

/* What a sum becomes: a converted one, and then in 16 bits what is stored. */
static uint8_t stored(const struct ma_diana_job *j, int32_t sum, uint32_t channel)
{
    const int32_t gain = (int32_t)j->gain;
    int32_t q = sum >= 0 ? sum / gain : -((-sum + gain - 1) / gain);
    q = q < -32 ? -32 : q > 31 ? 31 : q;
    const int32_t product = q * number_of(j->multiplier, channel);
    const int32_t value = product + number_of(j->offset, channel);
    if (product != (int16_t)product || value != (int16_t)value) {
        ma_stop("the analog array's channel %u leaves 16 bits", (unsigned)channel);
    }
    const int32_t step = (int32_t)1 << j->shift, low = j->relu ? 0 : -MOST;
    const int32_t down = value >= 0 ? value / step : -((-value + step - 1) / step);
    return (uint8_t)((down < low ? low : down > MOST ? MOST : down) & 0xFF);
}

/* The sum of one column for the pixel whose window begins at (row, column), padding included. */
static int32_t sum_of(
    const struct ma_diana_job *j, uint32_t row, uint32_t column, uint32_t channel)
{
    int32_t sum = 0;
    for (uint32_t tap = 0; tap < j->filter * j->filter; ++tap) {
        const uint32_t at = row + tap / j->filter, across = column + tap % j->filter;
        if (at < j->top || at - j->top >= j->in_rows || across < j->left
            || across - j->left >= j->in_columns) {
            continue;
        }
        const uint8_t *const x
            = j->x + (at - j->top) * j->in_line + (across - j->left) * j->in_pixel;
        for (uint32_t c = 0; c < j->in_channels; ++c) {
            const int32_t value = (int8_t)x[c];
            if (value < -MOST || value > MOST) {
                ma_stop("the analog array reads 7 bits, not %d", (int)value);
            }
            sum += value * weight_of(j, tap * j->in_channels + c, channel);
        }
    }
    return sum;
}

void ma_diana_analog(const struct ma_diana_job *j)
{
    check(j);
    for (uint32_t row = 0; row < j->out_rows; ++row) {
        for (uint32_t column = 0; column < j->out_columns; ++column) {
            uint8_t *const y = j->y + row * j->out_line + column * j->out_pixel;
            for (uint32_t k = 0; k < j->out_channels; ++k) {
                y[k] = stored(j, sum_of(j, row * j->stride, column * j->stride, k), k);
            }
        }
    }
}
