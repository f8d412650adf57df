// SPDX-License-Identifier: MIT
// A case of the soak: one call of cuBLAS with everything that it depends on, drawn from a seed. Pure: no device, no
// clock, and the same case for the same seed and limits everywhere.
//   C <- alpha op(A) op(B) + beta C0, or a routine of level 3, for each product of each section.
#pragma once

#include <array>
#include <complex>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "kizami/types.hpp"

namespace gpu_soak {

enum class Routine : std::uint8_t {
  kGemm,
  kGemmEx,
  kStrided,  ///< gemmStridedBatched
  kBatched,  ///< gemmBatched, by arrays of pointers
  kGrouped,  ///< GemmGroupedBatchedEx: a section is a group
  kLt,       ///< cublasLtMatmul
  kSyrk,
  kHerk,
  kSyr2k,
  kSymm,
  kHemm,
  kTrmm,
  kTrsm,
};
inline constexpr int kNumRoutines = 13;
[[nodiscard]] const char* name_of(Routine routine);
[[nodiscard]] constexpr bool is_level3(Routine r) { return r >= Routine::kSyrk; }
[[nodiscard]] constexpr bool is_rank_update(Routine r) { return r >= Routine::kSyrk && r <= Routine::kSyr2k; }
[[nodiscard]] constexpr bool is_triangular(Routine r) { return r == Routine::kTrmm || r == Routine::kTrsm; }

/// What a soak may be made of: routines, and what happens around them.
enum class Feature : std::uint8_t {
  kGemm,
  kGemmEx,
  kStrided,
  kBatched,
  kGrouped,
  kLt,
  kLevel3,
  kGraphs,      ///< calls are captured, and replayed with other elements
  kEmpty,       ///< m, n or k = 0
  kNonFinite,   ///< NaN and Inf in some lines of A and B
  kWorkspaces,  ///< cublasSetWorkspace
  kHandles,     ///< handles are destroyed and created
  kPressure,    ///< most of the device's free memory is taken at times
  kCrowds,      ///< all threads issue the same large case at once, now and then
};
inline constexpr int kNumFeatures = 14;
[[nodiscard]] const char* name_of(Feature feature);

class Features {
 public:
  [[nodiscard]] static Features all();
  /// "all", or names with commas between. @throws std::invalid_argument that names what is not known
  [[nodiscard]] static Features parse(std::string_view text);
  [[nodiscard]] bool has(Feature f) const { return (bits_ >> static_cast<unsigned>(f) & 1U) != 0; }
  void set(Feature f, bool is_on);
  [[nodiscard]] std::string text() const;
  bool operator==(const Features&) const = default;

 private:
  std::uint32_t bits_ = 0;
};

/// What cases are drawn from.
struct Limits {
  std::string types = "sdcz";
  /// of m, n and k; k of long products and orders of level 3 may be beyond it where memory allows
  std::int64_t max_size = 3200;
  /// largest spread of exponents: elements are u exp(phi g), u in (-1/2, 1/2), g in (-sqrt 3, sqrt 3)
  double phi_max = 6;
  Features features = Features::all();
  std::int64_t large_every = 0;  ///< one case in so many is a large product, whatever max_size; 0: none

  /// Of each of the buffers that hold A, B, C and their copies.
  [[nodiscard]] std::int64_t buffer_bytes() const {
    const std::int64_t of_others = bytes_for(max_size);
    return large_every > 0 && of_others < bytes_for(kLargeSide) ? bytes_for(kLargeSide) : of_others;
  }
  /// For matrices of elements of 16 bytes of that order.
  [[nodiscard]] static constexpr std::int64_t bytes_for(std::int64_t order) {
    return 16 * (order + 64) * (order + 64) + (1 << 16);
  }
  /// Of large products: the order of matrices of 16 bytes an element, and of others.
  static constexpr std::int64_t kLargeSide = 3232, kLargestSide = 4200;
};

/// Sizes from which on a device multiplies by other kernels.
inline constexpr std::int64_t kLargeResult = std::int64_t{1}
                                             << 22;  ///< m n: repairs, and sums of bytes, in own kernels
inline constexpr std::int64_t kScoutSide = 3072;     ///< of m, n and k: a scout before the split
inline constexpr std::int64_t kLearnedTerms = std::int64_t{1} << 33;  ///< m n k: calls begin by what earlier ones tell

/// Elements before and behind the matrices of a buffer that no call may write.
inline constexpr std::int64_t kGuard = 64;
inline constexpr int kMaxProducts = 64;  ///< of all sections

/// The matrices of one operand of a section, all stored alike, in a buffer: rows x cols by columns.
struct Matrix {
  std::int64_t rows = 0, cols = 0, ld = 1;
  std::int64_t offset = 0;  ///< elements from the begin of the buffer to the first matrix
  std::int64_t stride = 0;  ///< elements from matrix to matrix; 0: one matrix for all products
  int rotation = 0;         ///< product p has matrix (p + rotation) % number of products

  [[nodiscard]] std::int64_t start(int product, int num_products) const {
    return offset + stride * ((product + rotation) % num_products);
  }
  [[nodiscard]] std::int64_t end(int num_products) const {
    return offset + stride * (num_products - 1) + ld * (cols > 0 ? cols : 0);
  }
};

/// Products of one shape. Of level 3: C is m x n, k the inner size; A of symm, hemm, trmm and trsm is of order k.
struct Section {
  kizami::Op op_a = kizami::Op::kNone, op_b = kizami::Op::kNone;
  std::int64_t m = 0, n = 0, k = 0;
  Matrix a, b, c;
  int num_products = 1;
  std::complex<double> alpha{1, 0}, beta{0, 0};
};

enum class Numbers : std::uint8_t { kUniform, kThirdZero, kMostlyZero, kIntegers };
enum class Spread : std::uint8_t { kElements, kColumns, kRows };  ///< what the exponents belong to, as stored
struct Elements {
  Numbers numbers = Numbers::kUniform;
  Spread spread = Spread::kElements;
  double phi = 0;
};

/// An element of a buffer that becomes NaN or infinite.
struct Exception {
  bool is_in_a = true;
  std::int64_t at = 0;  ///< in parts: real, or real and imaginary ones in turn
  int kind = 0;         ///< 0: NaN, 1: Inf, -1: -Inf
};

struct Case {
  std::uint64_t seed = 0;
  kizami::Scalar scalar = kizami::Scalar::kF32;
  Routine routine = Routine::kGemm;
  std::vector<Section> sections;                          ///< one, or groups
  bool is_left = true, is_lower = true, is_unit = false;  ///< of level 3
  bool is_in_place = false;                               ///< trmm: B is C
  bool has_device_factors = false;                        ///< pointer mode
  bool has_host_arrays = false;                           ///< arrays of pointers in pinned host memory
  bool has_untouchable_c = false;                         ///< C0 holds NaN: beta = 0 does not read it
  Elements a, b;
  std::vector<Exception> exceptions;
  bool is_large = false;             ///< one of large_every
  int num_replays = 0;               ///< 0: the call itself; else of a graph that captures it
  std::int64_t workspace_bytes = 0;  ///< 0: cuBLAS' own
  Routine again = Routine::kGemm;    ///< the entry point that is asked for the same bits, of gemm, GemmEx, Strided

  [[nodiscard]] const Section& first() const { return sections.front(); }
  [[nodiscard]] int num_products() const;
  /// A single product, whose bits may be asked for again by another entry point.
  [[nodiscard]] bool is_single() const { return routine <= Routine::kStrided && num_products() == 1; }
  [[nodiscard]] std::int64_t used_a() const;  ///< elements of the buffer, guards included
  [[nodiscard]] std::int64_t used_b() const;
  [[nodiscard]] std::int64_t used_c() const;
};

[[nodiscard]] constexpr char letter_of(kizami::Scalar s) { return "sdcz"[static_cast<int>(s)]; }
[[nodiscard]] std::int64_t element_bytes(kizami::Scalar s);

/// Cases that are not large are the same for every large_every. @range limits: at least one type and one routine,
/// max_size >= 8
[[nodiscard]] Case draw_case(std::uint64_t seed, const Limits& limits);

/// On one line, for people.
[[nodiscard]] std::string text_of(const Case& x);

}  // namespace gpu_soak
