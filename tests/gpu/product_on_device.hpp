// SPDX-License-Identifier: MIT
// Products of engines in device memory, beside the same ones by the processor: all of C's storage is compared, so a
// store between columns, beyond C or in a plane that was not asked for is a failure like any other. Where cpu_ref would
// take long, cpu_simd stands in, which its own tests compare with cpu_ref.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <thread>
#include <variant>
#include <vector>

#include "base/device_limits.hpp"
#include "engines/cpu_ref/cpu_ref.hpp"
#include "engines/cpu_simd/cpu_simd.hpp"
#include "engines/product_case.hpp"
#include "gpu/device_memory.hpp"
#include "gpu/sm90_test.hpp"
#include "num/moduli.hpp"

namespace kizami::engines {

using gpu_test::check;
using gpu_test::DeviceArray;
using product::DeviceFacts;
using product::Engine;
using product::Epilogue;
using product::Offer;
using product::Pointers;
using product::ProductDesc;
using product::Refusal;
using testing::CaseSpec;
using testing::Fill;
using testing::ProductCase;

inline constexpr std::array kEpilogues = {Epilogue::kStoreAcc, Epilogue::kReduce, Epilogue::kReduceAdd};

[[nodiscard]] inline DeviceFacts sm_90_facts() {
  DeviceFacts facts = testing::every_feature(1);
  facts.space = product::MemorySpace::kDevice;
  facts.device = 0;
  facts.compute_capability = facts.code_capability = 90;
  facts.shared_bytes = 227 << 10;
  facts.num_sms = 132;
  return facts;
}

/// A product in host memory. The description may differ from the case's, as long as it stays inside the same bytes.
struct HostProduct {
  HostProduct() = default;
  explicit HostProduct(const CaseSpec& spec) : HostProduct(ProductCase(spec)) {}
  explicit HostProduct(const ProductCase& c)
      : name(c.name()),
        desc(c.desc()),
        a(c.a(), c.a() + c.desc().num_products * c.desc().a_plane_stride),
        b(c.b(), c.b() + c.desc().num_products * c.desc().b_plane_stride) {
    std::vector<std::byte> storage = c.initial_c();
    c_offset = static_cast<std::size_t>(static_cast<std::byte*>(ProductCase::c_begin(storage)) - storage.data());
    for (const std::byte byte : storage) initial_c.push_back(static_cast<std::uint8_t>(byte));
  }

  std::string name;
  ProductDesc desc;
  std::vector<std::int8_t> a;
  std::vector<std::int8_t> b;
  std::vector<std::uint8_t> initial_c;
  std::size_t c_offset = 0;
};

/// C's storage as the processor makes it, of the first num_products planes.
[[nodiscard]] inline std::vector<std::uint8_t> expected_c(const HostProduct& p) {
  const ProductDesc& d = p.desc;
  const double macs = static_cast<double>(d.m) * static_cast<double>(d.n) * static_cast<double>(d.k) * d.num_products;
  const Engine& engine = macs <= 1e8 || d.has_unsigned_bytes ? cpu_ref_engine() : cpu_simd_engine();
  const int threads = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  // Rows begin on 64 bytes in this memory.
  const testing::AlignedBytes a(static_cast<std::int64_t>(p.a.size()), 0);
  const testing::AlignedBytes b(static_cast<std::int64_t>(p.b.size()), 0);
  if (!p.a.empty()) std::memcpy(a.data(), p.a.data(), p.a.size());
  if (!p.b.empty()) std::memcpy(b.data(), p.b.data(), p.b.size());
  std::vector<std::uint8_t> c = p.initial_c;
  const auto answer = engine.query(d, testing::every_feature(threads));
  if (const auto* refusal = std::get_if<Refusal>(&answer)) {
    ADD_FAILURE() << refusal->reason;
    return c;
  }
  const Offer offer = std::get<Offer>(answer);
  const testing::AlignedBytes workspace(static_cast<std::int64_t>(offer.workspace_bytes), 0xCD);
  const Pointers pointers{reinterpret_cast<const std::int8_t*>(a.data()),
                          reinterpret_cast<const std::int8_t*>(b.data()), c.data() + p.c_offset};
  const Status status = engine.run(d, offer, pointers, workspace.data());
  EXPECT_TRUE(status.ok()) << status.reason();
  return c;
}

/// The operands and C in device memory.
struct DeviceProduct {
  explicit DeviceProduct(const HostProduct& p) : host(p), a(p.a), b(p.b), c(p.initial_c) {}

  [[nodiscard]] Pointers pointers(const std::int32_t* num_products = nullptr) const {
    return {a.data(), b.data(), c.data() + host.c_offset, num_products};
  }
  void expect_c(const std::vector<std::uint8_t>& expected, const std::string& what) const {
    const std::vector<std::uint8_t> actual = c.download();
    if (actual != expected) {
      const auto at = std::mismatch(actual.begin(), actual.end(), expected.begin()).first - actual.begin();
      std::size_t count = 0;
      for (std::size_t i = 0; i < actual.size(); ++i) count += actual[i] != expected[i] ? 1U : 0U;
      ADD_FAILURE() << what << " differs at byte " << at - static_cast<std::ptrdiff_t>(host.c_offset) << " of C and "
                    << count << " of " << actual.size() << " in all: " << int{actual[static_cast<std::size_t>(at)]}
                    << " for " << int{expected[static_cast<std::size_t>(at)]} << ", case " << host.name;
    }
    EXPECT_TRUE(a.guards_are_intact() && b.guards_are_intact() && c.guards_are_intact()) << what << " " << host.name;
    EXPECT_TRUE(a.download() == host.a && b.download() == host.b) << what << " changed an operand, " << host.name;
  }

  const HostProduct& host;
  DeviceArray<std::int8_t> a;
  DeviceArray<std::int8_t> b;
  DeviceArray<std::uint8_t> c;
};

[[nodiscard]] inline std::vector<std::int16_t> first_moduli(std::size_t count) {
  std::vector<std::int16_t> moduli;
  for (std::size_t l = 0; l < count; ++l) moduli.push_back(num::kRealModuli[l % num::kRealModuli.size()]);
  return moduli;
}

}  // namespace kizami::engines
