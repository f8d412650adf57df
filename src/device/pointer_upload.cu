// SPDX-License-Identifier: MIT
#include "device/pointer_upload.hpp"

#include <algorithm>
#include <cstddef>

#include "base/overlapped_launch.hpp"

namespace kizami::device {
namespace {

/// As many pointers as a launch carries.
struct PointerChunk {
  static constexpr int kMost = 480;
  void* pointers[kMost];
};
__global__ void store_pointers(PointerChunk chunk, int count, void** out) {
  base::follow_previous_kernel();
  for (int i = static_cast<int>(threadIdx.x); i < count; i += static_cast<int>(blockDim.x)) out[i] = chunk.pointers[i];
}

}  // namespace

Status upload_pointers(std::span<void* const> pointers, void** out, product::Queue queue) {
  while (!pointers.empty()) {
    PointerChunk chunk{};
    const std::size_t count = std::min<std::size_t>(pointers.size(), PointerChunk::kMost);
    std::copy_n(pointers.begin(), count, chunk.pointers);
    KIZAMI_RETURN_IF_ERROR(base::launch_overlapped("store_pointers", store_pointers, dim3(1), dim3(128), 0, queue,
                                                   chunk, static_cast<int>(count), out));
    pointers = pointers.subspan(count);
    out += count;
  }
  return {};
}

}  // namespace kizami::device
