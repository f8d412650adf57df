// SPDX-License-Identifier: MIT
// The CRT on the device against the CPU's, bit for bit: every count of moduli, in the kernel that it gets alone and in
// those of longer ladders, in pieces and in limbs; integers at the ends of the range, at ties of the rounding, and any residues at all. The
// kernel of bytes with shapes of all kinds, whose columns are claimed launch after launch.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <limits>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "gpu/device_memory.hpp"
#include "schemes/ozaki2/crt.hpp"
#include "schemes/ozaki2/device_crt.hpp"
#include "tests/schemes/ozaki2/crt_cases.hpp"

namespace kizami::ozaki2 {
namespace {

using gpu_test::DeviceArray;

constexpr std::int64_t kRows = 203;
constexpr std::int64_t kCols = 21;
constexpr std::int64_t kColStride = 256;
constexpr std::int64_t kPlaneStride = kColStride * kCols;

/// alpha and beta: a product, an update, what only scales, numbers, and some at which products overflow.
template <class T>
[[nodiscard]] std::vector<std::pair<T, T>> factors_of() {
  std::vector<std::pair<T, T>> factors{{T(1), T(0)},
                                       {T(-1), T(1)},
                                       {T(-1.75), T(0)},
                                       {T(-1.75), T(0.3)},
                                       {T(std::numeric_limits<RealOf<T>>::max()), T(-2)}};
  if constexpr (kIsComplex<T>) factors.push_back({T(0.5, -1.5), T(-2, 0.25)});
  return factors;
}

/// Numbers of C, one of eight of which no fast path may take.
template <class R>
[[nodiscard]] R drawn_of_c(std::mt19937_64& rng) {
  using Limits = std::numeric_limits<R>;
  constexpr R kSpecial[] = {R(0),          -R(0),          Limits::min(),      Limits::denorm_min(),
                            Limits::max(), -Limits::max(), Limits::infinity(), Limits::max() / 4};
  if (rng() % 8 == 0) return kSpecial[rng() % std::size(kSpecial)];
  return static_cast<R>(static_cast<double>(rng() >> 11) * 0x1p-53 - 0.5);
}

/// Whether two numbers have the same bits, part by part; any NaN is as any other.
template <class T>
[[nodiscard]] bool is_same(const T& x, const T& y) {
  if constexpr (kIsComplex<T>) {
    return is_same(x.real(), y.real()) && is_same(x.imag(), y.imag());
  } else {
    return std::memcmp(&x, &y, sizeof(T)) == 0 || (std::isnan(x) && std::isnan(y));
  }
}

template <class T>
class DeviceCrt : public gpu_test::DeviceTest {};
using Types = testing::Types<float, double, std::complex<float>, std::complex<double>>;
TYPED_TEST_SUITE(DeviceCrt, Types);

TYPED_TEST(DeviceCrt, HasTheBitsOfTheCpu) {
  using T = TypeParam;
  const num::Ring ring = kIsComplex<T> ? num::Ring::kComplex : num::Ring::kReal;
  std::mt19937_64 rng(20);
  const DeviceArray<DeviceCrtTable> tables(make_device_crt_tables(ring));
  for (int count = num::kMinModuli; count <= num::max_moduli(ring); ++count) {
    const std::vector<std::int8_t> planes = tests::make_crt_planes(rng, ring, count, {kRows, kCols, kColStride});
    const DeviceArray<std::int8_t> device_planes(planes);
    const int middle = num::bit_width(num::crt_table(ring, count).half_wide) / 2;
    for (const int range : {0, 20, 600}) {  // all elements plain; FP32 overflows; so does FP64
      const auto scales = [&](std::int64_t lines) {
        std::vector<std::int32_t> scale(static_cast<std::size_t>(lines));
        for (std::int32_t& s : scale) {
          s = middle + static_cast<std::int32_t>(rng() % static_cast<unsigned>(2 * range + 1)) - range;
          if (range != 0 && rng() % 16 == 0) s = num::kSkipLine;
        }
        return scale;
      };
      const std::vector<std::int32_t> row_scale = scales(kRows);
      const std::vector<std::int32_t> col_scale = scales(kCols);
      const DeviceArray<std::int32_t> device_row_scale(row_scale);
      const DeviceArray<std::int32_t> device_col_scale(col_scale);
      for (const auto& [alpha, beta] : factors_of<T>()) {
        std::vector<T> expected(static_cast<std::size_t>(kRows * kCols));
        for (T& c : expected) c = T(drawn_of_c<RealOf<T>>(rng));
        const std::vector<T> before = expected;
        reconstruct_crt<T>({planes.data(), count, kColStride, kPlaneStride}, row_scale.data(), col_scale.data(), alpha,
                           beta, 1, {expected.data(), kRows, kCols, 1, kRows});
        // The kernels for ladders that end here, at 27 moduli, and at all of them; those of small and of large C.
        for (const int which : {0, 1, 2, 3, 4, 5, 6, 7, 8}) {
          const int most = which % 3 == 0 ? count : which % 3 == 1 ? 27 : num::max_moduli(ring);
          if (most < count || most > num::max_moduli(ring)) continue;
          DeviceArray<T> fresh(before);
          DeviceReconstruction<T> task;
          task.planes = {device_planes.data(), count, kColStride, kPlaneStride};
          task.tables = tables.data();
          task.row_scale = device_row_scale.data();
          task.col_scale = device_col_scale.data();
          task.ladder.num_rungs = most == count ? 1 : 2;
          task.ladder.rungs[0].num_moduli = count;
          if (most != count) task.ladder.rungs[1].num_moduli = most;
          device::DeviceState state;
          state.selection.rung = 0;
          const DeviceArray<device::DeviceState> device_state(std::vector<device::DeviceState>{state});
          task.state = device_state.data();
          if (which / 3 == 1) task.least_for_bytes = 0;  // as of a large C
          task.by_limbs = which / 3 == 2;
          task.alpha = Factor<T>(alpha);
          task.beta = Factor<T>(beta);
          task.c = {fresh.data(), kRows, kCols, 1, kRows};
          ASSERT_TRUE(reconstruct_device<T>(task, 4, nullptr).ok());
          const std::vector<T> found = fresh.download();
          for (std::size_t at = 0; at < found.size(); ++at) {
            ASSERT_TRUE(is_same(found[at], expected[at]))
                << count << " moduli, most " << most << ", "
                << (task.by_limbs ? "limbs"
                    : which >= 3  ? "bytes"
                                  : "numbers")
                << ", scales of +-" << range << ", alpha " << alpha << ", beta " << beta << ", was " << before[at]
                << ", element " << at << ": " << found[at] << ", must be " << expected[at];
          }
          ASSERT_TRUE(fresh.guards_are_intact());
        }
      }
    }
  }
}

/// The rungs that reconstruct_by_bytes() has; the first of each number of pieces, and all of five pieces.
[[nodiscard]] std::vector<int> counts_of_bytes(bool is_complex) {
  std::vector<int> counts;
  if (is_complex) counts = {num::kMinModuli, most_piece_moduli(true, 2)};
  for (int pieces = is_complex ? 3 : 4; pieces < kDevicePieces; ++pieces)
    counts.push_back(most_piece_moduli(is_complex, pieces - 1) + 1);
  for (int count = most_piece_moduli(is_complex, kDevicePieces - 1);
       count <= most_piece_moduli(is_complex, kDevicePieces); ++count) {
    counts.push_back(count);
  }
  return counts;
}

TYPED_TEST(DeviceCrt, ClaimsEveryColumnOnceInEveryLaunch) {
  using T = TypeParam;
  struct Shape {
    std::int64_t rows;
    std::int64_t cols;
  };
  const num::Ring ring = kIsComplex<T> ? num::Ring::kComplex : num::Ring::kReal;
  std::mt19937_64 rng(21);
  const DeviceArray<DeviceCrtTable> tables(make_device_crt_tables(ring));
  for (const Shape shape : {Shape{1, 1}, {3, 130}, {17, 300}, {128, 66}, {129, 65}, {260, 33}, {1100, 19}}) {
    const std::int64_t col_stride = (shape.rows + 15) / 16 * 16;
    const std::int64_t plane_stride = col_stride * shape.cols;
    const auto size = static_cast<std::size_t>(shape.rows * shape.cols);
    for (const int count : counts_of_bytes(kIsComplex<T>)) {
      const std::vector<std::int8_t> planes =
          tests::make_crt_planes(rng, ring, count, {shape.rows, shape.cols, col_stride});
      const DeviceArray<std::int8_t> device_planes(planes);
      const int middle = num::bit_width(num::crt_table(ring, count).half_wide) / 2;
      const auto scales = [&](std::int64_t lines) {
        std::vector<std::int32_t> scale(static_cast<std::size_t>(lines));
        for (std::int32_t& s : scale)
          s = rng() % 32 == 0 ? num::kSkipLine : middle + static_cast<std::int32_t>(rng() % 9) - 4;
        return scale;
      };
      const std::vector<std::int32_t> row_scale = scales(shape.rows);
      const std::vector<std::int32_t> col_scale = scales(shape.cols);
      const DeviceArray<std::int32_t> device_row_scale(row_scale);
      const DeviceArray<std::int32_t> device_col_scale(col_scale);
      // A block of a larger C, some of whose elements are answered by others.
      constexpr std::int64_t kFirstRow = 44;
      constexpr std::int64_t kFirstCol = 2;
      const std::int64_t bits_stride = (kFirstRow + shape.rows + 31) / 32;
      std::vector<std::uint32_t> bits(static_cast<std::size_t>(bits_stride * (kFirstCol + shape.cols)));
      for (std::uint32_t& word : bits)
        word = rng() % 4 == 0 ? 0 : static_cast<std::uint32_t>(rng()) & static_cast<std::uint32_t>(rng());
      const DeviceArray<std::uint32_t> device_bits(bits);
      for (const bool has_repairs : {false, true}) {
        for (const bool is_product : {true, false}) {
          const T alpha = is_product ? T(1) : T(-1.75);
          const T beta = is_product ? T(0) : T(0.3);
          std::vector<T> before(size);
          for (T& c : before) c = T(static_cast<RealOf<T>>(static_cast<double>(rng() >> 11) * 0x1p-53 - 0.5));
          std::vector<T> expected = before;
          reconstruct_crt<T>({planes.data(), count, col_stride, plane_stride}, row_scale.data(), col_scale.data(),
                             alpha, beta, 1, {expected.data(), shape.rows, shape.cols, 1, shape.rows});
          for (std::int64_t j = 0; j < shape.cols && has_repairs; ++j) {
            for (std::int64_t i = 0; i < shape.rows; ++i) {
              const std::int64_t bit = kFirstRow + i;
              const std::uint32_t word = bits[static_cast<std::size_t>((kFirstCol + j) * bits_stride + bit / 32)];
              const auto at = static_cast<std::size_t>(i + j * shape.rows);
              if ((word >> (bit % 32) & 1) != 0) expected[at] = before[at];
            }
          }
          device::DeviceState state;
          state.selection.rung = 0;
          state.num_repairs = has_repairs ? 1 : 0;
          const DeviceArray<device::DeviceState> device_state(std::vector<device::DeviceState>{state});
          DeviceReconstruction<T> task;
          task.planes = {device_planes.data(), count, col_stride, plane_stride};
          task.tables = tables.data();
          task.row_scale = device_row_scale.data();
          task.col_scale = device_col_scale.data();
          task.ladder.num_rungs = 1;
          task.ladder.rungs[0].num_moduli = count;
          task.state = device_state.data();
          task.repair_bits = device_bits.data();
          task.bits_stride = bits_stride;
          task.first_row = kFirstRow;
          task.first_col = kFirstCol;
          task.least_for_bytes = 0;
          task.alpha = Factor<T>(alpha);
          task.beta = Factor<T>(beta);
          for (const int num_sms : {1, 1, 3}) {  // one state for all: what one launch claims, the next does not miss
            DeviceArray<T> c(before);
            task.c = {c.data(), shape.rows, shape.cols, 1, shape.rows};
            const CrtKernels kernels = crt_kernels(task);
            ASSERT_TRUE(kernels.has_bytes && !kernels.has_numbers) << count;
            ASSERT_TRUE(reconstruct_by_bytes<T>(task, num_sms, nullptr, /*is_beside=*/false).ok());
            const std::vector<T> found = c.download();
            for (std::size_t at = 0; at < size; ++at) {
              ASSERT_EQ(std::memcmp(&found[at], &expected[at], sizeof(T)), 0)
                  << count << " moduli, " << shape.rows << " x " << shape.cols << ", element " << at << ": "
                  << found[at] << ", must be " << expected[at] << (has_repairs ? ", with repairs" : "")
                  << (is_product ? "" : ", with beta");
            }
            ASSERT_TRUE(c.guards_are_intact());
            ASSERT_EQ(device_state.download()[0].num_claims, 0U) << count;
          }
          // C where no element is a multiple of its size, of all rows and of every other one.
          using R = RealOf<T>;
          constexpr std::int64_t kParts = kIsComplex<T> ? 2 : 1;
          for (const std::int64_t stride : {1, 2}) {
            constexpr R kBetween{77};
            const auto spread = [&](const std::vector<T>& values) {
              std::vector<R> reals(size * static_cast<std::size_t>(kParts * stride) + 1, kBetween);
              for (std::size_t at = 0; at < size; ++at)
                std::memcpy(&reals[1 + at * static_cast<std::size_t>(kParts * stride)], &values[at], sizeof(T));
              return reals;
            };
            DeviceArray<R> reals(spread(before));
            task.c = {reinterpret_cast<T*>(reals.data() + 1), shape.rows, shape.cols, stride, stride * shape.rows};
            ASSERT_TRUE(reconstruct_by_bytes<T>(task, 3, nullptr, /*is_beside=*/false).ok());
            const std::vector<R> found = reals.download();
            const std::vector<R> must_be = spread(expected);
            ASSERT_EQ(std::memcmp(found.data(), must_be.data(), found.size() * sizeof(R)), 0)
                << count << " moduli, " << shape.rows << " x " << shape.cols << ", rows " << stride << " apart";
          }
        }
      }
    }
  }
}

TYPED_TEST(DeviceCrt, HasTheKernelsOfItsLadder) {
  using T = TypeParam;
  const bool is_complex = kIsComplex<T>;
  // Most of the kernel of numbers where C is large: of complex numbers it has nothing then.
  const int numbers = is_complex ? num::kMinModuli - 1 : most_piece_moduli(false, 3);
  const int bytes = most_piece_moduli(is_complex, kDevicePieces);
  constexpr std::int64_t kHeight = 2048;
  const std::int64_t large = is_complex ? 32 : 2048;
  const auto kernels = [&](int least, int most, std::int64_t cols) {
    DeviceReconstruction<T> task;
    task.c = {nullptr, kHeight, cols, 1, kHeight};
    task.ladder.num_rungs = least == most ? 1 : 2;
    task.ladder.rungs[0].num_moduli = least;
    task.ladder.rungs[task.ladder.num_rungs - 1].num_moduli = most;
    const CrtKernels found = crt_kernels(task);
    return std::string(found.has_numbers ? "numbers " : "") + (found.has_bytes ? "bytes " : "") +
           (found.has_limbs ? "limbs " : "");
  };
  if (!is_complex) {
    EXPECT_EQ(kernels(numbers, bytes, large), "numbers bytes ");
    EXPECT_EQ(kernels(numbers, numbers, large), "numbers ");
  }
  EXPECT_EQ(kernels(numbers + 1, bytes, large), "bytes ");
  EXPECT_EQ(kernels(numbers + 1, bytes + 1, large), "bytes limbs ");
  EXPECT_EQ(kernels(bytes + 1, bytes + 1, large), "limbs ");
  EXPECT_EQ(kernels(numbers + 1, bytes + 1, large - 1), "numbers limbs ") << "of small C";
  EXPECT_EQ(kernels(numbers + 1, bytes, large - 1), "numbers ") << "of small C";
  EXPECT_EQ(kernels(numbers + 1, bytes, 0), "");
  DeviceReconstruction<T> in_limbs;
  in_limbs.c = {nullptr, 2048, 2048, 1, 2048};
  in_limbs.ladder.num_rungs = 1;
  in_limbs.ladder.rungs[0].num_moduli = bytes;
  in_limbs.by_limbs = true;
  const CrtKernels found = crt_kernels(in_limbs);
  EXPECT_TRUE(found.has_limbs && !found.has_numbers && !found.has_bytes) << "one kernel has all rungs";
}

}  // namespace
}  // namespace kizami::ozaki2
