/* Emulation of DIANA's digital array: its results from packed weights and offsets, bit for bit.
 *
 * A job that the array cannot do, or that reaches outside the two memories, stops the program.
 */
#include "ma_diana_host.h"

#define LANES 16u
#define SPREAD 4u /* lanes from channel to channel of a depthwise layer */

/* The packed byte `at` of a constant whose 4-byte words are reversed. */
static int8_t word_byte(const uint8_t *packed, uint32_t at)
{
    return (int8_t)packed[at ^ 3u];
}

static uint32_t up(uint32_t a, uint32_t b)
{
    return (a + b - 1) / b;
}

static uint32_t spread_of(const struct ma_diana_job *j)
{
    return j->kind == MA_DIANA_DEPTHWISE ? SPREAD : 1;
}

/* Output channels of a block; their lanes are spread_of apart. */
static uint32_t block_of(const struct ma_diana_job *j)
{
    return LANES / spread_of(j);
}

/* ---- checks -------------------------------------------------------------------------------- */

void ma_diana_check_place(
    const uint8_t *begin, uint64_t bytes, uint64_t size, const char *what, const char *memory)
{
    const uint8_t *const base = ma_emulated_l1() + (size ? MA_ACTIVATION_BYTES : 0);
    const uint64_t room = size ? size : MA_ACTIVATION_BYTES;
    if (begin < base || begin + bytes > base + room) {
        ma_stop("the array's %s, %lu bytes at byte %ld, leaves the %s memory", what,
            (unsigned long)bytes, (long)(begin - base), memory);
    }
    ma_check_settled(begin, (uint32_t)bytes, "the array");
}

/* [begin, begin + bytes) must lie in the activation memory, or in the weight memory. */
static void check_place(const uint8_t *begin, uint64_t bytes, bool weights, const char *what)
{
    ma_diana_check_place(
        begin, bytes, weights ? MA_WEIGHT_BYTES : 0, what, weights ? "weight" : "activation");
}

uint64_t ma_diana_image_bytes(
    uint32_t rows, uint32_t columns, uint32_t channels, uint32_t line, uint32_t pixel)
{
    return (uint64_t)(rows - 1) * line + (uint64_t)(columns - 1) * pixel + channels;
}

void ma_diana_check_range(const char *what, uint32_t value, bool legal)
{
    if (!legal) {
        ma_stop("the array has no %s of %u", what, (unsigned)value);
    }
}

static void check_job(const struct ma_diana_job *j)
{
    const uint32_t f = j->filter;
    ma_diana_check_range("filter", f, f == 1 || f == 3 || f == 5 || f == 7);
    ma_diana_check_range("stride", j->stride, j->stride == 1 || j->stride == 2);
    ma_diana_check_range("shift", j->shift, j->shift <= 31);
    ma_diana_check_range("border above", j->top, j->top <= (f - 1) / 2);
    ma_diana_check_range("border to the left", j->left, j->left <= (f - 1) / 2);
    ma_diana_check_range("output rows", j->out_rows, j->out_rows != 0);
    ma_diana_check_range("output columns", j->out_columns, j->out_columns != 0);
    ma_diana_check_range("output channels", j->out_channels, j->out_channels != 0);
    ma_diana_check_range("input rows", j->in_rows, j->in_rows != 0);
    ma_diana_check_range("input columns", j->in_columns, j->in_columns != 0);
    if (j->kind == MA_DIANA_DEPTHWISE || j->kind == MA_DIANA_ADD) {
        ma_diana_check_range("input channels", j->in_channels, j->in_channels == j->out_channels);
    }
}

static void check_places(const struct ma_diana_job *j)
{
    const uint64_t in = ma_diana_image_bytes(
        j->in_rows, j->in_columns, j->in_channels, j->in_line, j->in_pixel);
    const uint64_t out = ma_diana_image_bytes(
        j->out_rows, j->out_columns, j->out_channels, j->out_line, j->out_pixel);
    check_place(j->x, in, false, "input");
    check_place(j->y, out, false, "output");
    if (j->kind == MA_DIANA_ADD) {
        check_place(j->x1, in, false, "second input");
        check_place(j->offset, 4, true, "offset");
        return;
    }
    const uint64_t outputs = (uint64_t)up(j->out_channels, block_of(j)) * LANES;
    const uint64_t inputs
        = j->kind == MA_DIANA_DEPTHWISE ? 1 : (uint64_t)up(j->in_channels, LANES) * LANES;
    check_place(j->weight, outputs * inputs * j->filter * j->filter, true, "weights");
    check_place(j->offset, outputs * (j->kind == MA_DIANA_DENSE ? 16 : 4), true, "offsets");
}

/* ---- arithmetic ---------------------------------------------------------------------------- */

/* The offset of a lane: planes of bytes, or a 16-byte word of which the upper part is its sign. */
static uint32_t offset_of(const struct ma_diana_job *j, uint32_t block, uint32_t lane)
{
    uint32_t value = 0;
    for (uint32_t byte = 0; byte < 4; ++byte) {
        const uint32_t at = j->kind == MA_DIANA_DENSE ? (block * LANES + lane) * 16 + byte
                                                      : (block * 4 + byte) * LANES + lane;
        value |= (uint32_t)(uint8_t)word_byte(j->offset, at) << 8 * byte;
    }
    return value;
}

/* What is stored of a sum: it wraps at 32 bits, and its shift rounds down. */
static uint8_t stored(const struct ma_diana_job *j, uint32_t sum)
{
    const int32_t low = j->relu ? 0 : -128;
    int64_t value = sum & 0x80000000u ? (int64_t)sum - ((int64_t)1 << 32) : (int64_t)sum;
    const int64_t step = (int64_t)1 << j->shift;
    value = value >= 0 ? value / step : -((-value + step - 1) / step);
    value = value < low ? low : value > 127 ? 127 : value;
    return (uint8_t)(value & 0xFF);
}

/* Adds what one filter tap of the pixel at `x` gives to the lanes of a block. */
static void add_tap(const struct ma_diana_job *j, uint32_t block, uint32_t tap, const uint8_t *x,
    uint32_t sum[LANES])
{
    const uint32_t taps = j->filter * j->filter, inputs = up(j->in_channels, LANES) * LANES;
    if (j->kind == MA_DIANA_DEPTHWISE) {
        for (uint32_t k = 0; k < block_of(j) && block * block_of(j) + k < j->out_channels; ++k) {
            const uint32_t lane = k * SPREAD, at = (block * taps + tap) * LANES + lane;
            sum[lane] += (uint32_t)(word_byte(j->weight, at) * (int8_t)x[block * block_of(j) + k]);
        }
        return;
    }
    for (uint32_t c = 0; c < j->in_channels; ++c) {
        const int32_t value = (int8_t)x[c];
        for (uint32_t k = 0; k < LANES; ++k) {
            const uint32_t at = j->kind == MA_DIANA_DENSE
                ? (block * LANES + k) * inputs + c
                : ((block * inputs + c) * taps + tap) * LANES + k;
            sum[k] += (uint32_t)(word_byte(j->weight, at) * value);
        }
    }
}

/* One pixel of a block of output channels. */
static void pixel(const struct ma_diana_job *j, uint32_t block, uint32_t row, uint32_t column)
{
    const uint32_t first = block * block_of(j);
    uint32_t sum[LANES];
    for (uint32_t k = 0; k < LANES; ++k) {
        sum[k] = offset_of(j, block, k);
    }
    for (uint32_t tap = 0; tap < j->filter * j->filter; ++tap) {
        const uint32_t at = row * j->stride + tap / j->filter;
        const uint32_t across = column * j->stride + tap % j->filter;
        if (at >= j->top && at - j->top < j->in_rows && across >= j->left
            && across - j->left < j->in_columns) {
            const uint8_t *const x
                = j->x + (at - j->top) * j->in_line + (across - j->left) * j->in_pixel;
            add_tap(j, block, tap, x, sum);
        }
    }
    uint8_t *const y = j->y + row * j->out_line + column * j->out_pixel + first;
    for (uint32_t k = 0; k < block_of(j) && first + k < j->out_channels; ++k) {
        y[k] = stored(j, sum[k * spread_of(j)]);
    }
}

static void add(const struct ma_diana_job *j)
{
    uint32_t offset = 0;
    for (uint32_t byte = 0; byte < 4; ++byte) {
        offset |= (uint32_t)j->offset[byte] << 8 * byte;
    }
    for (uint32_t i = 0; i < j->out_channels; ++i) {
        j->y[i] = stored(j, (uint32_t)((int8_t)j->x[i] + (int8_t)j->x1[i]) + offset);
    }
}

void ma_diana_run(const struct ma_diana_job *job)
{
    check_job(job);
    if (job->kind == MA_DIANA_ANALOG) {
        ma_diana_analog(job);
        return;
    }
    check_places(job);
    if (job->kind == MA_DIANA_ADD) {
        add(job);
        return;
    }
    for (uint32_t block = 0; block < up(job->out_channels, block_of(job)); ++block) {
        for (uint32_t row = 0; row < job->out_rows; ++row) {
            for (uint32_t column = 0; column < job->out_columns; ++column) {
                pixel(job, block, row, column);
            }
        }
    }
}
