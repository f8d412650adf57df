// SPDX-License-Identifier: MIT
#include "dropin/blas/native.hpp"

#include <dlfcn.h>
#include <link.h>

#include <climits>
#include <complex>
#include <cstddef>
#include <string>
#include <vector>

#include "base/fork_safe.hpp"
#include "dropin/blas/plain_int.hpp"

namespace kizami::dropin::blas {
namespace {

int add_path(dl_phdr_info* info, std::size_t, void* paths) {
  if (info->dlpi_name != nullptr && *info->dlpi_name != '\0')
    static_cast<std::vector<std::string>*>(paths)->emplace_back(info->dlpi_name);
  return 0;
}

void* search_loaded(const char* name) {
  std::vector<std::string> paths;
  dl_iterate_phdr(add_path, &paths);
  for (const std::string& path : paths) {
    void* library = dlopen(path.c_str(), RTLD_LAZY | RTLD_NOLOAD);
    if (library == nullptr) continue;
    void* found = level3::search(library, name);
    dlclose(library);
    if (found != nullptr) return found;
  }
  return nullptr;
}

/// All but the last step of find_native(): nothing is loaded that the program does not have, or name.
void* find_present(const char* name) {
  void* found = level3::find_next(name);
  return found != nullptr ? found : search_loaded(name);
}

/// Libraries that are opened here stay open.
void* search_system(const char* name) {
#ifdef KIZAMI_BLAS_PLAIN_64
  constexpr const char* kNames[]{"libopenblas64.so.0", "libblas64.so.3"};
#else
  constexpr const char* kNames[]{"libopenblas.so.0", "libblas.so.3", "libblis.so.4"};
#endif
  for (const char* library : kNames) {
    void* found = level3::search(dlopen(library, RTLD_LAZY | RTLD_LOCAL), name);
    if (found != nullptr) return found;
  }
  return nullptr;
}

/// A routine by all names of Fortran that are in use: letter + routine + "_" and so on.
template <class T>
struct Names {
  static constexpr char kLetter = kScalarOf<T> == Scalar::kF32   ? 's'
                                  : kScalarOf<T> == Scalar::kF64 ? 'd'
                                  : kScalarOf<T> == Scalar::kC64 ? 'c'
                                                                 : 'z';
  void* plain = nullptr;   ///< integers of PlainInt
  void* narrow = nullptr;  ///< of int
  void* wide = nullptr;    ///< of int64_t

  explicit Names(const char* routine) {
    const std::string stem = kLetter + std::string(routine) + "_";
    if ((plain = find_present(stem.c_str())) != nullptr) return;
    if ((wide = find_present((stem + "64_").c_str())) != nullptr) return;
    if ((wide = find_present(("scipy_" + stem + "64_").c_str())) != nullptr) return;
    if ((narrow = find_present(("scipy_" + stem).c_str())) != nullptr) return;
    plain = search_system(stem.c_str());
  }
  [[nodiscard]] bool is_there(std::int64_t largest) const {
    const bool is_narrow_enough = largest <= INT_MAX;
    return wide != nullptr || (plain != nullptr && (is_narrow_enough || sizeof(PlainInt) == 8)) ||
           (narrow != nullptr && is_narrow_enough);
  }
};

/// The names of this element type, found once.
template <class T>
struct Level3 {
  Names<T> gemm{"gemm"};
  Names<T> trmm{"trmm"};
  Names<T> trsm{"trsm"};
  static const Level3& instance() {
    static constinit base::MadeOnce<Level3> found;
    return found.get();
  }
};

template <class T, class Int>
void call_gemm(void* function, char op_a, char op_b, std::int64_t m, std::int64_t n, std::int64_t k, const T& alpha,
               const T* a, std::int64_t lda, const T* b, std::int64_t ldb, const T& beta, T* c, std::int64_t ldc) {
  using Gemm = void(const char*, const char*, const Int*, const Int*, const Int*, const T*, const T*, const Int*,
                    const T*, const Int*, const T*, T*, const Int*, std::size_t, std::size_t);
  const Int sizes[]{static_cast<Int>(m),   static_cast<Int>(n),   static_cast<Int>(k),
                    static_cast<Int>(lda), static_cast<Int>(ldb), static_cast<Int>(ldc)};
  reinterpret_cast<Gemm*>(function)(&op_a, &op_b, &sizes[0], &sizes[1], &sizes[2], &alpha, a, &sizes[3], b, &sizes[4],
                                    &beta, c, &sizes[5], 1, 1);
}

template <class T, class Int>
void call_triangular(void* function, char side, char uplo, char op, char diag, std::int64_t m, std::int64_t n,
                     const T& alpha, const T* a, std::int64_t lda, T* b, std::int64_t ldb) {
  using Triangular = void(const char*, const char*, const char*, const char*, const Int*, const Int*, const T*,
                          const T*, const Int*, T*, const Int*, std::size_t, std::size_t, std::size_t, std::size_t);
  const Int sizes[]{static_cast<Int>(m), static_cast<Int>(n), static_cast<Int>(lda), static_cast<Int>(ldb)};
  reinterpret_cast<Triangular*>(function)(&side, &uplo, &op, &diag, &sizes[0], &sizes[1], &alpha, a, &sizes[2], b,
                                          &sizes[3], 1, 1, 1, 1);
}

template <class T>
void triangular(const Names<T>& names, char side, char uplo, char op, char diag, std::int64_t m, std::int64_t n,
                const T& alpha, const T* a, std::int64_t lda, T* b, std::int64_t ldb) {
  if (names.wide != nullptr)
    return call_triangular<T, std::int64_t>(names.wide, side, uplo, op, diag, m, n, alpha, a, lda, b, ldb);
  if (names.plain != nullptr)
    return call_triangular<T, PlainInt>(names.plain, side, uplo, op, diag, m, n, alpha, a, lda, b, ldb);
  call_triangular<T, int>(names.narrow, side, uplo, op, diag, m, n, alpha, a, lda, b, ldb);
}

}  // namespace

void* find_native(const char* name) {
  void* found = find_present(name);
  return found != nullptr ? found : search_system(name);
}

void* find_program_function(const char* name) {
  void* found = dlsym(RTLD_DEFAULT, name);
  return found != nullptr ? found : find_native(name);
}

template <class T>
bool NativeLevel3<T>::is_there(std::int64_t largest) {
  const Level3<T>& level = Level3<T>::instance();
  return level.gemm.is_there(largest) && level.trmm.is_there(largest) && level.trsm.is_there(largest);
}

template <class T>
void NativeLevel3<T>::gemm(char op_a, char op_b, std::int64_t m, std::int64_t n, std::int64_t k, T alpha, const T* a,
                           std::int64_t lda, const T* b, std::int64_t ldb, T beta, T* c, std::int64_t ldc) {
  const Names<T>& names = Level3<T>::instance().gemm;
  if (names.wide != nullptr)
    return call_gemm<T, std::int64_t>(names.wide, op_a, op_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
  if (names.plain != nullptr)
    return call_gemm<T, PlainInt>(names.plain, op_a, op_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
  call_gemm<T, int>(names.narrow, op_a, op_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
}

template <class T>
void NativeLevel3<T>::trmm(char side, char uplo, char op, char diag, std::int64_t m, std::int64_t n, T alpha,
                           const T* a, std::int64_t lda, T* b, std::int64_t ldb) {
  triangular(Level3<T>::instance().trmm, side, uplo, op, diag, m, n, alpha, a, lda, b, ldb);
}

template <class T>
void NativeLevel3<T>::trsm(char side, char uplo, char op, char diag, std::int64_t m, std::int64_t n, T alpha,
                           const T* a, std::int64_t lda, T* b, std::int64_t ldb) {
  triangular(Level3<T>::instance().trsm, side, uplo, op, diag, m, n, alpha, a, lda, b, ldb);
}

template class NativeLevel3<float>;
template class NativeLevel3<double>;
template class NativeLevel3<std::complex<float>>;
template class NativeLevel3<std::complex<double>>;

}  // namespace kizami::dropin::blas
