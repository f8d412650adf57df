// SPDX-License-Identifier: MIT
// What the soak does on the device beside the calls: elements are made, every element of every result is judged, and
// what no call may write is compared. All of it is asynchronous, in the order of a stream; counts are added to Findings
// in device memory.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <stdexcept>
#include <string>

#include "gpu_soak/case.hpp"
#include "gpu_soak/judged.hpp"

namespace gpu_soak {

class CudaError : public std::runtime_error {
 public:
  CudaError(const std::string& what, cudaError_t error)
      : std::runtime_error(what + ": " + cudaGetErrorName(error) + ", " + cudaGetErrorString(error)), error_(error) {}
  [[nodiscard]] cudaError_t error() const { return error_; }

 private:
  cudaError_t error_;
};
inline void check(cudaError_t error, const char* what) {
  if (error != cudaSuccess) throw CudaError(what, error);
}

/// Of one case. An element of C is packed as (product, j, i), 8, 28 and 28 bits.
struct Findings {
  double worst = 0;  ///< the largest error by what is allowed
  unsigned long long num_judged = 0;
  unsigned long long num_wrong = 0, first_wrong = ~0ULL;          ///< beyond the bound
  unsigned long long num_misplaced = 0, first_misplaced = ~0ULL;  ///< NaN or infinite, or not
  unsigned long long num_written = 0, first_written = ~0ULL;      ///< words outside of the results
  unsigned long long num_other_bits = 0, first_other_bits = ~0ULL;
  unsigned long long operands_before = 0, operands_after = 0;  ///< sums over A and B
  unsigned long long result = 0;                               ///< a sum over the results' bits, with their places
};

/// How a buffer is filled.
struct Filling {
  std::uint64_t seed = 0;
  Elements elements;
  std::int64_t ld = 1, offset = 0;  ///< what columns and rows are
  bool is_dominant = false;         ///< a triangle to solve with: its diagonal is beyond what stands beside it
  bool has_nan = false;             ///< every eighth part
};

/// @param num_elements from the begin of the buffer
void fill(kizami::Scalar scalar, void* buffer, std::int64_t num_elements, const Filling& filling, cudaStream_t stream);
void place(kizami::Scalar scalar, void* buffer, const Exception& exception, cudaStream_t stream);

/// Adds a sum over the words to *sum. @range bytes: a multiple of 4
void add_sum(const void* buffer, std::int64_t bytes, unsigned long long* sum, cudaStream_t stream);

/// Judges all elements, adds their bits to findings->result, and writes C0 over them: what then differs from C0 was not
/// to be written.
void judge(kizami::Scalar scalar, const Judged& judged, Findings* findings, cudaStream_t stream);

/// The words of `buffer` that are not those of `expected` are counted as written.
void expect_equal(const void* buffer, const void* expected, std::int64_t bytes, Findings* findings,
                  cudaStream_t stream);

/// X(i, j) <- C0(i, j), of one product stored in another way.
void copy_elements(kizami::Scalar scalar, const void* c0, const Matrix& c, void* x, const Matrix& of_x,
                   cudaStream_t stream);
/// Counts elements of other bits.
void expect_same_bits(kizami::Scalar scalar, const void* c, const Matrix& of_c, const void* x, const Matrix& of_x,
                      Findings* findings, cudaStream_t stream);

}  // namespace gpu_soak
