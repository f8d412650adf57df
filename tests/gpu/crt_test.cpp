// SPDX-License-Identifier: MIT
// The CRT on the device against the CPU's, bit for bit: every count of moduli, in the kernel that it gets alone and in those
// of longer ladders; integers at the ends of the range, at ties of the rounding, and any residues at all.
#include <gtest/gtest.h>

#include <complex>
#include <cstdint>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "gpu/device_memory.hpp"
#include "reconstruct/crt.hpp"
#include "reconstruct/device.hpp"
#include "tests/reconstruct/crt_cases.hpp"

namespace kizami::reconstruct {
namespace {

using gpu_test::DeviceArray;

constexpr std::int64_t kRows = 203;
constexpr std::int64_t kCols = 21;
constexpr std::int64_t kColStride = 256;
constexpr std::int64_t kPlaneStride = kColStride * kCols;

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
      for (const bool is_product : {true, false}) {
        const T alpha = is_product ? T(1) : T(-1.75);
        const T beta = is_product ? T(0) : T(0.3);
        std::vector<T> expected(static_cast<std::size_t>(kRows * kCols));
        for (T& c : expected) c = T(static_cast<RealOf<T>>(static_cast<double>(rng() >> 11) * 0x1p-53 - 0.5));
        const DeviceArray<T> c(expected);
        const std::vector<T> before = expected;
        reconstruct_crt<T>({planes.data(), count, kColStride, kPlaneStride}, row_scale.data(), col_scale.data(), alpha,
                           beta, 1, {expected.data(), kRows, kCols, 1, kRows});
        // The kernels for ladders that end here, at 27 moduli, and at all of them; those of small and of large C.
        for (const int which : {0, 1, 2, 3, 4, 5}) {
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
          plan::DeviceState state;
          state.selection.rung = 0;
          const DeviceArray<plan::DeviceState> device_state(std::vector<plan::DeviceState>{state});
          task.state = device_state.data();
          if (which >= 3) task.least_for_bytes = 0;  // as of a large C
          task.alpha = Factor<T>(alpha);
          task.beta = Factor<T>(beta);
          task.c = {fresh.data(), kRows, kCols, 1, kRows};
          ASSERT_TRUE(reconstruct_device<T>(task, 4, nullptr).ok());
          const std::vector<T> found = fresh.download();
          for (std::size_t at = 0; at < found.size(); ++at) {
            ASSERT_EQ(std::memcmp(&found[at], &expected[at], sizeof(T)), 0)
                << count << " moduli, most " << most << ", " << (which >= 3 ? "bytes" : "numbers") << ", scales of +-"
                << range << ", element " << at << ": " << found[at] << ", must be " << expected[at];
          }
          ASSERT_TRUE(fresh.guards_are_intact());
        }
      }
    }
  }
}

}  // namespace
}  // namespace kizami::reconstruct
