/* Bytes whose axes change places. */
#include "ma_kernel.h"

/* `count` bytes, `from` and `to` bytes apart. */
static inline void ma_strided(
    uint8_t *restrict y, int32_t to, const uint8_t *restrict x, int32_t from, int32_t count)
{
    for (int32_t i = 0; i < count; ++i) {
        *y = *x;
        x += from;
        y += to;
    }
}

void ma_permute(const void *permutation)
{
    const struct ma_permutation *const p = permutation;
    /* The longer one of the two inner axes is the innermost loop. */
    const int32_t inner = p->extent[2] > p->extent[3] ? 2 : 3, outer = 5 - inner;
    const struct ma_range mine = ma_part(p->extent[0] * p->extent[1], ma_core(), ma_cores());
    for (int32_t line = mine.first; line < mine.last; ++line) {
        const int32_t image = line / p->extent[1], row = line % p->extent[1];
        const uint8_t *x = p->x + image * p->x_stride[0] + row * p->x_stride[1];
        uint8_t *y = p->y + image * p->y_stride[0] + row * p->y_stride[1];
        for (int32_t i = 0; i < p->extent[outer]; ++i) {
            ma_strided(y, p->y_stride[inner], x, p->x_stride[inner], p->extent[inner]);
            x += p->x_stride[outer];
            y += p->y_stride[outer];
        }
    }
}
