// SPDX-License-Identifier: MIT
// kizami::multi::Communicator over MPI. A rank that does not come is an error after so many seconds, and no hang: all
// calls of MPI are those that return at once, and are asked whether they are done.
#pragma once

#include <mpi.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <thread>

#include "kizami/ranks.hpp"

class MpiRanks final : public kizami::multi::Communicator {
 public:
  /// @param communicator  used by nobody else during a call
  explicit MpiRanks(MPI_Comm communicator, double seconds = 10) : communicator_(communicator), seconds_(seconds) {
    MPI_Comm_rank(communicator, &rank_);
    MPI_Comm_size(communicator, &size_);
    MPI_Comm_set_errhandler(communicator, MPI_ERRORS_RETURN);
  }

  [[nodiscard]] int rank() const override { return rank_; }
  [[nodiscard]] int size() const override { return size_; }

  kizami::Status all_reduce(kizami::multi::Reduction reduction, std::span<std::int64_t> values) override {
    const MPI_Op op = reduction == kizami::multi::Reduction::kSum ? MPI_SUM : MPI_MAX;
    return in_pieces(values, [&](std::int64_t* data, int count, MPI_Request* request) {
      return wait("MPI_Iallreduce", MPI_Iallreduce(MPI_IN_PLACE, data, count, MPI_INT64_T, op, communicator_, request),
                  request);
    });
  }
  kizami::Status broadcast(std::span<std::byte> bytes, int root) override {
    return in_pieces(bytes, [&](std::byte* data, int count, MPI_Request* request) {
      return wait("MPI_Ibcast", MPI_Ibcast(data, count, MPI_BYTE, root, communicator_, request), request);
    });
  }
  kizami::Status send(std::span<const std::byte> bytes, int to) override {
    return in_pieces(bytes, [&](const std::byte* data, int count, MPI_Request* request) {
      return wait("MPI_Isend", MPI_Isend(data, count, MPI_BYTE, to, kTag, communicator_, request), request);
    });
  }
  kizami::Status receive(std::span<std::byte> bytes, int from) override {
    return in_pieces(bytes, [&](std::byte* data, int count, MPI_Request* request) {
      return wait("MPI_Irecv", MPI_Irecv(data, count, MPI_BYTE, from, kTag, communicator_, request), request);
    });
  }

 private:
  static constexpr int kTag = 0;

  /// MPI counts in int.
  template <class E, class Visit>
  static kizami::Status in_pieces(std::span<E> values, const Visit& visit) {
    constexpr std::size_t kMost = std::size_t{1} << 30;
    for (std::size_t at = 0; at < values.size(); at += kMost) {
      MPI_Request request = MPI_REQUEST_NULL;
      const std::size_t count = std::min(kMost, values.size() - at);
      const kizami::Status status = visit(values.data() + at, static_cast<int>(count), &request);
      if (!status.ok()) return status;
    }
    return {};
  }

  /// A request that is given up is left to MPI: its memory may be written until MPI_Abort() or the end of the program.
  kizami::Status wait(const char* what, int error, MPI_Request* request) const {
    const auto failure = [&](const std::string& why) {
      return kizami::Status(kizami::StatusCode::kInternal,
                            std::string(what) + " on rank " + std::to_string(rank_) + ": " + why);
    };
    const auto words_of = [](int code) {
      char text[MPI_MAX_ERROR_STRING] = {};
      int length = 0;
      MPI_Error_string(code, text, &length);
      return std::string(text, static_cast<std::size_t>(length));
    };
    const auto begin = std::chrono::steady_clock::now();
    for (int is_done = 0; error == MPI_SUCCESS;) {
      error = MPI_Test(request, &is_done, MPI_STATUS_IGNORE);
      if (is_done != 0) return error == MPI_SUCCESS ? kizami::Status() : failure(words_of(error));
      if (std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count() > seconds_)
        return failure("no answer within " + std::to_string(seconds_) + " s");
      std::this_thread::yield();
    }
    return failure(words_of(error));
  }

  MPI_Comm communicator_;
  double seconds_;
  int rank_ = 0;
  int size_ = 1;
};
