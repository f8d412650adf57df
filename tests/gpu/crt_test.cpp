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
#include "num/modular.hpp"
#include "reconstruct/crt.hpp"
#include "reconstruct/device.hpp"

namespace kizami::reconstruct {
namespace {

using gpu_test::DeviceArray;
using num::CrtInt;

constexpr std::int64_t kRows = 203;
constexpr std::int64_t kCols = 21;
constexpr std::int64_t kColStride = 256;
constexpr std::int64_t kPlaneStride = kColStride * kCols;

struct Signed {
  CrtInt magnitude;
  bool is_negative = false;
};

[[nodiscard]] int residue(const Signed& x, int p) {
  const auto rest = static_cast<int>(num::div_small(x.magnitude, static_cast<std::uint64_t>(p)).remainder);
  return x.is_negative ? -rest : rest;
}

/// Integers of at most (P - 1) / 2 where something turns.
[[nodiscard]] Signed special_integer(std::mt19937_64& rng, const CrtInt& half) {
  Signed x{half, rng() % 2 == 0};
  const int width = num::bit_width(half);
  switch (rng() % 5) {
    case 0:  // the ends, and what lies within a hair of them
      x.magnitude = num::sub(half, CrtInt(rng() % 3));
      break;
    case 1:
      x.magnitude = num::sub(half, num::shift_right(half, static_cast<int>(rng() % static_cast<unsigned>(width))));
      break;
    case 2:
      x.magnitude = num::shift_right(half, static_cast<int>(rng() % static_cast<unsigned>(width + 1)));
      break;
    case 3: {  // ties of the rounding to 53 bits, and their neighbours
      const CrtInt tie((rng() >> 11 | std::uint64_t{1} << 52) << 1 | 1);
      if (width > 56) {
        x.magnitude = num::shift_left(tie, static_cast<int>(rng() % static_cast<unsigned>(width - 55)));
        if (rng() % 2 == 0)
          x.magnitude = rng() % 2 == 0 ? num::add(x.magnitude, CrtInt(1)) : num::sub(x.magnitude, CrtInt(1));
        break;
      }
      [[fallthrough]];
    }
    default:
      x.magnitude = CrtInt(rng() % 100);
      break;
  }
  if (num::less(half, x.magnitude)) x.magnitude = half;
  return x;
}

[[nodiscard]] std::vector<std::int8_t> make_planes(std::mt19937_64& rng, num::Ring ring, int count) {
  const num::CrtTable& table = num::crt_table(ring, count);
  std::vector<std::int8_t> planes(static_cast<std::size_t>(kPlaneStride * table.num_planes));
  for (std::int8_t& byte : planes) byte = static_cast<std::int8_t>(rng());
  for (std::int64_t j = 0; j < kCols; ++j) {
    for (std::int64_t i = 0; i < kRows; ++i) {
      // Of few moduli, residues at random may be those of P / 2, which has no sign.
      if (count > 4 && rng() % 2 == 0) continue;
      const Signed re = special_integer(rng, table.half_wide);
      const Signed im = special_integer(rng, table.half_wide);
      for (int l = 0; l < count; ++l) {
        const int p = num::modulus(ring, l);
        const int root = num::sqrt_minus_one(p);
        std::int64_t plane[3] = {residue(re, p), 0, 0};
        if (ring == num::Ring::kComplex && l < num::kTwoProductModuli) {
          plane[0] = residue(re, p) + root * residue(im, p);
          plane[1] = residue(re, p) - root * residue(im, p);
        } else if (ring == num::Ring::kComplex) {
          const auto any = static_cast<std::int64_t>(rng() % 256);
          plane[0] = residue(re, p) + any;
          plane[1] = any;
          plane[2] = residue(re, p) + residue(im, p) + 2 * any;
        }
        for (int q = 0; q < num::planes_of_modulus(ring, l); ++q) {
          planes[static_cast<std::size_t>((num::num_planes(ring, l) + q) * kPlaneStride + j * kColStride + i)] =
              static_cast<std::int8_t>(num::symmetric_residue(plane[q], p));
        }
      }
    }
  }
  return planes;
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
    const std::vector<std::int8_t> planes = make_planes(rng, ring, count);
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
        // The kernels for ladders that end here, at 26 moduli, and at all of them.
        for (const int most : {count, 26, num::max_moduli(ring)}) {
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
          task.alpha = Factor<T>(alpha);
          task.beta = Factor<T>(beta);
          task.c = {fresh.data(), kRows, kCols, 1, kRows};
          ASSERT_TRUE(reconstruct_device<T>(task, 4, nullptr).ok());
          const std::vector<T> found = fresh.download();
          for (std::size_t at = 0; at < found.size(); ++at) {
            ASSERT_EQ(std::memcmp(&found[at], &expected[at], sizeof(T)), 0)
                << count << " moduli, most " << most << ", scales of +-" << range << ", element " << at << ": "
                << found[at] << ", must be " << expected[at];
          }
          ASSERT_TRUE(fresh.guards_are_intact());
        }
      }
    }
  }
}

}  // namespace
}  // namespace kizami::reconstruct
