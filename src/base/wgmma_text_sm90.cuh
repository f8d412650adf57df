// SPDX-License-Identifier: MIT
// The text of a wgmma instruction: a warpgroup multiplies 64 lines by N lines, 32 bytes of k, both operands from shared
// memory, and adds to (or, without `accumulate`, replaces) the N / 2 registers d of each thread. Inline assembly counts
// its registers one by one in literals, so only a macro can write them once for every type.
//
// Layout of d in registers, for thread t of the warpgroup, warp w = t / 32 and lane x = t % 32:
//   d[4 g + 2 h + b] is row 16 w + 8 h + x / 4, column 8 g + 2 (x % 4) + b,  for h, b in {0, 1} and g < N / 8.
#pragma once

// clang-format off
#define KIZAMI_WGMMA_NAMES_32 \
  "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, " \
  "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31"
#define KIZAMI_WGMMA_NAMES_48 KIZAMI_WGMMA_NAMES_32 ", " \
  "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47"
#define KIZAMI_WGMMA_NAMES_52 KIZAMI_WGMMA_NAMES_48 ", %48, %49, %50, %51"
#define KIZAMI_WGMMA_NAMES_56 KIZAMI_WGMMA_NAMES_52 ", %52, %53, %54, %55"
#define KIZAMI_WGMMA_NAMES_64 KIZAMI_WGMMA_NAMES_32 ", " \
  "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, " \
  "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63"
#define KIZAMI_WGMMA_NAMES_96 KIZAMI_WGMMA_NAMES_64 ", " \
  "%64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, " \
  "%80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95"
#define KIZAMI_WGMMA_NAMES_128 KIZAMI_WGMMA_NAMES_96 ", " \
  "%96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107, %108, %109, %110, %111, " \
  "%112, %113, %114, %115, %116, %117, %118, %119, %120, %121, %122, %123, %124, %125, %126, %127"

#define KIZAMI_WGMMA_EIGHT(constraint, i)                                                                     \
  constraint(d[i]), constraint(d[(i) + 1]), constraint(d[(i) + 2]), constraint(d[(i) + 3]),                   \
  constraint(d[(i) + 4]), constraint(d[(i) + 5]), constraint(d[(i) + 6]), constraint(d[(i) + 7])
#define KIZAMI_WGMMA_THIRTY_TWO(constraint, i)                                                                \
  KIZAMI_WGMMA_EIGHT(constraint, i), KIZAMI_WGMMA_EIGHT(constraint, (i) + 8),                                 \
  KIZAMI_WGMMA_EIGHT(constraint, (i) + 16), KIZAMI_WGMMA_EIGHT(constraint, (i) + 24)
#define KIZAMI_WGMMA_REGISTERS_32(constraint) KIZAMI_WGMMA_THIRTY_TWO(constraint, 0)
#define KIZAMI_WGMMA_REGISTERS_48(constraint) \
  KIZAMI_WGMMA_REGISTERS_32(constraint), KIZAMI_WGMMA_EIGHT(constraint, 32), KIZAMI_WGMMA_EIGHT(constraint, 40)
#define KIZAMI_WGMMA_REGISTERS_52(constraint) \
  KIZAMI_WGMMA_REGISTERS_48(constraint), constraint(d[48]), constraint(d[49]), constraint(d[50]), constraint(d[51])
#define KIZAMI_WGMMA_REGISTERS_56(constraint) \
  KIZAMI_WGMMA_REGISTERS_48(constraint), KIZAMI_WGMMA_EIGHT(constraint, 48)
#define KIZAMI_WGMMA_REGISTERS_64(constraint) \
  KIZAMI_WGMMA_REGISTERS_32(constraint), KIZAMI_WGMMA_THIRTY_TWO(constraint, 32)
#define KIZAMI_WGMMA_REGISTERS_96(constraint) \
  KIZAMI_WGMMA_REGISTERS_64(constraint), KIZAMI_WGMMA_THIRTY_TWO(constraint, 64)
#define KIZAMI_WGMMA_REGISTERS_128(constraint) \
  KIZAMI_WGMMA_REGISTERS_96(constraint), KIZAMI_WGMMA_THIRTY_TWO(constraint, 96)

// The operands after the registers.
#define KIZAMI_WGMMA_ROWS_32 "%32"
#define KIZAMI_WGMMA_ROWS_52 "%52"
#define KIZAMI_WGMMA_ROWS_56 "%56"
#define KIZAMI_WGMMA_ROWS_64 "%64"
#define KIZAMI_WGMMA_ROWS_96 "%96"
#define KIZAMI_WGMMA_ROWS_128 "%128"
#define KIZAMI_WGMMA_COLUMNS_32 "%33"
#define KIZAMI_WGMMA_COLUMNS_52 "%53"
#define KIZAMI_WGMMA_COLUMNS_56 "%57"
#define KIZAMI_WGMMA_COLUMNS_64 "%65"
#define KIZAMI_WGMMA_COLUMNS_96 "%97"
#define KIZAMI_WGMMA_COLUMNS_128 "%129"
#define KIZAMI_WGMMA_ACCUMULATE_32 "%34"
#define KIZAMI_WGMMA_ACCUMULATE_52 "%54"
#define KIZAMI_WGMMA_ACCUMULATE_56 "%58"
#define KIZAMI_WGMMA_ACCUMULATE_64 "%66"
#define KIZAMI_WGMMA_ACCUMULATE_96 "%98"
#define KIZAMI_WGMMA_ACCUMULATE_128 "%130"

/// One instruction in a function with the parameters d, rows, columns and accumulate.
/// @param count       registers: 32, 52, 56, 64, 96 or 128
/// @param constraint  "+r" of INT32, "+f" of FP32
/// @param shape       the shape and the types, as in "m64n128k32.s32.s8.s8"
/// @param rest        what follows the predicate
#define KIZAMI_WGMMA(count, constraint, shape, rest)                           \
  asm volatile(                                                                \
      "{\n"                                                                    \
      ".reg .pred p;\n"                                                        \
      ".reg .b64 rows, columns;\n"                                             \
      "setp.ne.b32 p, " KIZAMI_WGMMA_ACCUMULATE_##count ", 0;\n"               \
      "mov.b64 rows, {" KIZAMI_WGMMA_ROWS_##count ", 0x40000040};\n"           \
      "mov.b64 columns, {" KIZAMI_WGMMA_COLUMNS_##count ", 0x40000040};\n"     \
      "wgmma.mma_async.sync.aligned." shape " {" KIZAMI_WGMMA_NAMES_##count "}, " \
      "rows, columns, p" rest ";\n"                                            \
      "}\n"                                                                    \
      : KIZAMI_WGMMA_REGISTERS_##count(constraint)                             \
      : "r"(rows), "r"(columns), "r"(accumulate))
// clang-format on
