// SPDX-License-Identifier: MIT
// Sums of all elements of C by tiles of 32 x 32, in the arithmetic of reference.hpp, and their judgement.
#include <cuda_runtime.h>

#include "gpu_soak/device.hpp"

namespace gpu_soak {
namespace {

constexpr int kTile = 32;   ///< rows and columns of C of a block
constexpr int kDepth = 16;  ///< of l at a time
constexpr int kSide = 16;   ///< threads; each has 2 x 2 elements
constexpr int kThreads = kSide * kSide;
constexpr int kPitch = kTile + 1;

template <bool kIsComplex>
struct Panel {
  double re[kDepth][kPitch];
  double im[kIsComplex ? kDepth : 1][kPitch];

  __device__ Number at(int l, int i) const {
    if constexpr (kIsComplex) return {re[l][i], im[l][i]};
    return {re[l][i], 0};
  }
};

template <class R, bool kIsComplex>
__device__ const R* first_of(const Operand& x, int product, int num_products) {
  const std::int64_t start = x.offset + x.stride * ((product + x.rotation) % num_products);
  return static_cast<const R*>(x.data) + start * (kIsComplex ? 2 : 1);
}

/// op(X)(i0 + i, l0 + l), or with is_right op(X)(l0 + l, i0 + i); zeros beyond the end.
template <class R, bool kIsComplex, bool kIsRight>
__device__ void load(Panel<kIsComplex>& panel, const Operand& x, const R* first, std::int64_t i0, std::int64_t num_i,
                     std::int64_t l0, std::int64_t num_l) {
  const bool is_i_contiguous = x.is_transposed == kIsRight;
  for (int t = static_cast<int>(threadIdx.x); t < kTile * kDepth; t += kThreads) {
    const int i = is_i_contiguous ? t % kTile : t / kDepth;
    const int l = is_i_contiguous ? t / kTile : t % kDepth;
    Number value{0, 0};
    if (i0 + i < num_i && l0 + l < num_l) {
      value = kIsRight ? element_of<R, kIsComplex>(x, first, l0 + l, i0 + i)
                       : element_of<R, kIsComplex>(x, first, i0 + i, l0 + l);
    }
    panel.re[l][i] = value.re;
    if constexpr (kIsComplex) panel.im[l][i] = value.im;
  }
}

__device__ unsigned long long mixed(unsigned long long x) {
  x ^= x >> 33;
  x *= 0xff51afd7ed558ccdULL;
  x ^= x >> 33;
  x *= 0xc4ceb9fe1a85ec53ULL;
  return x ^ (x >> 33);
}

__device__ unsigned long long packed(int product, std::int64_t i, std::int64_t j) {
  return static_cast<unsigned long long>(product) << 56 | static_cast<unsigned long long>(j) << 28 |
         static_cast<unsigned long long>(i);
}

/// What a thread has found, added up by its warp.
class Tally {
 public:
  __device__ void add(const Verdict& verdict, unsigned long long place, unsigned long long bits, Findings* findings) {
    ++num_judged_;
    result_ += bits;
    if (verdict.is_misplaced) {
      atomicAdd(&findings->num_misplaced, 1ULL);
      atomicMin(&findings->first_misplaced, place);
    } else if (!(verdict.ratio <= 1)) {
      atomicAdd(&findings->num_wrong, 1ULL);
      atomicMin(&findings->first_wrong, place);
    }
    const double ratio = verdict.ratio == verdict.ratio ? verdict.ratio : 1e300;
    worst_ = ratio > worst_ ? ratio : worst_;
  }
  /// By whole warps.
  __device__ void give(Findings* findings) {
    for (int step = 16; step > 0; step /= 2) {
      const double other = __shfl_down_sync(~0U, worst_, step);
      worst_ = other > worst_ ? other : worst_;
      num_judged_ += __shfl_down_sync(~0U, num_judged_, step);
      result_ += __shfl_down_sync(~0U, result_, step);
    }
    if (threadIdx.x % 32 != 0) return;
    // Not negative: their bits are in their order.
    atomicMax(reinterpret_cast<unsigned long long*>(&findings->worst),
              static_cast<unsigned long long>(__double_as_longlong(worst_)));
    atomicAdd(&findings->num_judged, num_judged_);
    atomicAdd(&findings->result, result_);
  }

 private:
  double worst_ = 0;
  unsigned long long num_judged_ = 0, result_ = 0;
};

/// One element: its verdict, and C0 in its place.
template <class R, bool kIsComplex>
__device__ void finish(const Judged& x, const Accumulator<R, kIsComplex>& sum, std::int64_t i, std::int64_t j,
                       int product, Tally& tally, Findings* findings) {
  if (i >= x.m || j >= x.n) return;
  if (x.written == Triangle::kLower ? i < j : x.written == Triangle::kUpper && i > j) return;
  constexpr int kParts = kIsComplex ? 2 : 1;
  const std::int64_t start = x.c.offset + x.c.stride * ((product + x.c.rotation) % x.num_products);
  const std::int64_t at = (start + i + j * x.c.ld) * kParts;
  R* const c = static_cast<R*>(const_cast<void*>(x.c.data)) + at;
  const R* const before = static_cast<const R*>(x.c0) + at;
  Number value{static_cast<double>(c[0]), kIsComplex ? static_cast<double>(c[kParts - 1]) : 0};
  Number c0{static_cast<double>(before[0]), kIsComplex ? static_cast<double>(before[kParts - 1]) : 0};
  Verdict verdict;
  if (x.is_residual) {
    verdict = judge_residual<R, kIsComplex>(sum, x.factors.alpha, c0, x.allowed);
  } else {
    const bool is_real = x.has_real_diagonal && i == j;
    if (is_real) c0.im = 0;
    verdict = judge_element<R, kIsComplex>(sum, x.factors, c0, value, x.allowed);
    verdict.is_misplaced |= is_real && is_finite(value) && value.im != 0;
  }
  const unsigned long long place = packed(product, i, j);
  const auto bits = static_cast<unsigned long long>(__double_as_longlong(value.re)) * 3 +
                    static_cast<unsigned long long>(__double_as_longlong(value.im));
  tally.add(verdict, place, mixed(bits ^ mixed(place)), findings);
  for (int part = 0; part < kParts; ++part) c[part] = before[part];
}

template <class R, bool kIsComplex>
__global__ void __launch_bounds__(kThreads) judge_tile(const Judged x, Findings* findings) {
  const std::int64_t i0 = static_cast<std::int64_t>(blockIdx.x) * kTile;
  const std::int64_t j0 = static_cast<std::int64_t>(blockIdx.y) * kTile;
  const int product = static_cast<int>(blockIdx.z);
  if (x.written == Triangle::kLower ? i0 + kTile <= j0 : x.written == Triangle::kUpper && j0 + kTile <= i0) return;
  __shared__ Panel<kIsComplex> left, right;
  const int row = static_cast<int>(threadIdx.x) % kSide;
  const int col = static_cast<int>(threadIdx.x) / kSide;
  Accumulator<R, kIsComplex> sums[2][2];
  for (int t = 0; t < x.num_terms; ++t) {
    const Judged::Term& term = x.terms[t];
    const R* const first_left = first_of<R, kIsComplex>(term.left, product, x.num_products);
    const R* const first_right = first_of<R, kIsComplex>(term.right, product, x.num_products);
    for (std::int64_t l0 = 0; l0 < x.k; l0 += kDepth) {
      load<R, kIsComplex, false>(left, term.left, first_left, i0, x.m, l0, x.k);
      load<R, kIsComplex, true>(right, term.right, first_right, j0, x.n, l0, x.k);
      __syncthreads();
      const int depth = x.k - l0 < kDepth ? static_cast<int>(x.k - l0) : kDepth;
      for (int l = 0; l < depth; ++l) {
        const Number a[2]{left.at(l, row), left.at(l, row + kSide)};
        const Number b[2]{right.at(l, col), right.at(l, col + kSide)};
        for (int i = 0; i < 2; ++i) {
          for (int j = 0; j < 2; ++j) sums[i][j].add(a[i], b[j]);
        }
      }
      __syncthreads();
    }
  }
  Tally tally;
  for (int i = 0; i < 2; ++i) {
    for (int j = 0; j < 2; ++j) {
      finish<R, kIsComplex>(x, sums[i][j], i0 + row + i * kSide, j0 + col + j * kSide, product, tally, findings);
    }
  }
  tally.give(findings);
}

unsigned tiles(std::int64_t size) { return static_cast<unsigned>((size + kTile - 1) / kTile); }

}  // namespace

void judge(kizami::Scalar scalar, const Judged& judged, Findings* findings, cudaStream_t stream) {
  if (judged.m == 0 || judged.n == 0) return;
  const dim3 grid(tiles(judged.m), tiles(judged.n), static_cast<unsigned>(judged.num_products));
  switch (scalar) {
    case kizami::Scalar::kF32:
      judge_tile<float, false><<<grid, kThreads, 0, stream>>>(judged, findings);
      break;
    case kizami::Scalar::kF64:
      judge_tile<double, false><<<grid, kThreads, 0, stream>>>(judged, findings);
      break;
    case kizami::Scalar::kC64:
      judge_tile<float, true><<<grid, kThreads, 0, stream>>>(judged, findings);
      break;
    default:
      judge_tile<double, true><<<grid, kThreads, 0, stream>>>(judged, findings);
      break;
  }
  check(cudaGetLastError(), "launch of the judge");
}

}  // namespace gpu_soak
