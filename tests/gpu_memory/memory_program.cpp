// SPDX-License-Identifier: MIT
// gpu_memory_program SIZE...: an ordinary program that multiplies square FP64 matrices of small whole numbers with
// cuBLAS, whose products are exact however they are summed. For each size a thread with a handle and a stream. It reads
// commands, a line each, and answers with a line each:
//   round N   every thread multiplies N times and compares with cuBLAS itself    "ok PRODUCTS", or "wrong WHY"
//   leave M   takes the device's memory but M MiB                                "ok"
//   free      gives that back                                                    "ok"
//   left      the free memory of the device                                      "ok BYTES"
//   facts     what a record says of the machine                                  "ok JSON"
//   fault     a kernel of the program fails; then one product                    "ok STATUS", of the product
// Exit code 77 without a device.
#include <cublas_v2.h>
#include <cuda_runtime_api.h>
#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <memory>
#include <random>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "gpu_memory/fault.hpp"
#include "lab/bench/harness/device.hpp"
#include "lab/bench/harness/facts.hpp"
#include "lab/bench/harness/records.hpp"

namespace {

void check(bool is_ok, const std::string& what) {
  if (!is_ok) throw std::runtime_error(what);
}
void check(cudaError_t error, const char* what) {
  check(error == cudaSuccess, std::string(what) + ": " + cudaGetErrorString(error));
}
void check(cublasStatus_t status, const char* what) {
  check(status == CUBLAS_STATUS_SUCCESS, std::string(what) + " returned " + std::to_string(static_cast<int>(status)));
}

/// cublasDgemm of cuBLAS itself, whatever stands before it.
decltype(&cublasDgemm_v2) native_dgemm() {
  for (const char* file : {"libcublas.so.13", "libcublas.so.12"}) {
    if (void* library = dlopen(file, RTLD_LAZY | RTLD_NOLOAD))
      return reinterpret_cast<decltype(&cublasDgemm_v2)>(dlsym(library, "cublasDgemm_v2"));
  }
  throw std::runtime_error("libcublas.so is not loaded");
}

class Matrix {
 public:
  explicit Matrix(std::size_t count) : count_(count) {
    check(cudaMalloc(&data_, count * sizeof(double)), "cudaMalloc");
  }
  Matrix(const Matrix&) = delete;
  Matrix& operator=(const Matrix&) = delete;
  ~Matrix() { static_cast<void>(cudaFree(data_)); }
  [[nodiscard]] double* data() const { return static_cast<double*>(data_); }
  void fill(unsigned seed) {
    std::minstd_rand random(seed);
    std::vector<double> values(count_);
    for (double& x : values) x = static_cast<double>(random() % 17) - 8;
    upload(values);
  }
  void upload(const std::vector<double>& values) {
    check(cudaMemcpy(data_, values.data(), count_ * sizeof(double), cudaMemcpyHostToDevice), "cudaMemcpy");
    // The copy from pageable memory may still be under way, and streams that do not block would not wait for it.
    check(cudaDeviceSynchronize(), "cudaMemcpy");
  }
  [[nodiscard]] std::vector<double> values() const {
    std::vector<double> values(count_);
    check(cudaMemcpy(values.data(), data_, count_ * sizeof(double), cudaMemcpyDeviceToHost), "cudaMemcpy");
    return values;
  }

 private:
  std::size_t count_;
  void* data_ = nullptr;
};

/// C <- A B + C, where C is 1 before.
class Product {
 public:
  explicit Product(int size) : size_(size), a_(count()), b_(count()), c_(count()), ones_(count(), 1.0) {
    check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "cudaStreamCreate");
    check(cublasCreate(&handle_), "cublasCreate");
    check(cublasSetStream(handle_, stream_), "cublasSetStream");
    a_.fill(1);
    b_.fill(2);
    check(multiply(native_dgemm()), "cublasDgemm of cuBLAS");
    expected_ = result();
  }
  /// @return the status of the product
  cublasStatus_t multiply(decltype(&cublasDgemm_v2) dgemm = &cublasDgemm_v2) {
    c_.upload(ones_);
    return enqueue(dgemm);
  }
  cublasStatus_t enqueue(decltype(&cublasDgemm_v2) dgemm = &cublasDgemm_v2) {
    const double one = 1;
    return dgemm(handle_, CUBLAS_OP_N, CUBLAS_OP_T, size_, size_, size_, &one, a_.data(), size_, b_.data(), size_, &one,
                 c_.data(), size_);
  }
  void multiply_and_compare(int times) {
    for (int i = 0; i < times; ++i) {
      check(multiply(), "cublasDgemm");
      check(result() == expected_, "a product of " + std::to_string(size_) + " is not that of cuBLAS");
    }
  }

 private:
  [[nodiscard]] std::size_t count() const { return static_cast<std::size_t>(size_) * static_cast<std::size_t>(size_); }
  [[nodiscard]] std::vector<double> result() const {
    check(cudaStreamSynchronize(stream_), "cudaStreamSynchronize");
    return c_.values();
  }

  int size_;
  Matrix a_, b_, c_;
  std::vector<double> ones_;
  cudaStream_t stream_ = nullptr;
  cublasHandle_t handle_ = nullptr;
  std::vector<double> expected_;
};

class Program {
 public:
  explicit Program(const std::vector<int>& sizes) {
    for (const int size : sizes) products_.push_back(std::make_unique<Product>(size));
  }
  std::string answer(const std::string& line) {
    std::istringstream words(line);
    std::string command;
    std::size_t number = 0;
    words >> command >> number;
    if (command == "round") return round(static_cast<int>(number));
    if (command == "leave") return leave(number << 20);
    if (command == "left") return "ok " + std::to_string(left());
    if (command == "facts") {
      const bench::Json facts{
          {"date", bench::today()}, {"device", bench::device_name()}, {"driver", bench::Gauges().driver}};
      return "ok " + facts.dump();
    }
    if (command == "fault") {
      check(break_device(), "the kernel did not fail");
      return "ok " + std::to_string(static_cast<int>(products_.front()->enqueue()));
    }
    check(command == "free", "unknown command " + line);
    for (void* memory : taken_) check(cudaFree(memory), "cudaFree");
    taken_.clear();
    return "ok";
  }

 private:
  std::string round(int times) {
    std::vector<std::thread> crew;
    std::vector<std::string> errors(products_.size());
    for (std::size_t i = 0; i < products_.size(); ++i) {
      crew.emplace_back([this, i, times, &errors] {
        try {
          products_[i]->multiply_and_compare(times);
        } catch (const std::exception& e) {
          errors[i] = e.what();
        }
      });
    }
    for (std::thread& thread : crew) thread.join();
    for (const std::string& error : errors) check(error.empty(), error);
    return "ok " + std::to_string(static_cast<std::size_t>(times) * products_.size());
  }
  [[nodiscard]] static std::size_t left() {
    std::size_t free = 0;
    std::size_t all = 0;
    check(cudaMemGetInfo(&free, &all), "cudaMemGetInfo");
    return free;
  }
  std::string leave(std::size_t bytes) {
    for (std::size_t piece = std::size_t{1} << 30; piece >= std::size_t{1} << 21; piece /= 2) {
      while (left() >= bytes + piece) {
        void* memory = nullptr;
        if (cudaMalloc(&memory, piece) != cudaSuccess) break;
        taken_.push_back(memory);
      }
    }
    static_cast<void>(cudaGetLastError());
    return "ok";
  }

  std::vector<std::unique_ptr<Product>> products_;
  std::vector<void*> taken_;
};

}  // namespace

int main(int argc, char** argv) {
  int num_devices = 0;
  if (cudaGetDeviceCount(&num_devices) != cudaSuccess || num_devices == 0) return 77;
  try {
    std::vector<int> sizes;
    for (int i = 1; i < argc; ++i) sizes.push_back(std::atoi(argv[i]));
    Program program(sizes);
    std::printf("ready\n");
    static_cast<void>(std::fflush(stdout));
    for (std::string line; std::getline(std::cin, line);) {
      std::printf("%s\n", program.answer(line).c_str());
      static_cast<void>(std::fflush(stdout));
    }
  } catch (const std::exception& e) {
    std::printf("wrong %s\n", e.what());
    return 1;
  }
  return 0;
}
