// SPDX-License-Identifier: MIT
// The product of residue planes and the CRT side by side, in both ways, against the two kernels one after the other, bit
// for bit: C and residues. Shapes of one block and of several groups, all that the epilogue knows, rungs that the other
// kernels have; and one set of words for all launches, which has to be zero after each.
#include <gtest/gtest.h>

#include <algorithm>
#include <complex>
#include <cstdint>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "base/device_limits.hpp"
#include "base/int_math.hpp"
#include "engines/hopper/forms.hpp"
#include "gpu/product_on_device.hpp"
#include "lab/bench/gpu_crt_beside/crt_beside.hpp"
#include "num/crt_table.hpp"
#include "num/line_stats.hpp"
#include "num/modular.hpp"
#include "num/moduli.hpp"
#include "schemes/ozaki2/device_crt.hpp"

namespace kizami::ozaki2 {
namespace {

using gpu_test::DeviceArray;

/// What is tried of a product. @range m a multiple of 16
struct Trial {
  std::int64_t m = 256;
  std::int64_t n = 256;
  std::int64_t k = 128;
  int moduli = 14;
  bool is_product = true;  ///< alpha = 1, beta = 0, moderate scales
  bool has_repairs = false;
  bool is_row_major = false;
  int rung = 0;
  std::uint32_t group = 66;
  BesideShape shape{};
  bool is_paced = true;
};

template <class T>
class CrtBeside : public gpu_test::Sm90Test {
 protected:
  static constexpr num::Ring kRing = kIsComplex<T> ? num::Ring::kComplex : num::Ring::kReal;

  void expect_same(const Trial& trial) {
    product::ProductDesc desc = describe(trial);
    const DeviceArray<std::int8_t> a(residues(desc, desc.m, desc.a_row_stride, desc.a_plane_stride));
    const DeviceArray<std::int8_t> b(residues(desc, desc.n, desc.b_row_stride, desc.b_plane_stride));
    const std::vector<std::int8_t> no_residues(static_cast<std::size_t>(desc.num_products * desc.c_plane_stride), 0x55);
    const DeviceArray<DeviceCrtTable> tables(make_device_crt_tables(kRing));
    const DeviceArray<std::int32_t> row_scale(scales(desc.m, trial));
    const DeviceArray<std::int32_t> col_scale(scales(desc.n, trial));
    device::DeviceState state;
    state.selection.rung = trial.rung;
    state.num_products = desc.num_products;
    state.num_repairs = trial.has_repairs ? 1 : 0;
    const DeviceArray<device::DeviceState> device_state(std::vector<device::DeviceState>{state});
    const std::int64_t bits_stride = base::ceil_div(desc.m, std::int64_t{32});
    std::vector<std::uint32_t> bits(static_cast<std::size_t>(bits_stride * desc.n));
    for (std::uint32_t& word : bits) word = draw() % 4 == 0 ? draw() & draw() : 0;
    const DeviceArray<std::uint32_t> repair_bits(bits);
    std::vector<T> before(static_cast<std::size_t>(desc.m * desc.n));
    for (T& c : before) c = T(static_cast<RealOf<T>>(static_cast<double>(rng_() >> 11) * 0x1p-53 - 0.5));

    const auto task = [&](const DeviceArray<std::int8_t>& planes, const DeviceArray<T>& c) {
      DeviceReconstruction<T> crt;
      crt.planes = {planes.data(), trial.moduli, desc.c_col_stride, desc.c_plane_stride};
      crt.tables = tables.data();
      crt.row_scale = row_scale.data();
      crt.col_scale = col_scale.data();
      crt.ladder.num_rungs = 1;
      crt.ladder.rungs[0].num_moduli = trial.moduli;
      crt.state = device_state.data();
      crt.repair_bits = repair_bits.data();
      crt.bits_stride = bits_stride;
      crt.alpha = Factor<T>(trial.is_product ? T(1) : T(-1.75));
      crt.beta = Factor<T>(trial.is_product ? T(0) : T(0.3));
      crt.c = {c.data(), desc.m, desc.n, trial.is_row_major ? desc.n : 1, trial.is_row_major ? 1 : desc.m};
      return crt;
    };
    const std::int32_t* const num_products = &device_state.data()->num_products;
    const DeviceArray<std::int8_t> expected_planes(no_residues);
    const DeviceArray<T> expected_c(before);
    constexpr auto kPermuted = engines::HopperForm::kCooperative256x128Permuted;
    ASSERT_TRUE(engines::run_hopper_product(desc, {a.data(), b.data(), expected_planes.data(), num_products}, kPermuted,
                                            nullptr)
                    .ok());
    ASSERT_TRUE(reconstruct_device<T>(task(expected_planes, expected_c), num_sms(), nullptr).ok());
    const std::vector<T> expected = expected_c.download();
    const std::vector<std::int8_t> expected_residues = expected_planes.download();

    bench::BesideCall<T> call;
    call.desc = desc;
    call.num_sms = num_sms();
    call.shape = trial.shape;
    call.reports = bench::make_reports(desc, num_sms(), {trial.group, 8, trial.is_paced});
    const DeviceArray<std::uint32_t> words(std::vector<std::uint32_t>(call.reports.num_words()));
    call.reports.words = words.data();
    for (const bench::CrtPlace place : {bench::CrtPlace::kKernel, bench::CrtPlace::kWarps, bench::CrtPlace::kKernel}) {
      const std::string what = std::string(place == bench::CrtPlace::kKernel ? "kernel, " : "warps, ") +
                               std::to_string(desc.m) + " x " + std::to_string(desc.n) + " x " +
                               std::to_string(desc.k) + ", " + std::to_string(trial.moduli) + " moduli, groups of " +
                               std::to_string(trial.group);
      const DeviceArray<std::int8_t> planes(no_residues);
      const DeviceArray<T> c(before);
      call.pointers = {a.data(), b.data(), planes.data(), num_products};
      call.crt = task(planes, c);
      call.place = place;
      const Status status = bench::run_beside(call, nullptr);
      ASSERT_TRUE(status.ok()) << what << ": " << status.reason();
      const std::vector<T> found = c.download();
      ASSERT_TRUE(planes.download() == expected_residues) << what;
      // Rungs of more pieces are the other kernels'.
      const std::vector<T>& wanted = is_taken(trial) ? expected : before;
      for (std::size_t at = 0; at < found.size(); ++at) {
        ASSERT_EQ(std::memcmp(&found[at], &wanted[at], sizeof(T)), 0)
            << what << ", element " << at << ": " << found[at] << ", must be " << wanted[at];
      }
      ASSERT_TRUE(c.guards_are_intact() && planes.guards_are_intact() && words.guards_are_intact()) << what;
      const std::vector<std::uint32_t> left = words.download();
      ASSERT_EQ(std::count(left.begin(), left.end(), 0U), static_cast<std::ptrdiff_t>(left.size())) << what;
    }
  }

  [[nodiscard]] static bool is_taken(const Trial& trial) {
    return trial.rung >= 0 && trial.moduli <= most_piece_moduli(kIsComplex<T>, 3);
  }
  /// Of the lowest rung.
  [[nodiscard]] static int lowest() { return sizeof(RealOf<T>) == 4 ? 7 : kIsComplex<T> ? 15 : 14; }

 private:
  [[nodiscard]] std::uint32_t draw() { return static_cast<std::uint32_t>(rng_()); }
  [[nodiscard]] static int num_sms() {
    base::DeviceLimits limits;
    EXPECT_TRUE(base::find_device_limits(limits).ok());
    return limits.num_sms;
  }
  [[nodiscard]] static product::ProductDesc describe(const Trial& trial) {
    product::ProductDesc desc;
    desc.m = trial.m;
    desc.n = trial.n;
    desc.k = trial.k;
    desc.num_products = num::num_planes(kRing, trial.moduli);
    for (int l = 0; l < desc.num_products; ++l)
      desc.moduli[static_cast<std::size_t>(l)] = num::modulus(kRing, num::modulus_number(kRing, l));
    desc.a_row_stride = desc.b_row_stride = base::round_up(trial.k, 128);
    desc.c_col_stride = base::round_up(trial.m, 128);
    desc.a_plane_stride = trial.m * desc.a_row_stride;
    desc.b_plane_stride = trial.n * desc.b_row_stride + 256;
    desc.c_plane_stride = trial.n * desc.c_col_stride + 128;
    return desc;
  }
  /// Any residues, and zeros behind each line. (Of a table for each modulus, in an order that lines do not share: there
  /// are many.)
  [[nodiscard]] std::vector<std::int8_t> residues(const product::ProductDesc& desc, std::int64_t lines,
                                                  std::int64_t row_stride, std::int64_t plane_stride) {
    std::vector<std::int8_t> planes(static_cast<std::size_t>(desc.num_products * plane_stride));
    std::vector<std::int8_t> drawn(1 << 16);
    for (int l = 0; l < desc.num_products; ++l) {
      const int p = desc.moduli[static_cast<std::size_t>(l)];
      for (std::int8_t& r : drawn) r = static_cast<std::int8_t>(num::symmetric_residue(draw(), p));
      for (std::int64_t i = 0; i < lines; ++i) {
        const std::uint32_t from = draw();
        const std::uint32_t step = draw() | 1;
        std::int8_t* const line = planes.data() + l * plane_stride + i * row_stride;
        for (std::int64_t h = 0; h < desc.k; ++h)
          line[h] = drawn[(from + static_cast<std::uint32_t>(h) * step) >> 8 & 0xFFFFU];
      }
    }
    return planes;
  }
  [[nodiscard]] std::vector<std::int32_t> scales(std::int64_t lines, const Trial& trial) {
    std::vector<std::int32_t> scale(static_cast<std::size_t>(lines));
    for (std::int32_t& s : scale) {
      s = 40 + static_cast<std::int32_t>(draw() % 9);
      if (trial.is_product) continue;
      if (draw() % 8 == 0) s += static_cast<std::int32_t>(draw() % 1200) - 600;
      if (draw() % 16 == 0) s = num::kSkipLine;
    }
    return scale;
  }

  std::mt19937_64 rng_{54};
};

using Types = testing::Types<double, std::complex<float>, std::complex<double>>;
TYPED_TEST_SUITE(CrtBeside, Types);

TYPED_TEST(CrtBeside, HasTheBitsOfTwoKernels) {
  struct Shape {
    std::int64_t m, n, k;
  };
  // One tile beyond n; parts of blocks; k of less than what a report waits for; more blocks than clusters.
  for (const Shape& s :
       {Shape{16, 1, 1}, Shape{256, 100, 128}, Shape{1040, 900, 200}, Shape{2560, 1800, 640}, Shape{272, 5000, 2500}}) {
    for (const std::uint32_t group : {1U, 5U, 66U}) {
      this->expect_same({.m = s.m, .n = s.n, .k = s.k, .moduli = this->lowest(), .group = group});
      if (this->HasFailure()) return;
    }
  }
}

TYPED_TEST(CrtBeside, KnowsAllThatTheEpilogueKnows) {
  for (const bool is_product : {true, false}) {
    for (const bool has_repairs : {true, false}) {
      for (const bool is_row_major : {true, false}) {
        this->expect_same({.m = 784,
                           .n = 515,
                           .k = 300,
                           .moduli = this->lowest(),
                           .is_product = is_product,
                           .has_repairs = has_repairs,
                           .is_row_major = is_row_major,
                           .group = 4});
        if (this->HasFailure()) return;
      }
    }
  }
}

TYPED_TEST(CrtBeside, LeavesOtherRungsAlone) {
  const bool is_complex = kIsComplex<TypeParam>;
  for (const int moduli : {num::kMinModuli, 9, most_piece_moduli(is_complex, 3) - 1, most_piece_moduli(is_complex, 3),
                           most_piece_moduli(is_complex, 3) + 1}) {
    this->expect_same({.m = 528, .n = 300, .k = 130, .moduli = moduli});
    if (this->HasFailure()) return;
  }
  this->expect_same({.m = 528, .n = 300, .k = 130, .moduli = this->lowest(), .rung = -1});
}

TYPED_TEST(CrtBeside, InBlocksOfAnyShape) {
  for (const unsigned threads : {32U, 96U, 128U}) {
    for (const unsigned blocks : {1U, 5U}) {
      for (const bool is_paced : {true, false}) {
        this->expect_same({.m = 1536,
                           .n = 1300,
                           .k = 1024,
                           .moduli = this->lowest(),
                           .group = 16,
                           .shape = {threads, blocks},
                           .is_paced = is_paced});
        if (this->HasFailure()) return;
      }
    }
  }
}

}  // namespace
}  // namespace kizami::ozaki2
