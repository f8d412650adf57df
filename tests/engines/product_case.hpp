// SPDX-License-Identifier: MIT
// One product with its memory: operands with poisoned row tails, C with canaries everywhere that C is not.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "base/int_math.hpp"
#include "num/modular.hpp"
#include "product/product.hpp"
#include "tests/sanitized.hpp"

namespace kizami::engines::testing {

using tests::is_left_out;
using tests::kIsSanitized;

enum class Fill : std::uint8_t {
  kResidues,  ///< any residue of the plane's modulus
  kLowest,    ///< the least residue everywhere: -128 for 256, -127 for 255
  kHighest,
  kOpposite,  ///< A lowest, B highest
  kBytes,     ///< any byte, residue or not
};

[[nodiscard]] inline const char* to_string(Fill fill) {
  constexpr const char* kNames[] = {"residues", "lowest", "highest", "opposite", "bytes"};
  return kNames[static_cast<int>(fill)];
}

[[nodiscard]] inline const char* to_string(product::Epilogue epilogue) {
  constexpr const char* kNames[] = {"store_acc", "reduce", "reduce_add"};
  return kNames[static_cast<int>(epilogue)];
}

/// splitmix64, as a hash of a counter.
[[nodiscard]] inline std::uint64_t hash(std::uint64_t x) {
  x += 0x9E3779B97F4A7C15ULL;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ULL;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBULL;
  return x ^ (x >> 31);
}

/// The shape of a case, as a test writes it down.
struct CaseSpec {
  std::int64_t m = 1;
  std::int64_t n = 1;
  std::int64_t k = 1;
  std::vector<std::int16_t> moduli = {256};
  product::Epilogue epilogue = product::Epilogue::kReduce;
  Fill fill = Fill::kResidues;
  std::int64_t extra_k = 0;         ///< row strides beyond the least, a multiple of 64
  std::int64_t extra_rows = 0;      ///< c_col_stride beyond m
  bool interleaves_planes = false;  ///< columns of all planes of C side by side, instead of plane after plane
  bool has_unsigned_bytes = false;  ///< residues from 0 to p - 1
};

/// Memory aligned to 64 bytes, exactly `bytes` long, so that a sanitizer sees the first byte beyond.
class AlignedBytes {
 public:
  AlignedBytes(std::int64_t bytes, std::uint8_t fill)
      : bytes_(static_cast<std::size_t>(bytes)),
        data_(static_cast<std::byte*>(::operator new (bytes_, std::align_val_t{64}))) {
    std::memset(data_, fill, bytes_);
  }
  ~AlignedBytes() { ::operator delete (data_, std::align_val_t{64}); }
  AlignedBytes(const AlignedBytes&) = delete;
  AlignedBytes& operator=(const AlignedBytes&) = delete;
  [[nodiscard]] std::byte* data() const { return data_; }
  [[nodiscard]] std::size_t size() const { return bytes_; }

 private:
  std::size_t bytes_;
  std::byte* data_;
};

class ProductCase {
 public:
  explicit ProductCase(const CaseSpec& spec)
      : spec_(spec),
        desc_(describe(spec)),
        a_(operand_bytes(desc_.a_plane_stride), 0),
        b_(operand_bytes(desc_.b_plane_stride), 0) {
    fill_operand(a_.data(), spec.m, desc_.a_row_stride, desc_.a_plane_stride, true);
    fill_operand(b_.data(), spec.n, desc_.b_row_stride, desc_.b_plane_stride, false);
  }

  [[nodiscard]] const product::ProductDesc& desc() const { return desc_; }
  [[nodiscard]] const std::int8_t* a() const { return reinterpret_cast<const std::int8_t*>(a_.data()); }
  [[nodiscard]] const std::int8_t* b() const { return reinterpret_cast<const std::int8_t*>(b_.data()); }
  [[nodiscard]] std::int64_t c_elem_bytes() const { return spec_.epilogue == product::Epilogue::kStoreAcc ? 4 : 1; }

  /// C as it is before the product: canaries, and for kReduceAdd residues (or bytes) of a former block.
  [[nodiscard]] std::vector<std::byte> initial_c() const {
    const product::ProductDesc& d = desc_;
    const std::int64_t planes = d.num_products;
    const std::int64_t elems = spec_.interleaves_planes ? d.n * d.c_col_stride : planes * d.c_plane_stride;
    std::vector<std::byte> c(static_cast<std::size_t>(elems * c_elem_bytes() + 2 * kGuard));
    for (std::size_t i = 0; i < c.size(); ++i) c[i] = static_cast<std::byte>(0xA5 ^ (i * 7));
    if (spec_.epilogue == product::Epilogue::kReduceAdd) {
      auto* const at = reinterpret_cast<std::int8_t*>(c.data() + kGuard);
      for (std::int64_t l = 0; l < planes; ++l) {
        for (std::int64_t j = 0; j < d.n; ++j) {
          for (std::int64_t i = 0; i < d.m; ++i)
            at[l * d.c_plane_stride + j * d.c_col_stride + i] = element(3, l, j, i, true);
        }
      }
    }
    return c;
  }
  /// Where C begins in such storage.
  [[nodiscard]] static void* c_begin(std::vector<std::byte>& c) { return c.data() + kGuard; }

  [[nodiscard]] std::string name() const {
    std::string text = std::to_string(spec_.m) + "x" + std::to_string(spec_.n) + "x" + std::to_string(spec_.k) + " " +
                       to_string(spec_.epilogue) + " " + to_string(spec_.fill) + " p=";
    for (const auto p : spec_.moduli) text += std::to_string(p) + ",";
    if (spec_.extra_k != 0) text += " k_stride+" + std::to_string(spec_.extra_k);
    if (spec_.extra_rows != 0) text += " c_stride+" + std::to_string(spec_.extra_rows);
    if (spec_.interleaves_planes) text += " interleaved";
    if (spec_.has_unsigned_bytes) text += " unsigned";
    return text;
  }

  /// The operands as they must still be after a run.
  [[nodiscard]] bool has_intact_operands() const { return checksum() == checksum_at_start_; }

 private:
  static constexpr std::int64_t kGuard = 64;

  static product::ProductDesc describe(const CaseSpec& s) {
    product::ProductDesc d;
    d.m = s.m;
    d.n = s.n;
    d.k = s.k;
    d.num_products = static_cast<int>(s.moduli.size());
    d.epilogue = s.epilogue;
    d.has_unsigned_bytes = s.has_unsigned_bytes;
    for (std::size_t l = 0; l < s.moduli.size(); ++l) d.moduli[l] = s.moduli[l];
    const std::int64_t row = base::round_up(s.k, product::kPadBytes) + s.extra_k;
    d.a_row_stride = row;
    d.b_row_stride = row;
    d.a_plane_stride = s.m * row + s.extra_k;
    d.b_plane_stride = s.n * row;
    const std::int64_t column = s.m + s.extra_rows;
    const auto planes = static_cast<std::int64_t>(s.moduli.size());
    d.c_col_stride = s.interleaves_planes ? column * planes : column;
    d.c_plane_stride = s.interleaves_planes ? column : s.n * column + s.extra_rows;
    return d;
  }

  [[nodiscard]] std::int64_t operand_bytes(std::int64_t plane_stride) const {
    return desc_.num_products * plane_stride;
  }

  [[nodiscard]] std::int8_t element(std::uint64_t seed, std::int64_t l, std::int64_t i, std::int64_t x,
                                    bool is_a) const {
    const int p = spec_.moduli[static_cast<std::size_t>(l)];
    const int least = spec_.has_unsigned_bytes ? 0 : num::residue_min(p);
    const int most = spec_.has_unsigned_bytes ? p - 1 : num::residue_max(p);
    const std::uint64_t h = hash(hash(hash(seed * 64 + static_cast<std::uint64_t>(l)) + static_cast<std::uint64_t>(i)) +
                                 static_cast<std::uint64_t>(x));
    switch (spec_.fill) {
      case Fill::kLowest:
        return static_cast<std::int8_t>(least);
      case Fill::kHighest:
        return static_cast<std::int8_t>(most);
      case Fill::kOpposite:
        return static_cast<std::int8_t>(is_a ? least : most);
      case Fill::kBytes:
        return static_cast<std::int8_t>(h >> 56);
      case Fill::kResidues:
        break;
    }
    return static_cast<std::int8_t>(least + static_cast<int>((h >> 32) % static_cast<std::uint64_t>(p)));
  }

  /// Rows of k elements, zeros up to a multiple of 64, and beyond that bytes that nobody may use.
  void fill_operand(std::byte* data, std::int64_t rows, std::int64_t row_stride, std::int64_t plane_stride, bool is_a) {
    for (std::int64_t l = 0; l < desc_.num_products; ++l) {
      auto* const plane = reinterpret_cast<std::int8_t*>(data) + l * plane_stride;
      std::memset(plane, 0x5B, static_cast<std::size_t>(plane_stride));
      for (std::int64_t i = 0; i < rows; ++i) {
        std::int8_t* const row = plane + i * row_stride;
        for (std::int64_t x = 0; x < spec_.k; ++x) row[x] = element(is_a ? 1 : 2, l, i, x, is_a);
        std::memset(row + spec_.k, 0, static_cast<std::size_t>(base::round_up(spec_.k, product::kPadBytes) - spec_.k));
      }
    }
    checksum_at_start_ = checksum();
  }

  [[nodiscard]] std::uint64_t checksum() const {
    std::uint64_t sum = 0;
    for (const AlignedBytes* bytes : {&a_, &b_}) {
      for (std::size_t i = 0; i < bytes->size(); ++i)
        sum = sum * 1099511628211ULL + static_cast<std::uint64_t>(bytes->data()[i]);
    }
    return sum;
  }

  CaseSpec spec_;
  product::ProductDesc desc_;
  AlignedBytes a_;
  AlignedBytes b_;
  std::uint64_t checksum_at_start_ = 0;
};

/// A machine that has everything; what it really has is for run() to say.
[[nodiscard]] inline product::DeviceFacts every_feature(int num_threads) {
  product::DeviceFacts facts;
  facts.num_threads = num_threads;
  facts.has_avx2 = facts.has_avx512 = facts.has_avx512_vnni = facts.has_neon = true;
  return facts;
}

}  // namespace kizami::engines::testing
