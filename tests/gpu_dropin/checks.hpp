// SPDX-License-Identifier: MIT
// The checks of the program, each of all four types.
#pragma once

#include "gpu_dropin/on_device.hpp"

namespace preload_check {

/// cublas<t>gemm: operations, factors, shapes; products that follow each other; whose they are.
void check_products(const Handle& handle);
/// The other entry points: 3m, Ex, strided, arrays of pointers, groups.
void check_entry_points(const Handle& handle);
/// cublasLtMatmul, of matrices by columns and by rows.
void check_lt(const Handle& handle);
/// cublasXt<t>gemm on all devices, of matrices of the host.
void check_xt(const Handle& handle);
/// Routines of a triangle: syrk, syrkx, syr2k, symm, trmm, trsm.
void check_level3(const Handle& handle);
/// What is captured, replayed with other elements, and what goes wrong while it is captured.
void check_graphs(const Handle& handle);
/// Statuses of calls that are refused, math modes, and that a handle stays as it was.
void check_handles(const Handle& handle);
/// Several streams, threads and handles; nothing is waited for (unless calls are monitored), nothing allocated again.
void check_streams(bool is_monitored);
/// Operands that stay split under names, where a library that keeps them is preloaded: bits, counts, streams, graphs,
/// memory.
void check_kept(const Handle& handle, bool is_monitored);
/// Of a process with KIZAMI_MONITOR=1: what the log at `path` says of the calls so far.
void check_monitor(const char* path);
/// With the defaults of the library: wide elements, which cuBLAS multiplies faster, and tame ones, in FP64.
void check_learned(const Handle& handle);
/// A handle of the second device, where there is one.
void check_second_device();

/// The judge of this program, on results that the host computes: good ones pass, and one bad number does not.
void check_judge();

}  // namespace preload_check
