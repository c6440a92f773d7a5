/* Kernels of GAP9's eight-core cluster: each works on one tile in L1.
 *
 * A kernel is called on every worker core with the same arguments, `ma_fork(kernel, &tile)`; the
 * cores share the tile's outputs among themselves. Images are [batch][row][column][channel];
 * channels are neighbours, and how far apart pixels, lines and images lie is stated, since a kernel
 * may work on a part of what is in L1. A tile holds the part of the image that its outputs see and
 * no padding: an input row below 0 or from `in_rows` on is padding, likewise for columns. Inputs
 * and outputs are uint8 or int8; the kernel's name says which the input is.
 *
 * Requantisation: y = clip((acc * multiplier + offset) >> shift, lo, hi), modulo 2^32 until the
 * shift, which rounds down. `acc` is the sum of raw products, of inputs as they are stored: what
 * zero points, bias and rounding add is in `offset`. The caller proves that the whole, before the
 * shift, fits 32 bits.
 */
#ifndef MA_CLUSTER_H
#define MA_CLUSTER_H

#include "ma_gap9.h"

#ifdef __cplusplus
extern "C" {
#endif

/* How an average is divided and rounded; `sum` is over positions inside the image, of what is left
 * when pad_value, the zero point, is subtracted. */
enum ma_average {
    MA_AVERAGE_FIXED, /* clip((sum * multiplier[0] + offset[0]) >> shift) */
    MA_AVERAGE_WHOLE, /* clip(round((float)sum * (scale_x / (scale_y * count))) + zero_y) */
    MA_AVERAGE_FLOAT, /* the same of real values, summed down each column and then across */
    MA_AVERAGE_AWAY   /* clip(sum / count + zero_y) in integers, halves away from zero */
};

/* A tile of conv2d, depthwise, dense, or pooling. */
struct ma_window {
    const void *x;             /* [batch][in_rows][in_columns][channels] */
    const int8_t *weight;      /* [out_channels][row of weights], see each kernel */
    const int32_t *multiplier; /* [out_channels]; average pools [1] */
    const int32_t *offset;     /* [out_channels]; average pools [1] */
    void *y;                   /* [batch][out_rows][out_columns][out_channels] */
    uint8_t *scratch;          /* per core what each kernel says, times ma_cores(); 4-aligned */
    int32_t batch;
    int32_t in_rows, in_columns, channels;
    int32_t out_rows, out_columns, out_channels;
    int32_t in_image, in_line, in_pixel;    /* elements of x from one to the next */
    int32_t out_image, out_line, out_pixel; /* elements of y from one to the next */
    int32_t filter_rows, filter_columns;
    int32_t stride_rows, stride_columns;
    int32_t dilation_rows, dilation_columns;
    int32_t pad_top, pad_left; /* of this tile: its first window starts at row -pad_top */
    int32_t pad_value;         /* what padding is: the input's zero point */
    int32_t shift, lo, hi;
    int32_t wide;              /* y is int32: acc + offset, not requantised */
    /* average pools, of which pad_value is the zero point: */
    int32_t average;           /* enum ma_average */
    int32_t count_padding;     /* averages are over padding too */
    int32_t zero_y;            /* added after rounding; 0 where it is in the offset */
    float scale_x, scale_y;
    /* Of layers of 16 bits distances in x are bytes, in y elements; `wide` says that y has 16 bits. */
    /* Of float32 layers x, weight, offset (a bias, where `wide` says that there is one) and y are
     * float; distances in x are bytes, in y elements; results are within scale_x and scale_y. */
};

/* A tile of elements: sums, products, conversions, softmax, functions that are looked up. */
struct ma_elements {
    const void *x;             /* [rows][columns] */
    const void *x1;            /* [rows][columns], the second term of a sum or of a product */
    const void *table;         /* softmax: exp(-d * scale of x), d = 0 .. 255; table: [256] */
    const int32_t *multiplier; /* add: [2]; mul, softmax in integers: [1] */
    const int32_t *offset;     /* add, mul: [1] */
    void *y;                   /* [rows][columns] */
    int32_t rows, columns;
    int32_t x_row, x1_row, y_row; /* elements from row to row */
    int32_t shift, lo, hi;
    int32_t zero_x, zero_x1, zero_y;
    float scale_x, scale_y;
};

/* A tile of a product of two matrices, every batch by itself. */
struct ma_product {
    const uint8_t *x;          /* [batch][rows][inner] */
    const uint8_t *x1;         /* [batch][inner][columns] */
    const int32_t *multiplier; /* [1] */
    const int32_t *offset;     /* [1] */
    uint8_t *y;                /* [batch][rows][columns] */
    uint8_t *scratch;          /* per core 4 columns of x1, each in whole words; 4-aligned */
    int32_t batch, rows, inner, columns;
    int32_t x_batch, x_row, x1_batch, x1_row, y_batch, y_row; /* bytes from one to the next */
    int32_t zero_x, zero_x1;
    int32_t unsigned_x1; /* x1 is uint8, else int8 */
    int32_t shift, lo, hi;
};

/* A tile of rows that are normalised, in the integers of `match_aie.workload.fixed_norm`. */
struct ma_norm {
    const uint8_t *x;          /* [rows][columns] */
    const int32_t *multiplier; /* [columns] */
    const int32_t *offset;     /* [columns] */
    uint8_t *y;                /* [rows][columns] */
    int32_t rows, columns;
    int32_t x_row, y_row; /* bytes from row to row */
    int32_t unsigned_x;   /* x is uint8, else int8 */
    int32_t shift, lo, hi;
    int64_t epsilon; /* what is added to a variance */
};

/* A tile of float32 rows. */
struct ma_real_rows {
    const float *x;      /* [rows][columns] */
    const float *weight; /* layer norm: [columns] */
    const float *bias;   /* layer norm: [columns] */
    float *y;            /* [rows][columns] */
    int32_t rows, columns;
    int32_t x_row, y_row; /* elements from row to row */
    float epsilon;        /* layer norm */
};

/* A step of a GRU or LSTM with products of 8 bits, `match_aie.workload.recurrent_int8`. Rows of
 * weights are those of gates, a gate's units one after the other, in whole words; behind a row lie
 * numbers of its own. */
struct ma_recurrent {
    const uint8_t *x;         /* [inputs] */
    const uint8_t *weight;    /* rows of int8 [inputs]; float scale, int32 zero * sum of the row */
    const uint8_t *recurrent; /* rows of int8 [units]; float scale */
    const float *bias;        /* [2][gates][units]: where sums begin, of x and of states; lines */
    float *y;                 /* [units] */
    float *state;             /* [units]: of a GRU its state, of an LSTM its cell */
    float *update;            /* [units]: update gates between the two parts of a step */
    int8_t *reset;            /* [units]: states behind their reset gates, likewise */
    const int8_t *seen;       /* [units]: the last state in steps of 1/128 */
    int8_t *next;             /* [units]: this one */
    int32_t inputs, units, unsigned_x;
    int32_t begins; /* there is no last state */
};

/* A tile whose axes change places: y[i] = x[i] for i in [extent[0]] .. [extent[3]], bytes apart. */
struct ma_permutation {
    const uint8_t *x;
    uint8_t *y;
    int32_t extent[4], x_stride[4], y_stride[4];
};

/* Lines along the third axis are shared among the cores: copied where the last axis stays the last,
 * turned 4 x 4 bytes at a time where it has four and becomes the third, else byte by byte along the longer of the two. */
void ma_permute(const void *permutation);

/* Convolution, all input channels. A row of weights is [filter_rows][filter_columns][channels],
 * then zeros to a multiple of 4. Scratch per core: two rows of weights; none for 1x1 filters
 * without padding on a multiple of 4 channels. */
void ma_conv2d_u8(const void *window);
void ma_conv2d_i8(const void *window);

/* Depthwise convolution, out_channels == channels. A row of weights is [filter_columns][n], n the
 * filter's rows and then zeros to a multiple of 4. Scratch per core: 4 * n * columns, where
 * columns = (out_columns - 1) * stride + (filter_columns - 1) * dilation + 1. */
void ma_depthwise_u8(const void *window);
void ma_depthwise_i8(const void *window);

/* Dense: x[batch][channels], y[batch][out_channels]. A row of weights is [channels], then zeros to
 * a multiple of 4. */
void ma_dense_u8(const void *window);
void ma_dense_i8(const void *window);

/* Pooling, out_channels == channels. Maxima are clipped to [lo, hi], and see no padding. */
void ma_max_pool_u8(const void *window);
void ma_max_pool_i8(const void *window);
void ma_average_pool_u8(const void *window);
void ma_average_pool_i8(const void *window);

/* clip((x * multiplier[0] + x1 * multiplier[1] + offset[0]) >> shift, lo, hi); the name has both
 * inputs' types. */
void ma_add_u8_u8(const void *elements);
void ma_add_u8_i8(const void *elements);
void ma_add_i8_u8(const void *elements);
void ma_add_i8_i8(const void *elements);

/* clip(((x - zero_x) * (x1 - zero_x1) * multiplier[0] + offset[0]) >> shift, lo, hi). */
void ma_mul_u8_u8(const void *elements);
void ma_mul_u8_i8(const void *elements);
void ma_mul_i8_u8(const void *elements);
void ma_mul_i8_i8(const void *elements);

/* y = table[x], x as the unsigned number that its bits are; any function of a byte. */
void ma_table(const void *elements);

/* clip((sum of (x - zero_x) * (x1 - zero_x1) * multiplier[0] + offset[0]) >> shift, lo, hi), of
 * every row with every column; the name says what x is. */
void ma_product_u8(const void *product);
void ma_product_i8(const void *product);

/* Layer norm of every row: exact sums, one root and one division a row, no float. */
void ma_norm(const void *norm);

/* Layers of float32: sums in float32 by fused multiply-adds, the bias last. Dense layers are
 * convolutions of images of one pixel. */
void ma_real_conv2d(const void *window);
void ma_real_depthwise(const void *window);
void ma_real_max_pool(const void *window);
void ma_real_average_pool(const void *window);
void ma_real_softmax(const void *rows);
void ma_real_norm(const void *rows);

/* x + x1 within scale_x and scale_y, all float32. */
void ma_real_add(const void *elements);

/* Products of binary16 or bfloat16, `match_aie.workload.short_floats`: a row of weights is of these
 * [filter_rows][filter_columns][channels] with a zero to whole words, scratch per core one such row.
 * x is of them where `lo` is 1, y where `hi` is; of such an x windows of one pixel with an even number of
 * channels, without padding, take no scratch. */
void ma_half_conv2d(const void *window);
void ma_bfloat_conv2d(const void *window);

/* Convolutions of int16 or uint16 x, weights in int16, a row of them with a zero to whole words; a
 * depthwise one's is [filter_rows][filter_columns]. y = clip(((acc + offset) * multiplier >> shift) +
 * zero_y), to the nearest, halves up, with a product of 64 bits and shifts of 33 at least. Of
 * ma_conv16 sums are of x as int16 (of uint16, 32768 less), what zero points add is in the offset, and
 * scratch per core is two rows of weights, but for 1x1 filters without padding on an even number of
 * channels; dense layers are convolutions of images of one pixel. */
void ma_conv16_i16(const void *window);
void ma_conv16_u16(const void *window);
void ma_depthwise16_i16(const void *window);
void ma_depthwise16_u16(const void *window);

/* Units of a step, each on one core. Of a GRU whose reset gate is applied before the product of its
 * state a step has two parts: all units' gates, then all new states. */
void ma_gru(const void *recurrent);
void ma_gru_gates(const void *recurrent);
void ma_gru_states(const void *recurrent);
void ma_lstm(const void *recurrent);

/* float32 to 8 bits, clip(round(x / scale_y) + zero_y, lo, hi), halves to even; and back,
 * (float)(x - zero_x) * scale_x. */
void ma_quantize(const void *elements);
void ma_dequantize_u8(const void *elements);
void ma_dequantize_i8(const void *elements);

/* clip(round((e / sum(e)) / scale_y) + zero_y, lo, hi) of each row, e = table[max(x) - x]: in float32;
 * and in the integers of `match_aie.workload.fixed_softmax`, an int32 table, with products of 32 or of
 * 64 bits. */
void ma_softmax_u8(const void *elements);
void ma_softmax_i8(const void *elements);
void ma_softmax_narrow_u8(const void *elements);
void ma_softmax_narrow_i8(const void *elements);
void ma_softmax_wide_u8(const void *elements);
void ma_softmax_wide_i8(const void *elements);

#ifdef __cplusplus
}
#endif

#endif
