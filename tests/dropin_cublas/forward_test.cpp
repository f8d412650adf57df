// SPDX-License-Identifier: MIT
// Every product in the headers of cuBLAS: what is not emulated reaches cuBLAS as it came.
#include <cublasLt.h>
#include <cublasXt.h>

#include <cstring>

#include "dropin_cublas/process.hpp"

namespace kizami::dropin_test {
namespace {

/// What addresses point to: 1, whatever it means. The first one is a handle.
class Memory {
 public:
  Memory() {
    for (std::int64_t& x : words_) x = 1;
    const FakeHandle handle;
    std::memcpy(words_, &handle, sizeof handle);
  }
  [[nodiscard]] void* at(std::size_t i) { return &words_[4 * i]; }

 private:
  std::int64_t words_[100];
};

/// The i-th argument: another value for each, small enough for all options.
template <class T>
T sample(Memory& memory, std::size_t i) {
  static FakeDescriptor unknown;
  if constexpr (std::is_same_v<T, cublasLtMatmulDesc_t> || std::is_same_v<T, cublasLtMatrixLayout_t>) {
    return unknown.as<T>();
  } else if constexpr (std::is_pointer_v<T>) {
    return reinterpret_cast<T>(const_cast<void*>(static_cast<const void*>(memory.at(i))));
  } else if constexpr (std::is_enum_v<T>) {
    return static_cast<T>(1);
  } else {
    return static_cast<T>(i + 1);
  }
}

class EveryEntryPoint : public Interposer {
 protected:
  void check_forwarded(const char* name, const std::function<cublasStatus_t()>& call,
                       const std::vector<Argument>& arguments) {
    SCOPED_TRACE(name);
    expect_forwarded(call);
    ASSERT_EQ(native.size(), 1U);
    EXPECT_EQ(native[0].name, name);
    EXPECT_EQ(native[0].arguments, arguments);
    ++num_checked;
  }
  template <class... Arguments>
  void check_with(const char* name, cublasStatus_t (*function)(Arguments...), Arguments... given) {
    check_forwarded(name, [&] { return function(given...); }, {argument_of(given)...});
  }
  template <class... Arguments, std::size_t... I>
  void check(const char* name, cublasStatus_t (*function)(Arguments...), std::index_sequence<I...>) {
    check_with(name, function, sample<Arguments>(memory_, I)...);
  }
  template <class... Arguments>
  void check(const char* name, cublasStatus_t (*function)(Arguments...)) {
    check(name, function, std::index_sequence_for<Arguments...>{});
  }
  void check_all() {
#define ENTRY_POINT(name, parameters, arguments) check(#name, static_cast<cublasStatus_t(*) parameters>(name));
#include "entry_points.inc"
#undef ENTRY_POINT
    EXPECT_GE(num_checked, 129);
  }
  int num_checked = 0;

 private:
  Memory memory_;
};

TEST_F(EveryEntryPoint, IsForwardedUnderSchemeNative) {
  configuration().settings.policy.scheme = Scheme::kNative;
  check_all();
}

TEST_F(EveryEntryPoint, IsForwardedWhereThePlannerPrefersCublas) {
  planner().scheme = Scheme::kNative;
  check_all();
}

TEST_F(EveryEntryPoint, IsForwardedIfTheConfigurationIsNotUnderstood) {
  configuration().why_off = "a test";
  check_all();
}

}  // namespace
}  // namespace kizami::dropin_test
