<%page args="net, part, file, nbytes"/>\
<% macro = f"{net.macro}_{part.upper()}_FILE" %>\
/* Constants of ${net.title}: written by match_aie; this file belongs to you.
 *
 * Assembled from the project's folder, or with ${macro} defined as a string.
 */
#ifndef ${macro}
#define ${macro} "${file}"
#endif

#ifndef __USER_LABEL_PREFIX__
#define __USER_LABEL_PREFIX__
#endif
#define JOIN_(prefix, name) prefix##name
#define JOIN(prefix, name) JOIN_(prefix, name)
#define SYMBOL JOIN(__USER_LABEL_PREFIX__, ${net.name}_${part})

#if defined(__APPLE__)
    .section __TEXT,__const
    .private_extern SYMBOL
#elif defined(__ELF__)
    .section .rodata
    .hidden SYMBOL
    .type SYMBOL, %object
    .size SYMBOL, ${nbytes}
#else
    .section .rdata,"dr"
#endif
    .globl SYMBOL
    .balign ${net.alignment}
SYMBOL:
    .incbin ${macro}
    .if . - SYMBOL - ${nbytes}
    .error "the file of weights is damaged: it does not hold ${nbytes} bytes"
    .endif

#if defined(__ELF__)
    .section .note.GNU-stack,"",%progbits
#endif
