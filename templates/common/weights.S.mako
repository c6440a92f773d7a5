/* Constants of ${net.title}: written by match_aie; this file belongs to you.
 *
 * Assembled from the project's folder, or with ${net.macro}_WEIGHTS_FILE defined as a string.
 */
#ifndef ${net.macro}_WEIGHTS_FILE
#define ${net.macro}_WEIGHTS_FILE "weights/${net.name}.bin"
#endif

#ifndef __USER_LABEL_PREFIX__
#define __USER_LABEL_PREFIX__
#endif
#define JOIN_(prefix, name) prefix##name
#define JOIN(prefix, name) JOIN_(prefix, name)
#define SYMBOL JOIN(__USER_LABEL_PREFIX__, ${net.name}_weights)

#if defined(__APPLE__)
    .section __TEXT,__const
    .private_extern SYMBOL
#elif defined(__ELF__)
    .section .rodata
    .hidden SYMBOL
    .type SYMBOL, %object
    .size SYMBOL, ${net.weights}
#else
    .section .rdata,"dr"
#endif
    .globl SYMBOL
    .balign ${net.alignment}
SYMBOL:
    .incbin ${net.macro}_WEIGHTS_FILE
    .if . - SYMBOL - ${net.weights}
    .error "the file of weights is damaged: it does not hold ${net.weights} bytes"
    .endif

#if defined(__ELF__)
    .section .note.GNU-stack,"",%progbits
#endif
