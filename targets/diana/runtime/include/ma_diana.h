/* What emitted code for DIANA calls beside the families of every chip: the digital array. */
#ifndef MA_DIANA_H
#define MA_DIANA_H

#include "ma_platform.h"

#ifdef __cplusplus
extern "C" {
#endif

enum ma_diana_kind { MA_DIANA_CONV2D, MA_DIANA_DEPTHWISE, MA_DIANA_DENSE, MA_DIANA_ADD };

/* One job of the array: y = clip((sum + offset) >> shift), int8 from int8, sums wrap at 32 bits.
 *
 * x, x1 and y lie in the activation memory, [rows][columns][channels] with the strides in bytes;
 * weight and offset in the weight memory, in whole blocks of
 * output channels (targets/diana/packing.py). What is read outside x is 0: `top` rows and `left` columns before it, and all
 * behind it. A dense layer is one pixel, an `add` one row of one column, whose offset is an int32. */
struct ma_diana_job {
    enum ma_diana_kind kind;
    const uint8_t *x, *x1, *weight, *offset;
    uint8_t *y;
    uint32_t in_rows, in_columns, in_channels;
    uint32_t out_rows, out_columns, out_channels;
    uint32_t in_line, in_pixel, out_line, out_pixel;
    uint32_t filter, stride, top, left;
    uint32_t shift, relu; /* relu: clip to 0 .. 127 instead of -128 .. 127 */
};

/* Called on the controller: runs a job, and waits for its end. */
void ma_diana_run(const struct ma_diana_job *job);

#ifdef __cplusplus
}
#endif

#endif
