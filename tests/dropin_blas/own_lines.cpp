// SPDX-License-Identifier: MIT
// An ordinary program that multiplies a block of columns and then each column, row and element of the result alone,
// with dgemm_ and its kin, dsyrk_ and dsymm_ beside dgemm_. Prints how many of these have other bits, and ends with 1
// if any has.
#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>
#include <type_traits>
#include <vector>

#define DECLARE(name, T)                                                                                             \
  extern "C" void name(const char*, const char*, const int*, const int*, const int*, const T*, const T*, const int*, \
                       const T*, const int*, const T*, T*, const int*, std::size_t, std::size_t)
DECLARE(sgemm_, float);
DECLARE(dgemm_, double);
DECLARE(cgemm_, std::complex<float>);
DECLARE(zgemm_, std::complex<double>);
#undef DECLARE
extern "C" void dsyrk_(const char*, const char*, const int*, const int*, const double*, const double*, const int*,
                       const double*, double*, const int*, std::size_t, std::size_t);
extern "C" void dsymm_(const char*, const char*, const int*, const int*, const double*, const double*, const int*,
                       const double*, const int*, const double*, double*, const int*, std::size_t, std::size_t);

namespace {

constexpr int kSize = 40;
constexpr int kInner = 60;

template <class T>
void multiply(char op_b, int m, int n, int k, const T* a, int lda, const T* b, int ldb, T* c, int ldc) {
  const T one(1), zero(0);
  if constexpr (std::is_same_v<T, float>) sgemm_("N", &op_b, &m, &n, &k, &one, a, &lda, b, &ldb, &zero, c, &ldc, 1, 1);
  if constexpr (std::is_same_v<T, double>) dgemm_("N", &op_b, &m, &n, &k, &one, a, &lda, b, &ldb, &zero, c, &ldc, 1, 1);
  if constexpr (std::is_same_v<T, std::complex<float>>)
    cgemm_("N", &op_b, &m, &n, &k, &one, a, &lda, b, &ldb, &zero, c, &ldc, 1, 1);
  if constexpr (std::is_same_v<T, std::complex<double>>)
    zgemm_("N", &op_b, &m, &n, &k, &one, a, &lda, b, &ldb, &zero, c, &ldc, 1, 1);
}

/// Numbers whose exponents spread over 2^spread, more in some lines than in others.
template <class T>
std::vector<T> matrix(int rows, int cols, int spread, std::uint64_t& state) {
  std::vector<T> out;
  const auto next = [&] { return (state = state * 6364136223846793005ULL + 1442695040888963407ULL) >> 33; };
  for (int j = 0; j < cols; ++j) {
    for (int i = 0; i < rows; ++i) {
      double x = static_cast<double>(next()) * 0x1p-30 - 1;
      for (std::uint64_t halvings = next() % static_cast<std::uint64_t>(1 + spread * (i + j) / (rows + cols));
           halvings > 0; --halvings)
        x *= 0.5;
      out.push_back(T(static_cast<decltype(std::abs(T{}))>(x)));
    }
  }
  return out;
}

/// Parts of C = A B that have other bits when they are multiplied alone.
template <class T>
int other_parts() {
  int count = 0;
  std::uint64_t state = 7;
  const std::vector<T> a = matrix<T>(kSize, kInner, 60, state);
  const std::vector<T> b = matrix<T>(kInner, kSize, 60, state);
  std::vector<T> c(kSize * kSize), part(kSize * kSize);
  const auto compare = [&](int i, int j, int m, int n) {
    multiply('N', m, n, kInner, a.data() + i, kSize, b.data() + j * kInner, kInner, part.data(), kSize);
    bool is_equal = true;
    for (int col = 0; col < n; ++col) {
      is_equal = is_equal && std::memcmp(part.data() + col * kSize, c.data() + i + (j + col) * kSize,
                                         static_cast<std::size_t>(m) * sizeof(T)) == 0;
    }
    count += is_equal ? 0 : 1;
  };
  multiply('N', kSize, kSize, kInner, a.data(), kSize, b.data(), kInner, c.data(), kSize);
  for (int j = 0; j < kSize; ++j) {
    compare(0, j, kSize, 1);
    compare(j, 0, 1, kSize);
    for (int i = 0; i < kSize; ++i) compare(i, j, 1, 1);
  }
  return count;
}

/// Elements of a triangle of A A^T by dsyrk_, and of A B with symmetric A by dsymm_, that have other bits by dgemm_.
int other_elements() {
  int count = 0;
  std::uint64_t state = 9;
  const double one = 1, zero = 0;
  const std::vector<double> a = matrix<double>(kSize, kInner, 60, state);
  std::vector<double> c(kSize * kSize), d(kSize * kSize);
  dsyrk_("L", "N", &kSize, &kInner, &one, a.data(), &kSize, &zero, c.data(), &kSize, 1, 1);
  multiply('T', kSize, kSize, kInner, a.data(), kSize, a.data(), kSize, d.data(), kSize);
  for (int j = 0; j < kSize; ++j)
    for (int i = j; i < kSize; ++i)
      count += c[static_cast<std::size_t>(i + j * kSize)] == d[static_cast<std::size_t>(i + j * kSize)] ? 0 : 1;
  std::vector<double> full(kSize * kSize);
  for (int j = 0; j < kSize; ++j)
    for (int i = 0; i < kSize; ++i)
      full[static_cast<std::size_t>(i + j * kSize)] =
          a[static_cast<std::size_t>(std::max(i, j) + std::min(i, j) * kSize)];
  dsymm_("L", "L", &kSize, &kSize, &one, a.data(), &kSize, a.data(), &kSize, &zero, c.data(), &kSize, 1, 1);
  multiply('N', kSize, kSize, kSize, full.data(), kSize, a.data(), kSize, d.data(), kSize);
  for (std::size_t i = 0; i < c.size(); ++i) count += c[i] == d[i] ? 0 : 1;
  return count;
}

}  // namespace

int main() {
  const int counts[]{other_parts<float>(), other_parts<double>(), other_parts<std::complex<float>>(),
                     other_parts<std::complex<double>>(), other_elements()};
  int sum = 0;
  for (const int count : counts) sum += count;
  std::printf("other bits: s %d, d %d, c %d, z %d, syrk and symm %d\n", counts[0], counts[1], counts[2], counts[3],
              counts[4]);
  return sum == 0 ? 0 : 1;
}
