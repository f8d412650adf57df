// SPDX-License-Identifier: MIT
#include "engines/cublaslt/cublaslt.hpp"

#include <cuda_runtime_api.h>

#include <algorithm>
#include <array>
#include <mutex>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <variant>

#include "base/carver.hpp"
#include "base/fork_safe.hpp"
#include "base/int_math.hpp"
#include "base/recently_used.hpp"
#include "engines/clear_sums.hpp"
#include "engines/cublaslt/library.hpp"
#include "engines/cublaslt/residue_kernel.hpp"
#include "engines/cublaslt/seconds.hpp"
#include "engines/cublaslt/sums_kernel.hpp"
#include "engines/desc_check.hpp"

namespace kizami::engines {
namespace {

using base::round_up;
using cublaslt::kMostLines;
using cublaslt::kRowPad;
using product::DeviceFacts;
using product::Epilogue;
using product::Offer;
using product::Pointers;
using product::ProductDesc;
using product::Refusal;

constexpr std::size_t kLibraryBytes = std::size_t{32} << 20;
constexpr std::size_t kLibraryAlignment = 256;
/// C begins on a multiple of so many bytes wherever the library writes it: strides of 4 elements keep it there.
constexpr std::uint32_t kResultAlignment = 16;
constexpr Abilities kAbilities{.compares = false, .takes_windows = true, .takes_floats = true};

struct Scratch {
  std::byte* library = nullptr;
  std::int32_t* acc = nullptr;  ///< reducing epilogues
};
[[nodiscard]] Scratch carve(base::Carver& carver, const ProductDesc& d) {
  Scratch scratch;
  std::byte* const library = carver.take<std::byte>(kLibraryBytes + kLibraryAlignment);
  const auto address = reinterpret_cast<std::uintptr_t>(library);
  scratch.library = library + ((kLibraryAlignment - address % kLibraryAlignment) % kLibraryAlignment);
  if (d.epilogue != Epilogue::kStoreAcc)
    scratch.acc = carver.take<std::int32_t>(cublaslt::planes_together(d), d.n, round_up(d.m, kRowPad));
  return scratch;
}

/// One call of the library: D_l = A_l^T B_l for a batch of planes.
struct Call {
  SliceFormat format;
  std::int64_t m, n, k;
  std::int64_t lda, ldb, ldc;
  int batch;
  std::int64_t a_stride, b_stride, c_stride;

  friend bool operator<(const Call& x, const Call& y) {
    const auto key = [](const Call& c) {
      return std::tie(c.format, c.m, c.n, c.k, c.lda, c.ldb, c.ldc, c.batch, c.a_stride, c.b_stride, c.c_stride);
    };
    return key(x) < key(y);
  }
};

[[nodiscard]] Status lt_status(cublasStatus_t status, const char* what) {
  if (status == CUBLAS_STATUS_SUCCESS) return {};
  return {StatusCode::kInternal,
          "engine cublaslt: " + std::string(what) + " failed with status " + std::to_string(static_cast<int>(status))};
}

struct Descriptors {
  cublasLtMatmulDescOpaque_t operation;
  cublasLtMatrixLayoutOpaque_t a, b, c;
};

/// How the library takes and sums elements.
struct Types {
  cudaDataType_t element, sum;
  cublasComputeType_t compute;
};
[[nodiscard]] Types types_of(SliceFormat format) {
  if (format == SliceFormat::kInt8) return {CUDA_R_8I, CUDA_R_32I, CUBLAS_COMPUTE_32I};
  return {format == SliceFormat::kFp16 ? CUDA_R_16F : CUDA_R_16BF, CUDA_R_32F, CUBLAS_COMPUTE_32F};
}

Status describe(const CublasLt& lt, const Call& call, Descriptors& d) {
  const Types types = types_of(call.format);
  KIZAMI_RETURN_IF_ERROR(
      lt_status(lt.init_desc(&d.operation, sizeof d.operation, types.compute, types.sum), "describing"));
  const cublasOperation_t transposed = CUBLAS_OP_T;
  KIZAMI_RETURN_IF_ERROR(
      lt_status(lt.set_desc(&d.operation, CUBLASLT_MATMUL_DESC_TRANSA, &transposed, sizeof transposed), "describing"));
  const auto layout = [&](cublasLtMatrixLayoutOpaque_t& l, cudaDataType_t type, std::int64_t rows, std::int64_t cols,
                          std::int64_t ld, std::int64_t stride) -> Status {
    KIZAMI_RETURN_IF_ERROR(lt_status(
        lt.init_layout(&l, sizeof l, type, static_cast<std::uint64_t>(rows), static_cast<std::uint64_t>(cols), ld),
        "describing"));
    if (call.batch == 1) return {};
    KIZAMI_RETURN_IF_ERROR(
        lt_status(lt.set_layout(&l, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &call.batch, sizeof call.batch), "describing"));
    return lt_status(lt.set_layout(&l, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &stride, sizeof stride),
                     "describing");
  };
  KIZAMI_RETURN_IF_ERROR(layout(d.a, types.element, call.k, call.m, call.lda, call.a_stride));
  KIZAMI_RETURN_IF_ERROR(layout(d.b, types.element, call.k, call.n, call.ldb, call.b_stride));
  return layout(d.c, types.sum, call.m, call.n, call.ldc, call.c_stride);
}

/// Algorithms by device and call: the heuristic costs tens of microseconds.
struct Algorithms {
  std::mutex mutex;
  base::RecentlyUsed<std::pair<int, Call>, cublasLtMatmulAlgo_t, kMostAlgorithms> known;
};
constinit base::PerProcess<Algorithms> all_algorithms;

Status find_algorithm(const CublasLt& lt, cublasLtHandle_t handle, int device, const Call& call, Descriptors& d,
                      cublasLtMatmulAlgo_t& algorithm) {
  Algorithms& algorithms = all_algorithms.get();
  const std::pair key(device, call);
  const std::lock_guard lock(algorithms.mutex);
  if (const cublasLtMatmulAlgo_t* const found = algorithms.known.find(key); found != nullptr) {
    algorithm = *found;
    return {};
  }
  cublasLtMatmulPreferenceOpaque_t preference;
  KIZAMI_RETURN_IF_ERROR(lt_status(lt.init_preference(&preference, sizeof preference), "choosing an algorithm"));
  const std::size_t most = kLibraryBytes;
  KIZAMI_RETURN_IF_ERROR(
      lt_status(lt.set_preference(&preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &most, sizeof most),
                "choosing an algorithm"));
  const std::uint32_t alignment = product::kPadBytes;
  for (const auto& [attribute, bytes] :
       {std::pair(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, alignment),
        {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, alignment},
        {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, kResultAlignment},
        {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, kResultAlignment},
        // Of sums along k in parts every one is an FP32 sum of FP32 sums, or an INT32 one.
        {CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK,
         CUBLASLT_REDUCTION_SCHEME_INPLACE | CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE}}) {
    KIZAMI_RETURN_IF_ERROR(
        lt_status(lt.set_preference(&preference, attribute, &bytes, sizeof bytes), "choosing an algorithm"));
  }
  const std::uint64_t allowed = ~static_cast<std::uint64_t>(CUBLASLT_NUMERICAL_IMPL_FLAGS_ACCUMULATOR_16F);
  KIZAMI_RETURN_IF_ERROR(
      lt_status(lt.set_preference(&preference, CUBLASLT_MATMUL_PREF_IMPL_MASK, &allowed, sizeof allowed),
                "choosing an algorithm"));
  cublasLtMatmulHeuristicResult_t result;
  int count = 0;
  KIZAMI_RETURN_IF_ERROR(
      lt_status(lt.find_algorithms(handle, &d.operation, &d.a, &d.b, &d.c, &d.c, &preference, 1, &result, &count),
                "choosing an algorithm"));
  if (count == 0) return {StatusCode::kInternal, "engine cublaslt: no algorithm for this product"};
  algorithm = result.algo;
  algorithms.known.insert(key, algorithm);
  return {};
}

/// C = A^T B, or C += A^T B. @range c: FP32 sums where the elements are floating-point numbers
Status multiply(const Call& call, const std::int8_t* a, const std::int8_t* b, std::int32_t* c, bool adds,
                std::byte* workspace, product::Queue queue) {
  int device = 0;
  if (const cudaError_t error = cudaGetDevice(&device); error != cudaSuccess)
    return {StatusCode::kInternal, std::string("cudaGetDevice: ") + cudaGetErrorString(error)};
  const Result<cublasLtHandle_t> handle = cublaslt_handle(device);
  if (!handle.ok()) return handle.status();
  const CublasLt& lt = *cublaslt_library();
  Descriptors d;
  KIZAMI_RETURN_IF_ERROR(describe(lt, call, d));
  cublasLtMatmulAlgo_t algorithm;
  KIZAMI_RETURN_IF_ERROR(find_algorithm(lt, handle.value(), device, call, d, algorithm));
  const std::int32_t int_one = 1;
  const float float_one = 1;
  const std::int32_t zero = 0;  // of either type
  const void* const one = call.format == SliceFormat::kInt8 ? static_cast<const void*>(&int_one) : &float_one;
  const void* const beta = adds ? one : &zero;
  return lt_status(lt.matmul(handle.value(), &d.operation, one, a, &d.a, b, &d.b, beta, c, &d.c, c, &d.c, &algorithm,
                             workspace, kLibraryBytes, queue),
                   "cublasLtMatmul");
}

[[nodiscard]] std::optional<std::string> why_library_refuses(const ProductDesc& d) {
  if (d.format == SliceFormat::kE4m3 || d.format == SliceFormat::kE5m2) {
    return "format = " + std::string(to_string(d.format)) +
           ", must be int8, fp16 or bf16 for this engine: the library multiplies no e5m2 by e5m2, and sums more "
           "products of "
           "e4m3 at a time than are exact";
  }
  if (d.epilogue != Epilogue::kStoreAcc) return std::nullopt;
  if (d.c_col_stride % 4 != 0 || d.c_col_stride < round_up(d.m, kRowPad))
    return detail::wrong("c_col_stride", d.c_col_stride,
                         "a multiple of 4 and at least round_up(m, 16) for INT32 results");
  if (d.num_products > 1 && d.c_plane_stride % 4 != 0)
    return detail::wrong("c_plane_stride", d.c_plane_stride, "a multiple of 4 for INT32 results");
  return std::nullopt;
}

class CublasLtEngine final : public product::Engine {
 public:
  [[nodiscard]] std::string_view name() const noexcept override { return "cublaslt"; }
  [[nodiscard]] product::MemorySpace space() const noexcept override { return product::MemorySpace::kDevice; }

  [[nodiscard]] std::variant<Offer, Refusal> query(const ProductDesc& d, const DeviceFacts& facts) const override {
    if (facts.space != product::MemorySpace::kDevice) return Refusal{"works on a CUDA device"};
    if (facts.compute_capability < 75)
      return Refusal{"compute capability " + std::to_string(facts.compute_capability) + ", needs 75 for INT8"};
    if (auto reason = why_refused(d, kAbilities)) return Refusal{*reason};
    if (auto reason = why_library_refuses(d)) return Refusal{*reason};
    if (d.format != SliceFormat::kInt8 && facts.compute_capability != 90) {
      return Refusal{"compute capability " + std::to_string(facts.compute_capability) +
                     ", needs 90 for floating-point planes: of no other is it recorded how it adds"};
    }
    if (const auto handle = cublaslt_handle(facts.device); !handle.ok()) return Refusal{handle.status().reason()};
    base::Carver counter;
    static_cast<void>(carve(counter, d));
    return Offer{.workspace_bytes = counter.bytes(), .seconds = cublaslt::seconds(d, facts.rates), .threads = 1};
  }

  [[nodiscard]] Status run(const ProductDesc& d, const Offer& offer, const Pointers& pointers, std::byte* workspace,
                           product::Queue queue) const override {
    if (auto reason = why_refused(d, kAbilities)) return {StatusCode::kInvalidArgument, *reason};
    if (auto reason = why_library_refuses(d)) return {StatusCode::kInvalidArgument, *reason};
    if (auto reason = why_refused(d, pointers)) return {StatusCode::kInvalidArgument, *reason};
    base::Carver counter;
    static_cast<void>(carve(counter, d));
    if (offer.workspace_bytes < counter.bytes() || workspace == nullptr)
      return {StatusCode::kInvalidArgument, "workspace is null or smaller than offered"};
    if (d.m == 0 || d.n == 0 || d.num_products == 0) return {};
    if (d.epilogue == Epilogue::kStoreAcc && reinterpret_cast<std::uintptr_t>(pointers.c) % kResultAlignment != 0)
      return {StatusCode::kInvalidArgument, "c is not aligned to 16 bytes, for INT32 results"};
    if (d.k == 0) return clear_sums(d, pointers.c, queue);
    base::Carver carver(workspace);
    const Scratch scratch = carve(carver, d);
    const bool stores_acc = d.epilogue == Epilogue::kStoreAcc;
    if (d.num_windows > 0) return multiply_windows(d, pointers, scratch, queue);
    const std::int64_t acc_col_stride = stores_acc ? d.c_col_stride : round_up(d.m, kRowPad);
    const std::int64_t acc_plane_stride = stores_acc ? d.c_plane_stride : acc_col_stride * d.n;
    const int together = cublaslt::planes_together(d);
    for (int first = 0; first < d.num_products; first += together) {
      const int count = std::min(together, d.num_products - first);
      std::int32_t* const acc =
          stores_acc ? static_cast<std::int32_t*>(pointers.c) + first * d.c_plane_stride : scratch.acc;
      for (std::int64_t j = 0; j < d.n; j += kMostLines) {
        for (std::int64_t i = 0; i < d.m; i += kMostLines) {
          const Call call{SliceFormat::kInt8,
                          round_up(std::min(kMostLines, d.m - i), kRowPad),
                          std::min(kMostLines, d.n - j),
                          round_up(d.k, product::kPadBytes),
                          d.a_row_stride,
                          d.b_row_stride,
                          acc_col_stride,
                          count,
                          d.a_plane_stride,
                          d.b_plane_stride,
                          acc_plane_stride};
          KIZAMI_RETURN_IF_ERROR(multiply(call, pointers.a + first * d.a_plane_stride + i * d.a_row_stride,
                                          pointers.b + first * d.b_plane_stride + j * d.b_row_stride,
                                          acc + j * acc_col_stride + i, false, scratch.library, queue));
        }
      }
      if (stores_acc) continue;
      KIZAMI_RETURN_IF_ERROR(reduce_accumulators(d, acc, acc_col_stride, acc_plane_stride, first, count,
                                                 static_cast<std::int8_t*>(pointers.c), queue));
    }
    return {};
  }

 private:
  /// Window by window: each has its own k, and those of a plane are added up by beta = 1.
  [[nodiscard]] static Status multiply_windows(const ProductDesc& d, const Pointers& pointers, const Scratch& scratch,
                                               product::Queue queue) {
    const std::int64_t size = product::element_bytes(d.format);
    std::int32_t* c = static_cast<std::int32_t*>(pointers.c) - d.c_plane_stride;
    for (int l = 0; l < d.num_windows; ++l) {
      const product::Window& w = d.windows[static_cast<std::size_t>(l)];
      if (!w.is_added) c += d.c_plane_stride;
      const std::int8_t* const a = pointers.a + (w.a_plane * d.a_plane_stride + w.a_first) * size;
      const std::int8_t* const b = pointers.b + (w.b_plane * d.b_plane_stride + w.b_first) * size;
      const Call call{d.format,
                      round_up(d.m, kRowPad),
                      d.n,
                      round_up(w.k, product::kPadBytes),
                      d.a_row_stride,
                      d.b_row_stride,
                      d.c_col_stride,
                      1,
                      0,
                      0,
                      0};
      KIZAMI_RETURN_IF_ERROR(multiply(call, a, b, c, w.is_added, scratch.library, queue));
    }
    return d.format == SliceFormat::kInt8 ? Status() : sums_to_int32(d, pointers.c, queue);
  }
};

}  // namespace

const product::Engine& cublaslt_engine() {
  static constinit base::MadeOnce<CublasLtEngine> engine;
  return engine.get();
}

std::size_t num_known_algorithms() {
  Algorithms& algorithms = all_algorithms.get();
  const std::lock_guard lock(algorithms.mutex);
  return algorithms.known.size();
}

Status prepare_cublaslt(int device) {
  const Result<cublasLtHandle_t> handle = cublaslt_handle(device);
  return handle.status();
}

}  // namespace kizami::engines
