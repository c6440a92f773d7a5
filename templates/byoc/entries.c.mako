<%page args="entries"/>\
/* Packed functions of layers compiled by match_aie: TVM's calling convention around the networks'
 * own. C and C++ compilers take this file. Arguments: inputs, then outputs, each a tensor. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "tvm/ffi/c_api.h"

/* A tensor that an entry takes. */
typedef struct {
    uint8_t code, bits;
    int32_t rank;
    int64_t shape[${max(1, entries.rank)}];
    int64_t bytes;
} ma_port;

static inline int ma_refuse(const char *kind, const char *why) {
    TVMFFIErrorSetRaisedFromCStr(kind, why);
    return -1;
}

/* The tensor in argument `arg`, NULL where it is none. */
static inline const DLTensor *ma_tensor(const TVMFFIAny *arg) {
    if (arg->type_index == kTVMFFITensor) {
        return (const DLTensor *)((const char *)arg->v_obj + sizeof(TVMFFIObject));
    }
    return arg->type_index == kTVMFFIDLTensorPtr ? (const DLTensor *)arg->v_ptr : NULL;
}

/* Whether `t` is a dense tensor of the host as `port` says. */
static inline int ma_fits(const DLTensor *t, const ma_port *port) {
    int64_t dense = 1;
    if (!t || t->device.device_type != kDLCPU || t->ndim != port->rank || t->dtype.lanes != 1 ||
        t->dtype.code != port->code || t->dtype.bits != port->bits) {
        return 0;
    }
    for (int32_t axis = port->rank - 1; axis >= 0; --axis) {
        if (t->shape[axis] != port->shape[axis] ||
            (t->strides && port->shape[axis] != 1 && t->strides[axis] != dense)) {
            return 0;
        }
        dense *= port->shape[axis];
    }
    return 1;
}

/* Memory at a multiple of `alignment`; what lies before it says where it begins. */
static inline void *ma_allocate(size_t bytes, size_t alignment) {
    char *const whole = (char *)malloc(bytes + alignment + sizeof(void *));
    if (!whole) {
        return NULL;
    }
    const uintptr_t first = (uintptr_t)(whole + sizeof(void *));
    char *const start = (char *)((first + alignment - 1) / alignment * alignment);
    memcpy(start - sizeof(void *), &whole, sizeof whole);
    return start;
}

static inline void ma_release(void *start) {
    if (start) {
        void *whole;
        memcpy(&whole, (char *)start - sizeof(void *), sizeof whole);
        free(whole);
    }
}

/* Addresses of `count` tensors for a network: the tensors' own, or aligned copies. */
static inline int ma_open(const TVMFFIAny *args, const ma_port *ports, int32_t count,
                          size_t alignment, int read, void **data, void **copies) {
    for (int32_t i = 0; i < count; ++i) {
        const DLTensor *const t = ma_tensor(args + i);
        if (!ma_fits(t, ports + i)) {
            return ma_refuse("TypeError", read ? "an input of a match_aie function is not the "
                "dense host tensor that it was compiled for" : "an output of a match_aie function "
                "is not the dense host tensor that it was compiled for");
        }
        data[i] = (char *)t->data + t->byte_offset;
        if ((uintptr_t)data[i] % alignment != 0) {
            copies[i] = ma_allocate((size_t)ports[i].bytes, alignment);
            if (!copies[i]) {
                return ma_refuse("RuntimeError", "out of memory");
            }
            if (read) {
                memcpy(copies[i], data[i], (size_t)ports[i].bytes);
            }
            data[i] = copies[i];
        }
    }
    return 0;
}

#ifdef __cplusplus
extern "C" {
#endif
% for entry in entries.entries:
<% total = len(entry.inputs) + len(entry.outputs) %>\

/* ${entry.remark} */
int ${entry.symbol}_run_in(void *arena, const void *const in[], void *const out[]);
% if entry.guarded:
const char *${entry.symbol}_unsupported(void);
% endif
% if entry.faults:
const char *${entry.symbol}_fault(void);
% endif
% if entry.arena:

/* The arena of the last call, kept for the next one; calls at the same time have their own. */
static void *${entry.symbol}_spare;

__attribute__((destructor)) static void ${entry.symbol}_unload(void) {
    ma_release(__atomic_exchange_n(&${entry.symbol}_spare, NULL, __ATOMIC_ACQ_REL));
}
% endif

static int ${entry.symbol}_call(void *const *in, void *const *out) {
% if entry.guarded:
    const char *const missing = ${entry.symbol}_unsupported();
    if (missing) {
        return ma_refuse("RuntimeError", missing);
    }
% endif
% if entry.arena:
    void *arena = __atomic_exchange_n(&${entry.symbol}_spare, NULL, __ATOMIC_ACQ_REL);
    if (!arena) {
        arena = ma_allocate(${entry.arena}, ${entry.alignment});
    }
    if (!arena) {
        return ma_refuse("RuntimeError", "out of memory");
    }
    const int status = ${entry.symbol}_run_in(arena, (const void *const *)in, out);
    void *none = NULL;
    if (!__atomic_compare_exchange_n(&${entry.symbol}_spare, &none, arena, 0, __ATOMIC_ACQ_REL,
                                     __ATOMIC_RELAXED)) {
        ma_release(arena);
    }
% else:
    const int status = ${entry.symbol}_run_in(NULL, (const void *const *)in, out);
% endif
    if (status != 0) {
% if entry.faults:
        const char *const why = ${entry.symbol}_fault();
        return ma_refuse("RuntimeError", why && *why ? why : "the layers gave an error status");
% else:
        return ma_refuse("RuntimeError", "the layers gave an error status");
% endif
    }
    return 0;
}

TVM_FFI_DLL_EXPORT int __tvm_ffi_${entry.symbol}(void *self, const TVMFFIAny *args,
                                                 int32_t num_args, TVMFFIAny *result) {
    static const ma_port ports[] = {
% for port in (*entry.inputs, *entry.outputs):
        {${port.code}, ${port.bits}, ${len(port.shape)}, {${", ".join(map(str, port.shape)) or 0}}, ${port.nbytes}},
% endfor
    };
    enum { inputs = ${len(entry.inputs)}, total = ${total} };
    void *data[total], *copies[total];
    (void)self;
    result->type_index = kTVMFFINone;
    if (num_args != total) {
        return ma_refuse("TypeError", "a match_aie function got another number of arguments");
    }
    memset(copies, 0, sizeof copies);
    int status = ma_open(args, ports, inputs, ${entry.alignment}, 1, data, copies);
    if (status == 0) {
        status = ma_open(args + inputs, ports + inputs, total - inputs, ${entry.alignment}, 0,
                         data + inputs, copies + inputs);
    }
    if (status == 0) {
        status = ${entry.symbol}_call(data, data + inputs);
    }
    for (int i = 0; i < total; ++i) {
        if (copies[i] && i >= inputs && status == 0) {
            const DLTensor *const t = ma_tensor(args + i);
            memcpy((char *)t->data + t->byte_offset, copies[i], (size_t)ports[i].bytes);
        }
        ma_release(copies[i]);
    }
    return status;
}
% endfor

#ifdef __cplusplus
}
#endif
