/* What emitted code for DIANA calls beside the families of every chip: its arrays. */
#ifndef MA_DIANA_H
#define MA_DIANA_H

#include "ma_platform.h"

#ifdef __cplusplus
extern "C" {
#endif

enum ma_diana_kind {
    MA_DIANA_CONV2D,
    MA_DIANA_DEPTHWISE,
    MA_DIANA_DENSE,
    MA_DIANA_ADD,
    MA_DIANA_ANALOG
};

/* One job of the digital array: y = clip((sum + offset) >> shift), int8 from int8, sums wrap at 32 bits.
 *
 * x, x1 and y lie in the activation memory, [rows][columns][channels] with the strides in bytes;
 * weight and offset in the weight memory, in whole blocks of
 * output channels (targets/diana/packing.py). What is read outside x is 0: `top` rows and `left` columns before it, and all
 * behind it. A dense layer is one pixel, an `add` one row of one column, whose offset is an int32.
 *
 * Or of the analog one: q = clip(sum / gain, -32, 31), rounded down, and
 * y = clip((q * multiplier + offset) >> shift), to -63 .. 63 or 0 .. 63. Weight, multiplier and offset
 * lie in the array's cells (targets/diana/analog.py); noise is not part of it. */
struct ma_diana_job {
    enum ma_diana_kind kind;
    const uint8_t *x, *x1, *weight, *multiplier, *offset;
    uint8_t *y;
    uint32_t in_rows, in_columns, in_channels;
    uint32_t out_rows, out_columns, out_channels;
    uint32_t in_line, in_pixel, out_line, out_pixel;
    uint32_t filter, stride, top, left;
    uint32_t shift, relu; /* relu: clip to 0 .. 127 instead of -128 .. 127 */
    uint32_t gain;        /* of the analog array */
};

/* Called on the controller: runs a job, and waits for its end. */
void ma_diana_run(const struct ma_diana_job *job);

#ifdef __cplusplus
}
#endif

#endif
