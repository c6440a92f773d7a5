/* Constants in GAP9's external memories (L3) by the SDK's flash, file and RAM drivers. Not run on
 * silicon; written from the public declarations (pulp-platform/pulp-sdk@d4b5bcd, rtos/pmsis,
 * bsp/{fs,fs/readfs,ram}.h), and executed against a mock of them. Only networks whose constants do
 * not fit into L2 call it.
 *
 * The constants are a file of the flash's read-only file system, weights/<network>_backing.bin. The
 * first run copies them into the RAM, from where the DMA of the peripherals fetches them.
 * MA_RAM and MA_FLASH name the board's parts as the SDK's functions do: pi_<part>_conf_init.
 */
#include "ma_platform.h"

#include "pmsis.h"

#ifndef MA_RAM
#define MA_RAM hyperram
#endif
#ifndef MA_FLASH
#define MA_FLASH hyperflash
#endif
#define PART_HEADER(kind, part) <bsp/kind/part.h>
#ifdef MA_BOARD /* the vendor's SDK: the board's own parts, declared by one header */
#include <bsp/bsp.h>
#else
#include PART_HEADER(flash, MA_FLASH)
#include PART_HEADER(ram, MA_RAM)
#endif
#include <bsp/flash.h>
#include <bsp/fs.h>
#include <bsp/fs/readfs.h>
#include <bsp/ram.h>

#include <stddef.h>
#include <string.h>

#define PASTE_(a, b, c) a##b##c
#define PASTE(a, b, c) PASTE_(a, b, c)
#define CONF(part) struct PASTE(pi_, part, _conf)
#define CONF_INIT(part) PASTE(pi_, part, _conf_init)

/* Bytes that go from flash to RAM at a time, and fetches under way. */
#define CHUNK 2048
#define FETCHES 4

static struct pi_device flash, ram, files;
static uint32_t ram_begin, ram_bytes;
static const char *ram_file;
static uint8_t chunk[CHUNK];

static struct fetch {
    pi_task_t task;
    int busy;
} fetches[FETCHES];

static int failed(const char *sentence)
{
    ma_fail(sentence);
    return 1;
}

/* From the open file into the RAM. */
static int copy(pi_fs_file_t *file, uint32_t bytes)
{
    for (uint32_t done = 0; done < bytes;) {
        const uint32_t left = bytes - done, count = left < CHUNK ? left : CHUNK;
        if (pi_fs_read(file, chunk, count) != (int32_t)count) {
            return failed("L3: the file of the constants cannot be read to its end");
        }
        pi_ram_write(&ram, ram_begin + done, chunk, count);
        done += count;
    }
    return 0;
}

static int copy_file(const struct ma_backing *backing)
{
    pi_fs_file_t *const file = pi_fs_open(&files, backing->file, PI_FS_FLAGS_READ);
    if (!file) {
        return failed("L3: the flash has no file of the constants (weights/*_backing.bin)");
    }
    const int status = file->size == backing->bytes
        ? copy(file, backing->bytes)
        : failed("L3: the flash's file of the constants is of another network");
    pi_fs_close(file);
    return status;
}

static int from_flash(const struct ma_backing *backing)
{
    CONF(MA_FLASH) flash_conf;
    struct pi_readfs_conf fs_conf;
    int status = 1;
    CONF_INIT(MA_FLASH)(&flash_conf);
    pi_open_from_conf(&flash, &flash_conf);
    if (pi_flash_open(&flash)) {
        return failed("L3: the flash cannot be opened");
    }
    pi_readfs_conf_init(&fs_conf);
    fs_conf.fs.flash = &flash;
    pi_open_from_conf(&files, &fs_conf);
    if (pi_fs_mount(&files)) {
        ma_fail("L3: the flash has no read-only file system");
    } else {
        status = copy_file(backing);
        pi_fs_unmount(&files);
    }
    pi_flash_close(&flash);
    return status;
}

static int fill(const struct ma_backing *backing)
{
    if (pi_ram_alloc(&ram, &ram_begin, backing->bytes)) {
        return failed("L3: the RAM has no room for the constants");
    }
    if (from_flash(backing)) {
        (void)pi_ram_free(&ram, ram_begin, backing->bytes); /* it failed already */
        return 1;
    }
    ram_bytes = backing->bytes;
    return 0;
}

int ma_backing_open(const struct ma_backing *backing)
{
    CONF(MA_RAM) ram_conf;
    if (ram_file) {
        return strcmp(ram_file, backing->file) == 0 && ram_bytes == backing->bytes
            ? 0
            : failed("L3: another network's constants are in the RAM");
    }
    CONF_INIT(MA_RAM)(&ram_conf);
    pi_open_from_conf(&ram, &ram_conf);
    if (pi_ram_open(&ram)) {
        return failed("L3: the RAM cannot be opened");
    }
    if (fill(backing)) {
        pi_ram_close(&ram);
        return 1;
    }
    ram_file = backing->file;
    return 0;
}

ma_dma ma_backing_load(void *l2, uint32_t offset, uint32_t bytes)
{
    uint32_t i = 0;
    while (i < FETCHES && fetches[i].busy) {
        ++i;
    }
    if (i == FETCHES || offset > ram_bytes || bytes > ram_bytes - offset) {
        ma_fail("L3: a fetch of constants could not be started");
        return 0;
    }
    fetches[i].busy = 1;
    pi_ram_read_async(&ram, ram_begin + offset, l2, bytes, pi_task_block(&fetches[i].task));
    return i + 1;
}

void ma_backing_wait(ma_dma number)
{
    if (number == 0) {
        return;
    }
    pi_task_wait_on(&fetches[number - 1].task);
    fetches[number - 1].busy = 0;
}
