// SPDX-License-Identifier: MIT
// Routines of this library that a native library may lack: the reference BLAS has no gemm3m and, before 3.12, no gemmt.
#include <cstdio>
#include <cstdlib>
#include <string>

#include "dropin/blas/emulate.hpp"
#include "dropin/blas/plain_int.hpp"
#include "dropin/blas/take.hpp"
#include "dropin/policy/rules.hpp"

namespace kizami::dropin::blas {
namespace {

/// The number of the first argument of the routine's Fortran form that is not valid.
template <class T>
int first_invalid(const Call<T>& x) {
  const auto is_op = [](char letter) { return letter == 'N' || letter == 'T' || letter == 'C'; };
  const auto fits = [](std::int64_t ld, std::int64_t rows) { return ld >= std::max<std::int64_t>(1, rows); };
  const int shift = x.routine == Routine::kGemmt ? 1 : 0;  // uplo stands first, and n for m and n
  if (shift == 1 && x.uplo != 'U' && x.uplo != 'L') return 1;
  if (!is_op(x.op_a)) return 1 + shift;
  if (!is_op(x.op_b)) return 2 + shift;
  if (x.m < 0) return 3 + shift;
  if (x.n < 0) return 4;
  if (x.k < 0) return 5;
  if (!fits(x.lda, x.op_a == 'N' ? x.m : x.k)) return 8;
  if (!fits(x.ldb, x.op_b == 'N' ? x.k : x.n)) return 10;
  return 13;
}

[[noreturn]] void refuse(const char* name) {
  std::fprintf(stderr, "kizami: %s is called, and no BLAS has it\n", name);
  std::abort();
}

}  // namespace

template <class T>
void answer_for_missing(const Call<T>& call) noexcept {
  const bool is_product = call.routine == Routine::kGemm3m || call.routine == Routine::kGemmt;
  if (!is_product || !NativeLevel3<T>::is_there(std::max({call.m, call.n, call.k, call.lda, call.ldb, call.ldc})))
    refuse(call.name);
  if (!is_valid(call)) {
    using Xerbla = void(const char*, const PlainInt*, std::size_t);
    auto* xerbla = reinterpret_cast<Xerbla*>(find_program_function("xerbla_"));
    if (xerbla == nullptr) refuse("xerbla_");
    std::string name = letter_of(kScalarOf<T>) + std::string(to_string(call.routine));
    for (char& c : name) c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
    const PlainInt number = first_invalid(call);
    return xerbla(name.c_str(), &number, name.size());
  }
  if (call.m == 0 || call.n == 0) return;
  try {
    Products<T> native;
    emulate(call, native);
  } catch (...) {
    std::fprintf(stderr, "kizami: %s: no memory\n", call.name);
    std::abort();
  }
}

template void answer_for_missing<float>(const Call<float>&) noexcept;
template void answer_for_missing<double>(const Call<double>&) noexcept;
template void answer_for_missing<std::complex<float>>(const Call<std::complex<float>>&) noexcept;
template void answer_for_missing<std::complex<double>>(const Call<std::complex<double>>&) noexcept;

}  // namespace kizami::dropin::blas
