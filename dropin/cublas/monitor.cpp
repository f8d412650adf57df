// SPDX-License-Identifier: MIT
#include "dropin/cublas/monitor.hpp"

#include "dropin/cublas/device_lines.hpp"

namespace kizami::dropin::cublas {
namespace {

constexpr const char* kCaptured = "the stream is captured into a graph";

template <class T>
class SamplesOf : public Monitor::Samples {
 public:
  SamplesOf(const Call& call, const Context& context) : read_{context.stream} {
    constexpr std::int64_t kLast = Sample<T>::kElements - 1;
    for (int e = 0; e <= kLast; ++e)
      sample_.add(typed<T>(call, context, product_of(e, kLast, call.num_products)), e, read_);
  }
  [[nodiscard]] double worst_ratio(
      const std::function<Allowance(std::int64_t i, std::int64_t j)>& allowance) const override {
    return sample_.worst_ratio(read_, allowance);
  }

 private:
  ReadThroughStream<T> read_;
  Sample<T> sample_;
};

}  // namespace

Monitor::Monitor(const Call& call, const Context& context) noexcept {
  try {
    if (is_captured(context.stream)) {
      why_none_ = kCaptured;
      return;
    }
    const RelaxedCapture relaxed;
    samples_ = with_scalar(call.scalar, [&]<class T>() -> std::unique_ptr<Samples> {
      return std::make_unique<SamplesOf<T>>(call, context);
    });
  } catch (const std::exception& e) {
    why_none_ = e.what();
  }
}

void Monitor::judge(const std::function<Allowance(std::int64_t i, std::int64_t j)>& allowance,
                    CallReport& report) noexcept {
  try {
    report.why_no_sample = why_none_;
    if (samples_ == nullptr) return;
    const RelaxedCapture relaxed;
    report.worst_ratio = samples_->worst_ratio(allowance);
  } catch (const std::exception& e) {
    report.why_no_sample = e.what();
  }
}

}  // namespace kizami::dropin::cublas
