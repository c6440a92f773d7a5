/* The stand-in's machine on a RISC-V core of 32 bits that has Linux's calls and no library for them:
 * qemu-riscv32, for one. There is one core; those of a team take turns whenever one waits for another.
 *
 * Calls, by numbers and registers, are those of Linux for RISC-V (include/uapi/asm-generic/unistd.h).
 */
#include "ma_alone.h"

#include <stddef.h>
#include <string.h>

#define OPENAT 56
#define CLOSE 57
#define LLSEEK 62
#define READ 63
#define WRITE 64
#define EXIT_GROUP 94
#define AT_FDCWD (-100)

static int32_t call(int32_t number, int32_t a, int32_t b, int32_t c, int32_t d, int32_t e)
{
    register int32_t a0 __asm__("a0") = a;
    register int32_t a1 __asm__("a1") = b;
    register int32_t a2 __asm__("a2") = c;
    register int32_t a3 __asm__("a3") = d;
    register int32_t a4 __asm__("a4") = e;
    register int32_t a7 __asm__("a7") = number;
    __asm__ volatile("ecall" : "+r"(a0) : "r"(a1), "r"(a2), "r"(a3), "r"(a4), "r"(a7) : "memory");
    return a0;
}

_Noreturn void alone_exit(int status)
{
    for (;;) {
        call(EXIT_GROUP, status, 0, 0, 0, 0);
    }
}

/* ---- the begin: the kernel leaves argc, argv, NULL, environment, NULL on the stack ----------------- */

static char **environment;
/* What libraries have of their own for each thread (errno): the linker says how much, and it is 0. */
static _Alignas(16) uint8_t own[256];

int main(void);

__attribute__((used)) _Noreturn void alone_begin(uint32_t *stack)
{
    environment = (char **)(stack + stack[0] + 2);
    alone_exit(main());
}

__asm__(".globl _start\n"
        "_start:\n"
        "    la tp, alone_own\n"
        "    lw tp, 0(tp)\n"
        "    mv a0, sp\n"
        "    andi sp, sp, -16\n"
        "    j alone_begin\n");
__attribute__((used)) uint8_t *const alone_own = own;

const char *alone_setting(const char *name)
{
    const size_t length = strlen(name);
    for (char **at = environment; *at; ++at) {
        if (strncmp(*at, name, length) == 0 && (*at)[length] == '=') {
            return *at + length + 1;
        }
    }
    return NULL;
}

/* The linker's: what nothing else has of L2. */
extern uint8_t alone_l2_begin[], alone_l2_end[];

uint8_t *alone_l2(uint32_t *bytes)
{
    *bytes = (uint32_t)(alone_l2_end - alone_l2_begin);
    return alone_l2_begin;
}

/* ---- files -------------------------------------------------------------------------------------- */

static int32_t address(const void *pointer)
{
    return (int32_t)(uintptr_t)pointer;
}

int alone_open(const char *path, uint32_t *bytes)
{
    int64_t end = 0, begin;
    const int file = call(OPENAT, AT_FDCWD, address(path), 0, 0, 0);
    if (file < 0 || call(LLSEEK, file, 0, 0, address(&end), 2) < 0
        || call(LLSEEK, file, 0, 0, address(&begin), 0) < 0) {
        return -1;
    }
    *bytes = (uint32_t)end;
    return file;
}

int32_t alone_read(int file, void *to, uint32_t bytes)
{
    uint32_t done = 0;
    while (done < bytes) {
        const int32_t some = call(READ, file, address(to) + (int32_t)done, (int32_t)(bytes - done), 0, 0);
        if (some <= 0) {
            break;
        }
        done += (uint32_t)some;
    }
    return (int32_t)done;
}

void alone_close(int file)
{
    call(CLOSE, file, 0, 0, 0, 0);
}

/* ---- text: %s, %d, %u, %x, of any width with zeros, l of no meaning --------------------------------- */

static void put(int file, const char *text, uint32_t bytes)
{
    call(WRITE, file, address(text), (int32_t)bytes, 0, 0);
}

static void put_number(int file, uint32_t value, uint32_t base, int width)
{
    char text[12];
    int at = 12;
    do {
        text[--at] = "0123456789abcdef"[value % base];
        value /= base;
    } while (value || (12 - at < width && at > 0));
    put(file, text + at, (uint32_t)(12 - at));
}

static void put_one(int file, char kind, int width, uint32_t value)
{
    if (kind == 's') {
        const char *const text = (const char *)(uintptr_t)value;
        put(file, text, (uint32_t)strlen(text));
    } else if (kind == 'd' && (int32_t)value < 0) {
        put(file, "-", 1);
        put_number(file, 0 - value, 10, width);
    } else {
        put_number(file, value, kind == 'x' ? 16 : 10, width);
    }
}

static void put_all(int file, const char *format, va_list arguments)
{
    while (*format) {
        const char *const percent = strchr(format, '%');
        if (!percent) {
            put(file, format, (uint32_t)strlen(format));
            return;
        }
        put(file, format, (uint32_t)(percent - format));
        int width = 0;
        for (format = percent + 1; (*format >= '0' && *format <= '9') || *format == 'l'; ++format) {
            width = *format == 'l' ? width : 10 * width + *format - '0';
        }
        put_one(file, *format, width, va_arg(arguments, uint32_t));
        ++format;
    }
}

void alone_say(const char *format, va_list arguments)
{
    put_all(2, format, arguments);
}

int printf(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    put_all(1, format, arguments);
    va_end(arguments);
    return 0;
}

/* ---- cores: each has a stack, and what a call has to keep (ra, sp, s0 .. s11) ------------------------ */

#define STACK_WORDS 4096
static struct turn {
    uint32_t kept[14];
    int live;
    void (*entry)(void *);
    void *argument;
} turns[ALONE_CORES + 1];
static _Alignas(16) uint32_t stacks[ALONE_CORES + 1][STACK_WORDS];
static int core = CONTROLLER;

void alone_change(uint32_t *from, const uint32_t *to);

#define EACH(op, base)                                                                              \
    #op " ra, 0(" #base ")\n" #op " sp, 4(" #base ")\n" #op " s0, 8(" #base ")\n"                    \
    #op " s1, 12(" #base ")\n" #op " s2, 16(" #base ")\n" #op " s3, 20(" #base ")\n"                 \
    #op " s4, 24(" #base ")\n" #op " s5, 28(" #base ")\n" #op " s6, 32(" #base ")\n"                 \
    #op " s7, 36(" #base ")\n" #op " s8, 40(" #base ")\n" #op " s9, 44(" #base ")\n"                 \
    #op " s10, 48(" #base ")\n" #op " s11, 52(" #base ")\n"
__asm__(".globl alone_change\nalone_change:\n" EACH(sw, a0) EACH(lw, a1) "    ret\n");

int alone_core(void)
{
    return core;
}

void alone_be_core(int other)
{
    core = other;
}

void alone_yield(void)
{
    const int from = core;
    int to = from;
    do {
        to = (to + 1) % (ALONE_CORES + 1);
    } while (!turns[to].live && to != from);
    if (to != from) {
        core = to;
        alone_change(turns[from].kept, turns[to].kept);
    }
}

static void enter(void)
{
    struct turn *const mine = &turns[core];
    mine->entry(mine->argument);
    mine->live = 0;
    for (;;) {
        alone_yield();
    }
}

void alone_team(int cores, void (*entry)(void *), void *argument)
{
    const int mine = core;
    int left;
    turns[mine].live = 1;
    for (int i = 0; i < cores; ++i) {
        if (i != mine) {
            turns[i] = (struct turn){.live = 1, .entry = entry, .argument = argument};
            turns[i].kept[0] = (uint32_t)(uintptr_t)enter;
            turns[i].kept[1] = (uint32_t)(uintptr_t)(stacks[i] + STACK_WORDS);
        }
    }
    entry(argument);
    do {
        left = 0;
        for (int i = 0; i < cores; ++i) {
            left += i != mine && turns[i].live;
        }
        if (left) {
            alone_yield();
        }
    } while (left);
    turns[mine].live = 0;
}
