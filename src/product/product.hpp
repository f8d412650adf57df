// SPDX-License-Identifier: MIT
// The low-precision product as data, and the narrow interface an engine implements.
//   acc_l = A_l B_l^T in INT32, exactly, for planes l = 0 .. num_products - 1 that share one shape; then an epilogue.
// Planes are of bytes, with sign or without, or of whole numbers in a floating-point format: their products are summed by an
// accumulator in FP32 over as many elements of k as it holds exactly, and such sums in INT32.
// Everything here is an integer: engines must agree bit for bit, for every tiling and thread count.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

#include "base/device_limits.hpp"
#include "kizami/policy.hpp"
#include "kizami/status.hpp"
#include "num/rung.hpp"
#include "product/processor_rates.hpp"

struct CUstream_st;

namespace kizami::product {

/// Where the operands of an engine lie, and where it works.
enum class MemorySpace : std::uint8_t { kHost, kDevice };
/// The CUDA stream that device engines and device phases work on; null on the host.
using Queue = CUstream_st*;

/// Largest number of planes in one ProductDesc, of each modulus one.
inline constexpr int kMaxProducts = 64;
/// Planes of one modulus at most: the products of a step of Strassen's.
inline constexpr int kMaxPlanesOfModulus = 7;
/// Largest k of one exact INT32 accumulation of signed bytes: |sum| <= 2^17 * 128 * 128 = 2^31. The one sum that
/// reaches 2^31 has all residues -128, which only modulus 256 has; there wrap-around is harmless because 256 divides
/// 2^32. For odd moduli |r| <= 127 and 127^2 * 2^17 < 2^31 - 1.
inline constexpr std::int64_t kBlockMaxI8 = std::int64_t{1} << 17;
/// Largest k of one exact INT32 accumulation of bytes without sign, 255^2 each.
inline constexpr std::int64_t kBlockMaxU8 = ((std::int64_t{1} << 31) - 1) / (255 * 255);
/// Planes are padded with zeros along k to a multiple of this, and aligned to it in memory.
inline constexpr std::int64_t kPadBytes = 64;

enum class Epilogue : std::uint8_t {
  kStoreAcc,   ///< C_l (int32) = acc_l
  kReduce,     ///< C_l (int8) = symmetric residue of acc_l modulo moduli[l], or as planes_of_modulus says
  kReduceAdd,  ///< C_l (int8) = symmetric residue of C_l + acc_l modulo moduli[l]: further blocks of k
  kCompare,  ///< *c (uint64) += pairs that num::is_certified() refuses, of every plane, with acc_l >= 0 as floor of their product
};

/// A product of parts of rows: elements [a_first, a_first + k) of the rows of plane a_plane of A by [b_first, b_first +
/// k) of those of plane b_plane of B. Slices that lie side by side are one product so.
struct Window {
  std::int32_t a_plane = 0;
  std::int32_t b_plane = 0;
  std::int64_t a_first = 0;
  std::int64_t b_first = 0;
  std::int64_t k = 0;
  bool is_added = false;  ///< to the plane of the window before it; else it begins a plane of C
};
/// Windows of one ProductDesc at most.
inline constexpr int kMaxWindows = 32;
/// Windows begin at multiples of this, and their elements up to such a multiple beyond k are zero.
inline constexpr std::int64_t kWindowPad = 128;

/// Symmetric residue: the representative in [-floor(p/2), ceil(p/2) - 1], so [-128, 127] for p = 256 and
/// [-(p-1)/2, (p-1)/2] for odd p. Unique, hence comparable with ==.
///
/// @shape  A_l: m rows of k bytes, row i at a + l * a_plane_stride + i * a_row_stride. B_l: n rows of k bytes likewise
///         (row j is column j of op(B)). C_l: element (i, j) at c + l * c_plane_stride + j * c_col_stride + i.
/// @units  all strides in elements. @range k <= kBlockMaxI8; elements [k, round_up(k, kPadBytes)) of every row are
///         zero; row strides are multiples of kPadBytes and every row starts on a boundary of kPadBytes bytes.
/// Floating-point planes come with windows. @range their sums lie within INT32, of FP8 within 2^24; those of any exact_k elements
///         within 2^24, of FP8 within what num::hopper_tensor_core() sums exactly
/// With windows plane l of C is instead the sum of those windows that share it, k is the longest of them, and the
/// epilogue is kStoreAcc. @range windows of a plane have at most kBlockMaxI8 elements of k together; floating-point
/// planes have one each. Engines balance best planes in the order of falling k.
struct ProductDesc {
  std::int64_t m = 0;
  std::int64_t n = 0;
  std::int64_t k = 0;
  int num_products = 0;
  /// so many planes, one after another, have the same modulus; more than 1: kReduce, without windows
  int planes_of_modulus = 1;
  Epilogue epilogue = Epilogue::kReduce;
  /// kReduce, kReduceAdd: modulus of planes l planes_of_modulus .., 2..256; engines hopper and mma take 256 and odd ones
  std::array<std::int16_t, kMaxProducts> moduli{};
  std::int64_t a_row_stride = 0;
  std::int64_t a_plane_stride = 0;
  std::int64_t b_row_stride = 0;
  std::int64_t b_plane_stride = 0;
  std::int64_t c_col_stride = 0;
  std::int64_t c_plane_stride = 0;
  SliceFormat format = SliceFormat::kInt8;
  /// The bytes of A and B, of kInt8, are without sign: kReduce, without windows. @range k <= kBlockMaxU8
  bool has_unsigned_bytes = false;
  /// floating-point formats: elements of k that one FP32 sum holds exactly, a power of two >= 64
  std::int64_t exact_k = 0;
  float allowance = 0;  ///< kCompare: of one unit of acc; k >= 1
  int num_windows = 0;  ///< 0, or at least num_products: as many of them begin a plane
  std::array<Window, kMaxWindows> windows{};
};

/// Rates of a CUDA device beside those of an H200, to which the seconds of phases and engines are fitted.
struct RelativeRates {
  double memory = 1;
  double int8 = 1;         ///< long products of signed bytes by the vendor's library
  double fp64 = 1;         ///< instructions outside of tensor cores
  double native_fp64 = 1;  ///< products of the vendor's library, on tensor cores where there are such
  double native_fp32 = 1;
  double mma = 1;             ///< engine mma, beside what its model says of this card
  bool are_measured = false;  ///< on the card itself, by kizami calibrate
};

/// What the planner knows of the machine; filled once by exec, so that query() is pure.
struct DeviceFacts : base::DeviceLimits {  ///< of a CUDA device
  MemorySpace space = MemorySpace::kHost;
  int num_threads = 1;  ///< of the processor
  bool has_avx2 = false;
  bool has_avx512 = false;  ///< F, BW, VL, DQ
  bool has_avx512_vnni = false;
  bool has_neon = false;
  ProcessorRates processor;
  // of a CUDA device
  std::size_t memory_bytes = 0;
  RelativeRates rates;
};

/// An engine's acceptance of a ProductDesc.
struct Offer {
  std::size_t workspace_bytes = 0;  ///< scratch that run() needs, aligned to kPadBytes
  double seconds = 0;               ///< predicted, for the planner's choice only
  int threads = 1;
};
struct Refusal {
  std::string reason;
};

/// Bytes of an element of a plane.
[[nodiscard]] constexpr std::int64_t element_bytes(SliceFormat format) {
  return format == SliceFormat::kFp16 || format == SliceFormat::kBf16 ? 2 : 1;
}

struct Pointers {
  const std::int8_t* a = nullptr;  ///< of floating-point formats the first byte
  const std::int8_t* b = nullptr;
  void* c = nullptr;  ///< int32_t* for kStoreAcc, uint64_t* for kCompare, else int8_t*
  /// Device engines that read the count there: planes [0, *num_products) are made; of kCompare all, or none where it is 0.
  /// Null: all desc.num_products.
  const std::int32_t* num_products = nullptr;
  /// kCompare: [m] and [n], aligned to 16 bytes, readable up to the next even count.
  const num::RungWeight* a_weights = nullptr;
  const num::RungWeight* b_weights = nullptr;
};

/// A provider of exact low-precision products.
class Engine {
 public:
  virtual ~Engine() = default;
  [[nodiscard]] virtual std::string_view name() const noexcept = 0;
  [[nodiscard]] virtual MemorySpace space() const noexcept { return MemorySpace::kHost; }
  /// Whether run() makes as many planes as device memory says, so that a call can climb the ladder without its host.
  [[nodiscard]] virtual bool reads_num_products() const noexcept { return false; }
  /// Whether run() takes floating-point planes with k > exact_k, and adds FP32 sums up in INT32.
  [[nodiscard]] virtual bool promotes_sums() const noexcept { return false; }
  /// Whether run() takes ProductDesc::has_unsigned_bytes, and gains by it.
  [[nodiscard]] virtual bool prefers_unsigned_bytes() const noexcept { return false; }
  /// false: no offer of query() has a workspace, whatever is asked for. Planners then need not ask for each extent of a product.
  [[nodiscard]] virtual bool needs_workspace() const noexcept { return true; }
  /// Accepts or refuses with a reason. Pure: no side effects, no environment.
  [[nodiscard]] virtual std::variant<Offer, Refusal> query(const ProductDesc& desc, const DeviceFacts& facts) const = 0;
  /// Runs an accepted product. Allocates nothing, reads no environment, prints nothing.
  /// @status kOk; kInvalidArgument when the description breaks its @range.
  /// @queue  host engines block until done and ignore the queue; device engines only enqueue
  [[nodiscard]] virtual Status run(const ProductDesc& desc, const Offer& offer, const Pointers& pointers,
                                   std::byte* workspace, Queue queue = nullptr) const = 0;
};

}  // namespace kizami::product
