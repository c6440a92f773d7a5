/* The array's results, bit for bit; what it would get wrong stops the program. */
#include "systolic.h"

#include <math.h>

#include "ma_host.h"

static int32_t place(const struct systolic_tile *i, int32_t row, int32_t column, int32_t channel)
{
    return row * i->line + column * i->pixel + channel / 16 * i->block + channel % 16;
}

static void check(const struct systolic_tile *i)
{
    const int64_t last = place(i, i->rows - 1, i->columns - 1, i->channels - 1);
    if (i->at - ma_emulated_l1() + last >= 65536) {
        ma_stop("a tile of the array leaves the activation memory");
    }
}

static int32_t load(const struct systolic_tile *i, int32_t row, int32_t column, int32_t channel)
{
    const uint8_t byte = i->at[place(i, row, column, channel)];
    return (i->is_signed ? (int8_t)byte : byte) - i->zero;
}

static uint8_t rounded(const struct systolic_job *j, float real)
{
    const float low = (float)(j->lo - j->y.zero), high = (float)(j->hi - j->y.zero);
    return (uint8_t)((int32_t)fminf(fmaxf(rintf(real), low), high) + j->y.zero);
}

/* What a filter gives for one output: of all channels of x, or of one. */
static int32_t filtered(const struct systolic_job *j, int32_t row, int32_t column, int32_t k)
{
    int32_t sum = 0, from = j->depthwise ? k : 0, to = j->depthwise ? k + 1 : j->x.channels;
    for (int32_t tap = 0; tap < j->fy * j->fx; ++tap) {
        const int32_t r = row * j->sy + tap / j->fx * j->dy - j->top;
        const int32_t s = column * j->sx + tap % j->fx * j->dx - j->left;
        const int32_t inside = r >= 0 && r < j->x.rows && s >= 0 && s < j->x.columns;
        for (int32_t c = from; inside && c < to; ++c) {
            const int32_t at = j->depthwise ? tap : c / 16 * j->c_step / 16 + tap * 16 + c % 16;
            sum += load(&j->x, r, s, c) * (int8_t)j->weight[k / 16 * j->k_step + at * 16 + k % 16];
        }
    }
    return sum;
}

static void output(const struct systolic_job *j, int32_t row, int32_t column, int32_t k)
{
    const int32_t at = place(&j->y, row, column, k);
    if (j->x1.at) {
        const float left = (float)load(&j->x, row, column, k) * j->scale_x;
        const float right = (float)load(&j->x1, row, column, k) * j->scale_x1;
        j->y.at[at] = rounded(j, (left + right) / j->scale_y);
        return;
    }
    const int32_t sum = filtered(j, row, column, k) + (j->sums.first ? j->bias[k] : j->sums.at[at]);
    if (!j->sums.last) {
        j->sums.at[at] = sum;
        return;
    }
    j->y.at[at] = rounded(j, (float)sum * j->scale[j->scales > 1 ? k : 0]);
}

void systolic_run(const struct systolic_job *j)
{
    check(&j->x);
    check(&j->y);
    const int32_t columns = j->y.columns, channels = j->outputs;
    for (int32_t i = 0; i < j->y.rows * columns * channels; ++i) {
        output(j, i / channels / columns, i / channels % columns, i % channels);
    }
}
