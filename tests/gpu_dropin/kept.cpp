// SPDX-License-Identifier: MIT
// Operands that a program names (kizami/dropin.h): a named product has the bits of the same product without names, the
// first time, when its operand is split, and each time that this is taken again; also where elements need more than was
// kept, where the matrix lies elsewhere by then, in other streams, and when it is forgotten while a call uses it.
#include <cstdint>
#include <memory>

#include "gpu_dropin/checks.hpp"

namespace preload_check {
namespace {

constexpr int kSideA = 0, kSideB = 1;

/// Of the library that is preloaded; null without one.
struct Functions {
  using Name = int(int, std::uint64_t, std::uint64_t);
  using Forget = void(std::uint64_t);
  using Kept = void(std::uint64_t*, std::uint64_t*, std::size_t*);

  Name* name = reinterpret_cast<Name*>(dlsym(RTLD_DEFAULT, "kizami_dropin_name_operand"));
  Forget* forget = reinterpret_cast<Forget*>(dlsym(RTLD_DEFAULT, "kizami_dropin_forget_operand"));
  Kept* kept = reinterpret_cast<Kept*>(dlsym(RTLD_DEFAULT, "kizami_dropin_kept"));
};

struct Counts {
  std::uint64_t split = 0, taken = 0;
  std::size_t bytes = 0;
};
Counts counts_of(const Functions& functions) {
  Counts counts;
  functions.kept(&counts.split, &counts.taken, &counts.bytes);
  return counts;
}

/// Where Kizami answers, so many more are split and taken.
void expect_counts(const Functions& functions, const std::string& name, const Counts& before, std::uint64_t split,
                   std::uint64_t taken) {
  if (!expects_kizami) return;
  const Counts now = counts_of(functions);
  const std::string got =
      std::to_string(now.split - before.split) + " split, " + std::to_string(now.taken - before.taken) + " taken";
  report(name + ", counts", now.split - before.split == split && now.taken - before.taken == taken ? "" : got, got);
}

/// Elements over so many powers of two, by which a product climbs to a higher rung.
template <class T>
void widen(std::vector<T>& values, int exponents) {
  std::mt19937_64 source(77);
  for (T& x : values) x *= static_cast<typename PartOf<T>::Type>(std::ldexp(1, static_cast<int>(source() % exponents)));
}

/// What one product gives.
template <class T>
std::vector<T> product(const Handle& handle, OnDevice<T>& x) {
  const T alpha = make<T>(1.5, -0.5), beta = make<T>(-0.25, 2);
  handle.set(CUBLAS_POINTER_MODE_HOST);
  x.reset_c();
  check(x.multiply(handle.get(), &alpha, &beta), "product");
  return x.c.download();
}

struct Sides {
  bool has_a, has_b;
  const char* name;
};

template <class T>
void check_bits(const Handle& handle, const Functions& functions, const Shape& shape, int exponents, bool has_nan) {
  std::uint64_t id = 100;
  for (const Sides& sides : {Sides{true, false, "A"}, Sides{false, true, "B"}, Sides{true, true, "A and B"}}) {
    const std::string name = name_of<T>("kept ", shape) + sides.name + (exponents > 1 ? ", wide elements" : "") +
                             (has_nan ? ", with NaN" : "");
    ++id;
    guarded(name, [&] {
      OnDevice<T> x(shape, 41);
      if (exponents > 1) {
        widen(x.problem.a(), exponents);
        widen(x.problem.b(), exponents);
      }
      if (has_nan) x.problem.a()[5] = x.problem.b()[3] = make<T>(NAN, 0);
      x.a.upload(x.problem.a());
      x.b.upload(x.problem.b());
      const std::vector<T> plain = product(handle, x);
      const Counts before = counts_of(functions);
      for (int again = 0; again < 3; ++again) {
        if (sides.has_a) functions.name(kSideA, id, 1);
        if (sides.has_b) functions.name(kSideB, id, 1);
        expect_same_bits(name + ", " + std::to_string(again), plain, product(handle, x));
      }
      const std::uint64_t count = (sides.has_a ? 1U : 0U) + (sides.has_b ? 1U : 0U);
      expect_counts(functions, name, before, count, 2 * count);
      functions.forget(id);
    });
  }
}

/// The matrix has moved by the time that it is taken again, and a product that needs more than is kept reads it there.
void check_moved(const Handle& handle, const Functions& functions) {
  guarded("kept, moved", [&] {
    const Shape shape{kN, kN, 640, 512, 700};
    OnDevice<double> x(shape, 42);
    widen(x.problem.a(), 40);
    x.a.upload(x.problem.a());
    const std::vector<double> plain = product(handle, x);
    {
      OnDevice<double> first(shape, 42);
      first.a.upload(x.problem.a());
      functions.name(kSideA, 200, 1);
      expect_same_bits("kept, before it is moved", plain, product(handle, first));
    }
    functions.name(kSideA, 200, 1);
    expect_same_bits("kept, moved", plain, product(handle, x));
    functions.forget(200);
  });
}

/// Another version has other elements; without one those count that were there.
void check_versions(const Handle& handle, const Functions& functions) {
  guarded("kept, versions", [&] {
    OnDevice<double> x({kT, kN, 384, 512, 640}, 43);
    functions.name(kSideA, 201, 1);
    static_cast<void>(product(handle, x));
    x.problem.fill(44);
    x.a.upload(x.problem.a());
    x.b.upload(x.problem.b());
    const std::vector<double> plain = product(handle, x);
    functions.name(kSideA, 201, 2);
    expect_same_bits("kept, another version", plain, product(handle, x));
    functions.forget(201);
  });
}

/// A split that has not begun when another stream takes it, and an operand that is forgotten, and its memory wanted
/// again, before that stream has read it.
void check_two_streams(const Functions& functions) {
  guarded("kept, two streams", [&] {
    const Handle first, second, third;
    const double alpha = 1.5, beta = 0.5;
    OnDevice<double> x({kN, kN, 512, 512, 512}, 45);
    OnDevice<double> y({kN, kN, 512, 512, 512}, 45);
    OnDevice<double> other({kN, kN, 512, 512, 512}, 46);
    const std::vector<double> plain = [&] {
      check(x.multiply(first.get(), &alpha, &beta), "first product");
      return x.c.download();
    }();
    x.reset_c();
    Gate gate;
    check(cudaLaunchHostFunc(first.stream(), Gate::wait, &gate), "cudaLaunchHostFunc");
    functions.name(kSideA, 202, 1);
    check(x.multiply(first.get(), &alpha, &beta), "product behind a gate");
    functions.name(kSideA, 202, 1);
    check(y.multiply(second.get(), &alpha, &beta), "product of another stream");
    const bool waits = !expects_kizami || cudaStreamQuery(second.stream()) == cudaErrorNotReady;
    functions.forget(202);
    functions.name(kSideA, 203, 1);
    check(other.multiply(third.get(), &alpha, &beta), "product of a third stream");
    const bool is_held = cudaStreamQuery(first.stream()) == cudaErrorNotReady;
    gate.is_open = true;
    report("kept, nothing waits on the host", is_held ? "" : "the gate was passed");
    report("kept, another stream waits for the split", waits ? "" : "it does not");
    expect_same_bits("kept, behind a gate", plain, x.c.download());
    expect_same_bits("kept, another stream", plain, y.c.download());
    report("kept, a third stream", other.problem.judge(other.c.download(), alpha, beta));
    functions.forget(203);
  });
}

/// A named call that is captured keeps nothing: its replays multiply the elements that are there.
void check_captured(const Handle& handle, const Functions& functions) {
  guarded("kept, captured", [&] {
    OnDevice<double> x({kN, kT, 512, 384, 640}, 47);
    const double alpha = 1.5, beta = -0.25;
    functions.name(kSideA, 204, 1);
    static_cast<void>(product(handle, x));
    const Counts before = counts_of(functions);
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t executable = nullptr;
    check(cudaDeviceSynchronize(), "before capture");
    check(cudaStreamBeginCapture(handle.stream(), cudaStreamCaptureModeGlobal), "cudaStreamBeginCapture");
    functions.name(kSideA, 204, 1);
    functions.name(kSideB, 205, 1);
    const cublasStatus_t status = x.multiply(handle.get(), &alpha, &beta);
    check(cudaStreamEndCapture(handle.stream(), &graph), "cudaStreamEndCapture");
    check(status, "captured product");
    check(cudaGraphInstantiate(&executable, graph, 0), "cudaGraphInstantiate");
    functions.forget(204);
    x.problem.fill(48);
    x.a.upload(x.problem.a());
    x.b.upload(x.problem.b());
    x.reset_c();
    check(cudaGraphLaunch(executable, handle.stream()), "cudaGraphLaunch");
    report("kept, captured", x.problem.judge(x.c.download(), alpha, beta));
    expect_counts(functions, "kept, captured", before, 0, 0);
    check(cudaGraphExecDestroy(executable), "cudaGraphExecDestroy");
    check(cudaGraphDestroy(graph), "cudaGraphDestroy");
  });
}

/// More operands than KIZAMI_KEPT lets stay: every call is right, and what is held is given back at the end.
void check_many(const Handle& handle, const Functions& functions) {
  guarded("kept, many", [&] {
    constexpr std::uint64_t kFirst = 1000, kOperands = 12;
    OnDevice<double> x({kN, kN, 4096, 128, 2048}, 49);  // some 120 MB of planes each
    const std::vector<double> plain = product(handle, x);
    for (int round = 0; round < 2; ++round) {
      for (std::uint64_t id = kFirst; id < kFirst + kOperands; ++id) {
        functions.name(kSideA, id, 1);
        expect_same_bits("kept, many, " + std::to_string(id), plain, product(handle, x));
      }
    }
    const std::size_t bytes = counts_of(functions).bytes;
    report("kept, many, bytes", bytes <= std::size_t{1} << 30 ? "" : "more than the limit", std::to_string(bytes));
    for (std::uint64_t id = kFirst; id < kFirst + kOperands; ++id) functions.forget(id);
    report("kept, forgotten", counts_of(functions).bytes == 0 ? "" : std::to_string(counts_of(functions).bytes));
  });
}

template <class T>
void check_type(const Handle& handle, const Functions& functions) {
  check_bits<T>(handle, functions, {kN, kN, 513, 511, 640}, 1, false);
  check_bits<T>(handle, functions, {kT, kC, 512, 384, 1030}, 1, true);
  check_bits<T>(handle, functions, {kC, kT, 640, 512, 700}, sizeof(typename PartOf<T>::Type) == 8 ? 60 : 20, false);
}

}  // namespace

void check_kept(const Handle& handle, bool is_monitored) {
  const Functions functions;
  if (functions.name == nullptr) return;
  check_type<float>(handle, functions);
  check_type<double>(handle, functions);
  check_type<std::complex<float>>(handle, functions);
  check_type<std::complex<double>>(handle, functions);
  check_moved(handle, functions);
  check_versions(handle, functions);
  if (!is_monitored) check_two_streams(functions);  // samples wait for their stream
  check_captured(handle, functions);
  check_many(handle, functions);
}

}  // namespace preload_check
