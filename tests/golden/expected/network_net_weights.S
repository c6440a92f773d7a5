/* Constants of net: written by match_aie; this file belongs to you.
 *
 * Assembled from the project's folder, or with NET_WEIGHTS_FILE defined as a string.
 */
#ifndef NET_WEIGHTS_FILE
#define NET_WEIGHTS_FILE "weights/net.bin"
#endif

#ifndef __USER_LABEL_PREFIX__
#define __USER_LABEL_PREFIX__
#endif
#define JOIN_(prefix, name) prefix##name
#define JOIN(prefix, name) JOIN_(prefix, name)
#define SYMBOL JOIN(__USER_LABEL_PREFIX__, net_weights)

#if defined(__APPLE__)
    .section __TEXT,__const
    .private_extern SYMBOL
#elif defined(__ELF__)
    .section .rodata
    .hidden SYMBOL
    .type SYMBOL, %object
    .size SYMBOL, 256
#else
    .section .rdata,"dr"
#endif
    .globl SYMBOL
    .balign 64
SYMBOL:
    .incbin NET_WEIGHTS_FILE
    .if . - SYMBOL - 256
    .error "the file of weights is damaged: it does not hold 256 bytes"
    .endif

#if defined(__ELF__)
    .section .note.GNU-stack,"",%progbits
#endif
