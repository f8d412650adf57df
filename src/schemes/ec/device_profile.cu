// SPDX-License-Identifier: MIT
// A warp takes a line: it counts hi in bins of its own in shared memory, from which it makes the line's profile, a
// binade a lane. Profiles meet as maxima of words, for numbers that are not negative have the order of their bits.
#include "schemes/ec/device_profile.hpp"

#include <algorithm>
#include <complex>

#include "base/int_math.hpp"
#include "base/overlapped_launch.hpp"

namespace kizami::ec {
namespace {

using base::ceil_div;
using product::EcFormat;

constexpr int kWarps = 8;
constexpr int kThreads = 32 * kWarps;
constexpr int kCtasPerSm = 4;     ///< 32 warps with 64 bytes a lane under way; unmeasured
constexpr int kHeld = 4;          ///< pieces of 16 bytes that a lane asks for at a time
constexpr int kBlocksAtOnce = 8;  ///< whose hi a warp reads with 16 bytes a lane
constexpr unsigned kWholeWarp = 0xFFFFFFFFU;
constexpr int kWords = 1 + num::kEcLevels;  ///< of a profile
static_assert(sizeof(num::EcProfile) == kWords * sizeof(float));

/// Of a complex operand with two forms a line the first: both have the same magnitudes.
struct Side {
  const std::int8_t* planes;
  std::int64_t row_stride;
  std::int64_t num_lines;
  std::int32_t num_blocks;  ///< of 128 bytes, in a line
  std::uint32_t length;     ///< terms of a line
};

template <class T>
struct Job {
  Side a;
  Side b;
  EcProfileTask task;
  Factor<T> alpha;
};

using Counts = std::uint32_t[num::kEcBins];

/// Lanes with the same bin are one addition (ATOMS.POPC.INC).
__device__ void count(std::uint32_t hi_bits, Counts& counts) { atomicAdd(&counts[num::ec_bin(hi_bits)], 1U); }

/// Counts line i, of which lane l has 16 bytes l % 4 of the hi of block l / 4 and every eighth from there. Bin 0 gets
/// what is beyond the line's end as well: nobody reads it, for the length tells how many are there.
__device__ void count_line(const Side& side, std::int64_t i, int lane, Counts& counts) {
  const std::int8_t* const row = side.planes + i * side.row_stride + lane % 4 * 16;
#pragma unroll 1
  for (int block = lane / 4; block < side.num_blocks; block += kHeld * kBlocksAtOnce) {
    uint4 held[kHeld];
#pragma unroll
    for (int h = 0; h < kHeld; ++h) {
      const std::int64_t at = block + h * kBlocksAtOnce;
      held[h] = make_uint4(0, 0, 0, 0);
      if (at < side.num_blocks) held[h] = *reinterpret_cast<const uint4*>(row + at * product::kEcBlockBytes);
    }
#pragma unroll
    for (int h = 0; h < kHeld; ++h) {
      for (const std::uint32_t pair : {held[h].x, held[h].y, held[h].z, held[h].w}) {
        count(pair, counts);
        count(pair >> 16, counts);
      }
    }
  }
}

/// num::ec_profile() of the counts, merged into words in shared memory; clears the counts. Lane l has the four bins of
/// the binade l places below the highest.
__device__ void merge_profile(std::uint32_t length, int lane, Counts& counts, std::uint32_t (&words)[kWords]) {
  const int first = num::kEcBins - 4 * (lane + 1);
  auto* const place = reinterpret_cast<uint4*>(&counts[first]);
  uint4 four = *place;
  *place = make_uint4(0, 0, 0, 0);
  if (lane == 31) four.x = 0;
  std::uint32_t in_bins[4] = {four.x, four.y, four.z, four.w};
  const std::uint32_t own = four.x + four.y + four.z + four.w;
  std::uint32_t above = own;
  for (int step = 1; step < 32; step *= 2) {
    const std::uint32_t of_others = __shfl_up_sync(kWholeWarp, above, static_cast<unsigned>(step));
    if (lane >= step) above += of_others;
  }
  const std::uint32_t num_counted = __shfl_sync(kWholeWarp, above, 31);
  if (num_counted == 0) return;  // zeros, which a line with NaN or Inf is in its planes
  above -= own;
  unsigned long long sum = 0;
#pragma unroll
  for (int b = 0; b < 4; ++b) {
    sum += static_cast<unsigned long long>(in_bins[b]) * num::ec_bin_edge(first + b + 1);
  }
  for (int step = 1; step < 32; step *= 2) sum += __shfl_xor_sync(kWholeWarp, sum, step);
  sum += length - num_counted;
  if (lane == 31) in_bins[0] = length - num_counted;
  const float mean = static_cast<float>(sum) / static_cast<float>(length);
  const float inverse_mean = static_cast<float>(length) / static_cast<float>(sum);
  if (lane == 0) atomicMax(&words[0], __float_as_uint(inverse_mean));
  std::uint32_t reached = num::ec_levels_reached(above, length);
#pragma unroll
  for (int b = 3; b >= 0; --b) {
    above += in_bins[b];
    const std::uint32_t next = num::ec_levels_reached(above, length);
    if (reached == next) continue;
    const float ratio = mean / static_cast<float>(num::ec_bin_edge(first + b));
    for (; reached < next; ++reached) atomicMax(&words[1 + reached], __float_as_uint(ratio));
  }
}

/// Whether the flags of the first split let FP16 answer. By all threads of a block.
__device__ bool holds_by_flags(const EcProfileTask& task) {
  std::uint32_t flags = 0;
  for (int r = static_cast<int>(threadIdx.x); r < task.num_reports; r += kThreads) flags |= task.reports[r].flags();
  flags |= flags >> 4;  // of a or b
  const auto in_any = [&](num::EcLineFlag flag) -> std::uint32_t {
    return __syncthreads_or((flags & flag) != 0 ? 1 : 0) != 0 ? flag : 0U;
  };
  const std::uint32_t not_fine = in_any(num::kEcNotFine);
  const std::uint32_t not_dense = in_any(num::kEcNotDense);
  return num::ec_f16_holds(not_fine | not_dense, 0);
}

template <class T>
__global__ void __launch_bounds__(kThreads, kCtasPerSm) profile_ec_smxx(const __grid_constant__ Job<T> job) {
  __shared__ alignas(16) std::uint32_t counts[kWarps][num::kEcBins];
  __shared__ std::uint32_t words[2][kWords];
  __shared__ bool is_last;
  base::follow_previous_kernel();
  if (job.alpha.load() == T{0} || holds_by_flags(job.task)) return;
  const int thread = static_cast<int>(threadIdx.x);
  const int warp = thread / 32;
  const int lane = thread % 32;
  reinterpret_cast<uint4*>(counts[warp])[lane] = make_uint4(0, 0, 0, 0);
  const bool has_word = thread < 2 * kWords;
  std::uint32_t& word = words[has_word ? thread / kWords : 0][thread % kWords];
  if (has_word) word = 0;
  __syncthreads();
  const std::int64_t num_lines = job.a.num_lines + job.b.num_lines;
#pragma unroll 1
  for (std::int64_t i = std::int64_t{blockIdx.x} * kWarps + warp; i < num_lines;
       i += std::int64_t{gridDim.x} * kWarps) {
    const bool is_a = i < job.a.num_lines;
    const Side& side = is_a ? job.a : job.b;
    count_line(side, is_a ? i : i - job.a.num_lines, lane, counts[warp]);
    __syncwarp();
    merge_profile(side.length, lane, counts[warp], words[is_a ? 0 : 1]);
    __syncwarp();  // the counts are cleared
  }
  __syncthreads();

  // The block that comes last has the maxima of all.
  num::EcProfiles& profiles = *job.task.profiles;
  auto* const merged = reinterpret_cast<std::uint32_t*>(thread < kWords ? &profiles.a : &profiles.b) + thread % kWords;
  if (has_word) atomicMax(merged, word);
  __threadfence();
  __syncthreads();
  if (thread == 0) is_last = atomicAdd(&profiles.num_done, 1U) == gridDim.x - 1;
  __syncthreads();
  if (!is_last) return;
  __threadfence();
  if (has_word) word = __ldcg(merged);
  __syncthreads();
  if (thread != 0) return;
  const bool holds = num::ec_profiles_hold(reinterpret_cast<const num::EcProfile&>(words[0]),
                                           reinterpret_cast<const num::EcProfile&>(words[1]), job.task.limit);
  profiles.holds = holds ? 1 : 0;
}

template <class T>
Side side_of(const DeviceEcSplit<T>& operand, bool is_a) {
  const std::int64_t forms = kIsComplex<T> && is_a ? 2 : 1;
  const std::int64_t length = operand.lines.num_terms();
  return {operand.planes, forms * operand.row_stride, operand.lines.num_lines,
          static_cast<std::int32_t>(ceil_div(length, product::ec_block_length(EcFormat::kF16))),
          static_cast<std::uint32_t>(length)};
}

}  // namespace

template <class T>
Status device_ec_profile(const EcProfileTask& task, const DeviceEcSplit<T>& a, const DeviceEcSplit<T>& b,
                         Factor<T> alpha, int num_sms, product::Queue queue) {
  const Job<T> job{side_of(a, true), side_of(b, false), task, alpha};
  const std::int64_t blocks = ceil_div(job.a.num_lines + job.b.num_lines, std::int64_t{kWarps});
  const auto ctas = static_cast<unsigned>(std::min<std::int64_t>(blocks, std::int64_t{num_sms} * kCtasPerSm));
  return base::launch_overlapped("profiles of FP32 lines", profile_ec_smxx<T>, dim3(ctas), dim3(kThreads), 0, queue,
                                 job);
}

template Status device_ec_profile<float>(const EcProfileTask&, const DeviceEcSplit<float>&, const DeviceEcSplit<float>&,
                                         Factor<float>, int, product::Queue);
template Status device_ec_profile<std::complex<float>>(const EcProfileTask&, const DeviceEcSplit<std::complex<float>>&,
                                                       const DeviceEcSplit<std::complex<float>>&,
                                                       Factor<std::complex<float>>, int, product::Queue);

}  // namespace kizami::ec
