/* Element by element: sums of two tensors, conversions, softmax. */
#include "ma_kernel.h"

static inline struct ma_range ma_mine(const struct ma_elements *t)
{
    return ma_part(t->rows * t->columns, ma_core(), ma_cores());
}

static inline int32_t ma_element(const void *from, int32_t index, int is_signed)
{
    return is_signed ? ((const int8_t *)from)[index] : ((const uint8_t *)from)[index];
}

static inline void ma_add(const struct ma_elements *t, int is_signed, int is_signed1)
{
    const struct ma_range mine = ma_mine(t);
    const int32_t left = t->multiplier[0], right = t->multiplier[1], offset = t->offset[0];
    for (int32_t i = mine.first; i < mine.last; ++i) {
        const int32_t a = ma_wrapping_multiply(ma_element(t->x, i, is_signed), left);
        const int32_t b = ma_wrapping_multiply(ma_element(t->x1, i, is_signed1), right);
        const int32_t sum = ma_wrapping_add(ma_wrapping_add(a, b), offset);
        ((uint8_t *)t->y)[i] = (uint8_t)ma_clip(sum >> t->shift, t->lo, t->hi);
    }
}

void ma_add_u8_u8(const void *elements) { ma_add(elements, 0, 0); }
void ma_add_u8_i8(const void *elements) { ma_add(elements, 0, 1); }
void ma_add_i8_u8(const void *elements) { ma_add(elements, 1, 0); }
void ma_add_i8_i8(const void *elements) { ma_add(elements, 1, 1); }

void ma_quantize(const void *elements)
{
    const struct ma_elements *t = elements;
    const struct ma_range mine = ma_mine(t);
    for (int32_t i = mine.first; i < mine.last; ++i) {
        const float steps = ((const float *)t->x)[i] / t->scale_y;
        ((uint8_t *)t->y)[i] = (uint8_t)ma_saturate(steps, t->zero_y, t->lo, t->hi);
    }
}

static inline void ma_dequantize(const struct ma_elements *t, int is_signed)
{
    const struct ma_range mine = ma_mine(t);
    for (int32_t i = mine.first; i < mine.last; ++i) {
        const int32_t steps = ma_element(t->x, i, is_signed) - t->zero_x;
        ((float *)t->y)[i] = (float)steps * t->scale_x;
    }
}

MA_KERNEL(ma_dequantize, ma_elements, ma_dequantize)

/* One row; its sum is in index order, so a row is one core's. */
static inline void ma_softmax_row(const struct ma_elements *t, int32_t row, int is_signed)
{
    const int32_t first = row * t->columns, last = first + t->columns;
    int32_t most = ma_element(t->x, first, is_signed);
    float total = 0x0p+0f;
    for (int32_t i = first + 1; i < last; ++i) {
        most = ma_max(most, ma_element(t->x, i, is_signed));
    }
    for (int32_t i = first; i < last; ++i) {
        total += t->table[most - ma_element(t->x, i, is_signed)];
    }
    for (int32_t i = first; i < last; ++i) {
        const float e = t->table[most - ma_element(t->x, i, is_signed)];
        const int32_t value = ma_saturate((e / total) / t->scale_y, t->zero_y, t->lo, t->hi);
        ((uint8_t *)t->y)[i] = (uint8_t)value;
    }
}

static inline void ma_softmax(const struct ma_elements *t, int is_signed)
{
    const struct ma_range mine = ma_part(t->rows, ma_core(), ma_cores());
    for (int32_t row = mine.first; row < mine.last; ++row) {
        ma_softmax_row(t, row, is_signed);
    }
}

MA_KERNEL(ma_softmax, ma_elements, ma_softmax)
