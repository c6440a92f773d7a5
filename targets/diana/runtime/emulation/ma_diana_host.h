/* What the emulations of DIANA's two arrays share. */
#ifndef MA_DIANA_HOST_H
#define MA_DIANA_HOST_H

#include <stdbool.h>

#include "ma_chip.h"
#include "ma_diana.h"
#include "ma_host.h"

/* `size` bytes behind the memory of activations, or that memory itself where it is 0. */
void ma_diana_check_place(
    const uint8_t *begin, uint64_t bytes, uint64_t size, const char *what, const char *memory);

/* Bytes from the first to the last of an image. */
uint64_t ma_diana_image_bytes(
    uint32_t rows, uint32_t columns, uint32_t channels, uint32_t line, uint32_t pixel);

/* Stops the program where a number of a job is not legal. */
void ma_diana_check_range(const char *what, uint32_t value, bool legal);

/* Runs a job of the analog array, whose image was checked. */
void ma_diana_analog(const struct ma_diana_job *job);

#endif
