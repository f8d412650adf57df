// SPDX-License-Identifier: MIT
#include "device_timeline.hpp"

#include <dlfcn.h>

#include <stdexcept>

#if __has_include(<cupti.h>)
#include <cupti.h>
#include <cxxabi.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <mutex>
#include <tuple>

namespace bench {
namespace {

constexpr std::size_t kBufferBytes = std::size_t{1} << 20;
constexpr std::size_t kBufferAlignment = 64;
/// Calls of the host that take less are left out.
constexpr double kShortestHostCall = 0.1;
constexpr CUpti_ActivityKind kKinds[] = {CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, CUPTI_ACTIVITY_KIND_MEMCPY,
                                         CUPTI_ACTIVITY_KIND_MEMCPY2, CUPTI_ACTIVITY_KIND_MEMSET,
                                         CUPTI_ACTIVITY_KIND_RUNTIME};

/// CUPTI, opened.
class Cupti {
 public:
  Cupti() {
    for (const char* name : {"libcupti.so", "libcupti.so.13", "libcupti.so.12"}) {
      if (library_ == nullptr) library_ = dlopen(name, RTLD_NOW);
    }
    if (library_ == nullptr) throw std::runtime_error("a timeline wants libcupti.so, which is not found");
  }
  template <class Function>
  [[nodiscard]] Function* find(const char* name) const {
    auto* const function = reinterpret_cast<Function*>(dlsym(library_, name));
    if (function == nullptr) throw std::runtime_error(std::string("libcupti.so has no ") + name);
    return function;
  }

 private:
  void* library_ = nullptr;
};

void check_cupti(CUptiResult result, const char* what) {
  if (result != CUPTI_SUCCESS)
    throw std::runtime_error(std::string(what) + ": CUptiResult " + std::to_string(static_cast<int>(result)));
}

/// What CUPTI's own thread hands in.
struct Records {
  std::mutex mutex;
  decltype(cuptiActivityGetNextRecord)* next = nullptr;
  decltype(cuptiGetCallbackName)* name_of = nullptr;
  std::uint64_t begin = 0;
  std::vector<TimelineEntry> entries;
  std::map<std::string, HostCalls> host_calls;
};
Records records;

/// A kernel's name without what it is declared in and its arguments.
[[nodiscard]] std::string short_name(const char* mangled) {
  if (mangled == nullptr) return "kernel";
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> demangled(abi::__cxa_demangle(mangled, nullptr, nullptr, &status),
                                                         std::free);
  std::string name = status == 0 ? demangled.get() : mangled;
  for (std::size_t at = name.find("(anonymous namespace)::"); at != std::string::npos;
       at = name.find("(anonymous namespace)::"))
    name.erase(at, 23);
  const std::size_t end = name.find_first_of("<(");
  name = name.substr(0, end);
  const std::size_t begin = name.find_last_of(" :");
  return begin == std::string::npos ? name : name.substr(begin + 1);
}

[[nodiscard]] const char* name_of_memory(std::uint8_t kind) {
  return kind == CUPTI_ACTIVITY_MEMORY_KIND_DEVICE ? "device" : "host";
}

template <class Record>
TimelineEntry& add(const Record& record, std::string what) {
  const auto milliseconds = [](std::uint64_t time) {
    return (static_cast<double>(time) - static_cast<double>(records.begin)) * 1e-6;
  };
  TimelineEntry entry;
  entry.begin = milliseconds(record.start);
  entry.end = milliseconds(record.end);
  entry.what = std::move(what);
  if constexpr (requires { record.deviceId; }) {
    entry.device = static_cast<int>(record.deviceId);
    entry.stream = static_cast<int>(record.streamId);
  }
  if constexpr (requires { record.bytes; }) entry.bytes = record.bytes;
  return records.entries.emplace_back(std::move(entry));
}

void add_record(const CUpti_Activity* record) {
  if (record->kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL) {
    const auto& kernel = *reinterpret_cast<const CUpti_ActivityKernel9*>(record);
    add(kernel, short_name(kernel.name));
  } else if (record->kind == CUPTI_ACTIVITY_KIND_MEMCPY) {
    const auto& copy = *reinterpret_cast<const CUpti_ActivityMemcpy5*>(record);
    add(copy, std::string("copy ") + name_of_memory(copy.srcKind) + " -> " + name_of_memory(copy.dstKind));
  } else if (record->kind == CUPTI_ACTIVITY_KIND_MEMCPY2) {
    const auto& copy = *reinterpret_cast<const CUpti_ActivityMemcpyPtoP4*>(record);
    add(copy, "copy " + std::to_string(copy.srcDeviceId) + " -> " + std::to_string(copy.dstDeviceId));
  } else if (record->kind == CUPTI_ACTIVITY_KIND_MEMSET) {
    add(*reinterpret_cast<const CUpti_ActivityMemset4*>(record), "clearing");
  } else if (record->kind == CUPTI_ACTIVITY_KIND_RUNTIME) {
    const auto& call = *reinterpret_cast<const CUpti_ActivityAPI*>(record);
    const char* name = nullptr;
    static_cast<void>(records.name_of(CUPTI_CB_DOMAIN_RUNTIME_API, call.cbid, &name));
    const TimelineEntry& entry = add(call, name == nullptr ? "a call of CUDA" : name);
    const double took = entry.end - entry.begin;
    HostCalls& calls = records.host_calls[entry.what];
    ++calls.count;
    calls.milliseconds += took;
    if (took < kShortestHostCall) records.entries.pop_back();
  }
}

extern "C" void CUPTIAPI give_buffer(std::uint8_t** buffer, std::size_t* size, std::size_t* max_records) {
  *buffer = static_cast<std::uint8_t*>(std::aligned_alloc(kBufferAlignment, kBufferBytes));
  *size = *buffer == nullptr ? 0 : kBufferBytes;
  *max_records = 0;
}

extern "C" void CUPTIAPI take_buffer(CUcontext, std::uint32_t, std::uint8_t* buffer, std::size_t,
                                     std::size_t valid_size) {
  const std::lock_guard lock(records.mutex);
  CUpti_Activity* record = nullptr;
  while (records.next(buffer, valid_size, &record) == CUPTI_SUCCESS) add_record(record);
  std::free(buffer);
}

}  // namespace

Timeline record_timeline(const std::function<void()>& call) {
  static const Cupti cupti;
  const auto now = [time_of = cupti.find<decltype(cuptiGetTimestamp)>("cuptiGetTimestamp")] {
    std::uint64_t time = 0;
    check_cupti(time_of(&time), "cuptiGetTimestamp");
    return time;
  };
  records.next = cupti.find<decltype(cuptiActivityGetNextRecord)>("cuptiActivityGetNextRecord");
  records.name_of = cupti.find<decltype(cuptiGetCallbackName)>("cuptiGetCallbackName");
  check_cupti(
      cupti.find<decltype(cuptiActivityRegisterCallbacks)>("cuptiActivityRegisterCallbacks")(give_buffer, take_buffer),
      "cuptiActivityRegisterCallbacks");
  const auto flush = [&] {
    check_cupti(cupti.find<decltype(cuptiActivityFlushAll)>("cuptiActivityFlushAll")(0), "cuptiActivityFlushAll");
  };
  for (const CUpti_ActivityKind kind : kKinds)
    check_cupti(cupti.find<decltype(cuptiActivityEnable)>("cuptiActivityEnable")(kind), "cuptiActivityEnable");
  call();  // CUPTI makes itself ready
  flush();
  {
    const std::lock_guard lock(records.mutex);
    records.entries.clear();
    records.host_calls.clear();
  }
  records.begin = now();
  call();
  const std::uint64_t end = now();
  flush();
  for (const CUpti_ActivityKind kind : kKinds)
    check_cupti(cupti.find<decltype(cuptiActivityDisable)>("cuptiActivityDisable")(kind), "cuptiActivityDisable");
  Timeline timeline;
  timeline.milliseconds = static_cast<double>(end - records.begin) * 1e-6;
  {
    const std::lock_guard lock(records.mutex);
    timeline.entries = std::move(records.entries);
    records.entries.clear();
    for (const auto& [name, calls] : records.host_calls)
      timeline.host_calls.push_back({name, calls.count, calls.milliseconds});
    records.host_calls.clear();
  }
  std::sort(timeline.host_calls.begin(), timeline.host_calls.end(),
            [](const HostCalls& x, const HostCalls& y) { return x.milliseconds > y.milliseconds; });
  if (timeline.entries.empty()) throw std::runtime_error("CUPTI has recorded nothing of the call");
  std::stable_sort(timeline.entries.begin(), timeline.entries.end(),
                   [](const TimelineEntry& x, const TimelineEntry& y) {
                     return std::tie(x.device, x.end) < std::tie(y.device, y.end);
                   });
  return timeline;
}

void write_timeline(const Timeline& timeline, const std::string& title, const std::string& path) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "a"), std::fclose);
  if (file == nullptr) throw std::runtime_error(path + ": cannot be written");
  std::fprintf(file.get(), "# %s: %.3f ms\n# device stream begin end ms what\n", title.c_str(), timeline.milliseconds);
  for (const TimelineEntry& entry : timeline.entries) {
    const double took = entry.end - entry.begin;
    const std::string device = entry.device < 0 ? "host" : std::to_string(entry.device);
    std::fprintf(file.get(), "%4s %6d %9.3f %9.3f %9.3f  %s", device.c_str(), entry.stream, entry.begin, entry.end,
                 took, entry.what.c_str());
    if (entry.bytes != 0)
      std::fprintf(file.get(), ", %.3f GB, %.0f GB/s", static_cast<double>(entry.bytes) * 1e-9,
                   static_cast<double>(entry.bytes) * 1e-6 / took);
    std::fprintf(file.get(), "\n");
  }
  for (const HostCalls& calls : timeline.host_calls) {
    std::fprintf(file.get(), "# %4d times %s: %.3f ms, %.1f us each\n", calls.count, calls.name.c_str(),
                 calls.milliseconds, 1e3 * calls.milliseconds / calls.count);
  }
}

}  // namespace bench

#else

namespace bench {

Timeline record_timeline(const std::function<void()>&) {
  throw std::runtime_error("this program was built where cupti.h is not: it has no timelines");
}
void write_timeline(const Timeline&, const std::string&, const std::string&) {}

}  // namespace bench
#endif
