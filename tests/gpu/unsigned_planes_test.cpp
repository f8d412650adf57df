// SPDX-License-Identifier: MIT
// Which residues the planes of a call have: from 0 to p - 1 where the engine gains by it and sums fit, symmetric ones else.
// Bits do not tell.
#include <gtest/gtest.h>

#include <complex>
#include <cstdint>
#include <string>
#include <vector>

#include "gpu/device_memory.hpp"
#include "gpu/planned_call.hpp"
#include "gpu/sm90_test.hpp"
#include "num/moduli.hpp"
#include "schemes/ozaki2/device_buffers.hpp"

namespace kizami::gpu_test {
namespace {

class UnsignedPlanes : public Sm90Test {};

struct Found {
  std::int64_t beyond = 0;  ///< bytes of p and more, which are negative residues
  std::int64_t upper = 0;   ///< bytes above p / 2 that are residues from 0 to p - 1
};

/// In the first line of every plane of A with an odd modulus, behind a call.
template <class T>
[[nodiscard]] Found found(const std::string& line, EngineName engine) {
  const Case c = case_of(line);
  PlannedCall<T> call(c, device_policy(c, engine));
  call.run();
  EXPECT_EQ(call.state().selection.rung, 0) << line;
  const ozaki2::Ozaki2Stage& stage = ozaki2::ozaki2_of(call.plan());
  const product::ProductDesc desc =
      ozaki2::device_main_product(call.plan(), stage.chunk, stage.ladder.rungs[0].num_moduli);
  Found all;
  for (int q = 0; q < desc.num_products; ++q) {
    const int p = desc.moduli[static_cast<std::size_t>(q)];
    if (p % 2 == 0) continue;
    std::vector<std::uint8_t> bytes(static_cast<std::size_t>(c.k));
    check(cudaMemcpy(bytes.data(), call.buffers().main.a_planes + q * desc.a_plane_stride, bytes.size(),
                     cudaMemcpyDeviceToHost),
          "reading the workspace");
    for (const int byte : bytes) {
      all.beyond += byte >= p ? 1 : 0;
      all.upper += byte > p / 2 && byte < p ? 1 : 0;
    }
  }
  return all;
}

template <class T>
void expect_unsigned(const std::string& line) {
  const Found of_hopper = found<T>(line, EngineName::kHopper);
  EXPECT_EQ(of_hopper.beyond, 0) << line;
  EXPECT_GT(of_hopper.upper, 50) << line;
  EXPECT_GT(found<T>(line, EngineName::kMma).beyond, 50) << line;
}

TEST_F(UnsignedPlanes, OfEveryTypeAndEngine) {
  expect_unsigned<double>("d nn 300x200x500");
  expect_unsigned<float>("s nt 300x200x500");
  expect_unsigned<std::complex<double>>("z tn 300x200x500");
  expect_unsigned<std::complex<float>>("c nc 300x200x500");
}

TEST_F(UnsignedPlanes, EndWhereASumWouldLeaveInt32) {
  const auto line_of = [](std::int64_t k) { return "d nt 40x30x" + std::to_string(k); };
  EXPECT_EQ(found<double>(line_of(product::kBlockMaxU8), EngineName::kHopper).beyond, 0);
  EXPECT_GT(found<double>(line_of(product::kBlockMaxU8 + 1), EngineName::kHopper).beyond, 100);
}

}  // namespace
}  // namespace kizami::gpu_test
