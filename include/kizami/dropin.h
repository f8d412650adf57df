/* SPDX-License-Identifier: MIT */
/* The policy of a drop-in library (docs/dropin.md), read and changed while the program runs. The functions are in
 * libkizami_blas.so, libkizami_blas64.so and libkizami_cublas.so, not in libkizami.so: a program that need not be under
 * one of them looks for them with dlsym(RTLD_DEFAULT, "kizami_dropin_set"). Where several are preloaded, a change goes
 * to all of them, and the first one answers what is read.
 *
 * Keys and values are those of rules: those of `kizami help policy` but sync, and min_size, own_lines, learned, log.
 * What is set for the calling thread holds for its calls, before what is set for the process; both hold before rules,
 * and these before the environment. A call that has begun is not changed. Safe to call from any thread.
 */
#ifndef KIZAMI_DROPIN_H
#define KIZAMI_DROPIN_H

#include <stddef.h>
#include <stdint.h>

#include "kizami/export.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { KIZAMI_DROPIN_PROCESS = 0, KIZAMI_DROPIN_THREAD = 1 };

/* A null value forgets what was set for that key and scope.
 * 0: done. 1: nothing was changed, and kizami_dropin_error() says why: an unknown scope, key or value; a value that does
 * not go with another one; an environment that was not understood; no memory; or too many policies were made. */
KIZAMI_API int kizami_dropin_set(int scope, const char* key, const char* value);

/* Forgets what was set for that scope. 0: done; 1: an unknown scope. */
KIZAMI_API int kizami_dropin_reset(int scope);

/* Writes the value that holds for the calling thread where no rule says otherwise, with a 0 at its end, as much as there
 * is room for. Returns its length, which may exceed the room; -1: the key is unknown. */
KIZAMI_API int kizami_dropin_get(const char* key, char* value, size_t room);

/* Operands that stay split from call to call, under names that the program gives, never under addresses. side 0: the next
 * gemm of this thread has as its A version `version` of operand `id`; side 1: as its B. Where Kizami emulates that call it
 * takes what it made of the same id, version, side, shape and transposition before, or makes and keeps it. A version that
 * is new replaces the others of its id. The program names another version when elements have changed: until then those
 * count that were there when the operand was split, but where a call needs more than was kept, which it reads at the
 * address that it is given. Bits are those of calls without names. The name is for one call, whichever library that comes
 * to and whoever answers it. All that is kept takes at most KIZAMI_KEPT bytes of the host, and of each device; what was
 * not used for longest goes first.
 * Before cuBLAS: of single products (gemm, gemm3m, gemmEx, cublasLtMatmul), in the memory of the device. A call whose
 * stream is captured into a graph keeps nothing and takes nothing that is kept; nor does a batch, or a call of cublasXt.
 * 0: done; 1: side is neither. */
KIZAMI_API int kizami_dropin_name_operand(int side, uint64_t id, uint64_t version);
/* Forgets what this thread has named for its next gemm. */
KIZAMI_API void kizami_dropin_unname_operands(void);
/* Forgets all versions of an operand. What calls are using stays until they are done. */
KIZAMI_API void kizami_dropin_forget_operand(uint64_t id);
/* How many operands were split to be kept, and how often one was taken again, by this process; and the bytes held: of the
 * library that is asked and of those behind it, where several are preloaded. Null where it is not wanted. */
KIZAMI_API void kizami_dropin_kept(uint64_t* split, uint64_t* taken, size_t* bytes);

/* Why the last such call of this thread failed; never null. */
KIZAMI_API const char* kizami_dropin_error(void);

#ifdef __cplusplus
}
#endif

#endif
