/* The stand-in's machine on any host: cores of a team are threads, of which there may be more than
 * processors. */
#include "ma_alone.h"

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static _Thread_local int core = CONTROLLER;

_Noreturn void alone_exit(int status)
{
    exit(status);
}

void alone_say(const char *format, va_list arguments)
{
    vfprintf(stderr, format, arguments);
}

const char *alone_setting(const char *name)
{
    return getenv(name);
}

uint8_t *alone_l2(uint32_t *bytes)
{
    static _Alignas(64) uint8_t left[1 << 20];
    *bytes = sizeof left;
    return left;
}

int alone_open(const char *path, uint32_t *bytes)
{
    struct stat found;
    const int file = open(path, O_RDONLY);
    if (file >= 0 && fstat(file, &found) == 0) {
        *bytes = (uint32_t)found.st_size;
    }
    return file;
}

int32_t alone_read(int file, void *to, uint32_t bytes)
{
    return (int32_t)read(file, to, bytes);
}

void alone_close(int file)
{
    close(file);
}

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
    sched_yield();
}

struct member {
    pthread_t thread;
    int core;
    void (*entry)(void *);
    void *argument;
};

static void *enter(void *argument)
{
    const struct member *const member = argument;
    core = member->core;
    member->entry(member->argument);
    return NULL;
}

void alone_team(int cores, void (*entry)(void *), void *argument)
{
    struct member team[ALONE_CORES];
    for (int i = 0; i < cores; ++i) {
        team[i] = (struct member){0, i, entry, argument};
        if (i != core && pthread_create(&team[i].thread, NULL, enter, &team[i])) {
            fprintf(stderr, "stand-in: no more threads\n");
            exit(99);
        }
    }
    entry(argument);
    for (int i = 0; i < cores; ++i) {
        if (i != core) {
            pthread_join(team[i].thread, NULL);
        }
    }
}
