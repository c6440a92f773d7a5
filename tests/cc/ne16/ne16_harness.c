/* What the tests of NE16's emulation need around it: an L1, and stops that can be asked about. */
#include "ma_gap9.h"
#include "ma_host.h"
#include "ma_ne16.h"
#include "ma_ne16_host.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define L1_BYTES 131072u

static uint8_t l1[L1_BYTES];
static char message[512];
static jmp_buf back;
static uint32_t outstanding_begin, outstanding_end;

uint8_t *ma_emulated_l1(void)
{
    return l1;
}

uint32_t ma_emulated_l1_bytes(void)
{
    return L1_BYTES;
}

_Noreturn void ma_stop(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    longjmp(back, 1);
}

void ma_check_settled(const void *begin, uint32_t bytes, const char *what)
{
    const uint32_t from = (uint32_t)((const uint8_t *)begin - l1);
    if (from < outstanding_end && outstanding_begin < from + bytes)
        ma_stop("%s: a transfer is outstanding", what);
}

/* Pretends that a transfer into [begin, end) of L1 is outstanding. */
void test_outstanding(uint32_t begin, uint32_t end)
{
    outstanding_begin = begin;
    outstanding_end = end;
}

const char *test_message(void)
{
    return message;
}

/* Registers of a whole job; the message is empty where it was accepted. */
uint32_t test_job(const uint32_t *registers)
{
    uint32_t number = 0;
    message[0] = 0;
    if (setjmp(back))
        return 0;
    number = ma_ne16_acquire();
    for (uint32_t i = 0; i < MA_NE16_REGISTERS; i++)
        ma_ne16_write(i, registers[i]);
    ma_ne16_commit();
    return number;
}

void test_tile(const struct ma_ne16_layer *layer, const struct ma_ne16_shape *tile,
               const uint32_t *at)
{
    message[0] = 0;
    if (setjmp(back))
        return;
    ma_ne16_wait(ma_ne16_tile(layer, l1 + at[0], l1 + at[1], l1 + at[2],
                              (const int32_t *)(const void *)(l1 + at[3]), l1 + at[4], tile, NULL));
}

void test_wait(uint32_t number)
{
    message[0] = 0;
    if (!setjmp(back))
        ma_ne16_wait(number);
}

void test_acquire(void)
{
    message[0] = 0;
    if (!setjmp(back))
        ma_ne16_acquire();
}

void test_write(uint32_t index, uint32_t value)
{
    message[0] = 0;
    if (!setjmp(back))
        ma_ne16_write(index, value);
}

void test_touch(uint32_t begin, uint32_t bytes, int writes)
{
    message[0] = 0;
    if (!setjmp(back))
        ma_ne16_check_settled(l1 + begin, bytes, writes, "a test");
}

void test_idle(void)
{
    message[0] = 0;
    if (!setjmp(back))
        ma_ne16_check_idle("the layer ends");
}
