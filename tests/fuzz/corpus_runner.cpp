// SPDX-License-Identifier: MIT
// Runs a fuzz target without libFuzzer: every file of a corpus, then mutations of them, the same in every run.
//   fuzz_TARGET CORPUS MUTATIONS
// An input that ends the program is left in the file ./crash-input.
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <string_view>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);
/// There in programs with sanitizers.
extern "C" __attribute__((weak)) void __sanitizer_set_death_callback(void (*callback)());

namespace {

constexpr std::uint64_t kSeed = 20240229;
constexpr std::size_t kMaxInput = 1 << 17;
constexpr int kMaxSteps = 6;  // of one mutation

/// What the parsers look for, and numbers at the limits of types.
constexpr std::string_view kWords =
    "nan inf -inf -0 0 1 -1 1e308 1e999 5e-324 9007199254740993 4294967296 9223372036854775807 18446744073709551616 "
    "-9223372036854775808 \n \r\n \t % # { ( [ ' \\ , True None 'descr' '<c16' 'shape': (1,2,3) coordinate array "
    "complex integer hermitian skew-symmetric pattern a= seed= @middle exprand:phi=4";

std::string current;  // the input that runs

void keep_input() {
  const int fd = ::open("crash-input", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (fd < 0) return;
  [[maybe_unused]] const ssize_t ignored = ::write(fd, current.data(), current.size());
  ::close(fd);
}

void on_abort(int number) {
  keep_input();
  std::signal(number, SIG_DFL);
  std::raise(number);
}

void run_one(const std::string& input) {
  current = input;
  // A copy of exactly this size, so that a sanitizer sees a read beyond it.
  const std::vector<std::uint8_t> bytes(input.begin(), input.end());
  LLVMFuzzerTestOneInput(bytes.data(), bytes.size());
}

std::vector<std::string_view> split_at_blanks(std::string_view text) {
  std::vector<std::string_view> words;
  for (std::size_t end = 0; !text.empty(); text.remove_prefix(std::min(end + 1, text.size()))) {
    end = std::min(text.find(' '), text.size());
    words.push_back(text.substr(0, end));
  }
  return words;
}

class Mutator {
 public:
  explicit Mutator(const std::vector<std::string>& corpus) : corpus_(corpus), words_(split_at_blanks(kWords)) {}

  std::string next() {
    std::string out = corpus_[below(corpus_.size())];
    for (std::size_t steps = 1 + below(kMaxSteps); steps > 0; --steps) step(out);
    out.resize(std::min(out.size(), kMaxInput));
    return out;
  }

 private:
  /// @range limit > 0. The remainder is not quite uniform, but is the same with every standard library.
  std::size_t below(std::size_t limit) { return static_cast<std::size_t>(random_() % limit); }

  void step(std::string& text) {
    const std::size_t at = below(text.size() + 1);
    const std::size_t length = std::min(text.size() - at, 1 + below(16));
    switch (below(7)) {
      case 0:
        if (at < text.size()) text[at] = static_cast<char>(below(256));
        return;
      case 1:
        if (at < text.size()) text[at] = static_cast<char>(text[at] ^ (1 << below(8)));
        return;
      case 2:
        text.erase(at, length);
        return;
      case 3:
        text.insert(at, text.substr(at, length));
        return;
      case 4:
        text.insert(at, words_[below(words_.size())]);
        return;
      case 5:
        text.replace(at, length, words_[below(words_.size())]);
        return;
      default:
        splice(text, at);
    }
  }

  /// Goes on with the end of another file.
  void splice(std::string& text, std::size_t at) {
    const std::string& other = corpus_[below(corpus_.size())];
    text.resize(at);
    text += other.substr(below(other.size() + 1));
  }

  const std::vector<std::string>& corpus_;
  std::vector<std::string_view> words_;
  std::mt19937_64 random_{kSeed};
};

/// The files of a folder in the order of their names.
std::vector<std::string> read_corpus(const std::string& folder) {
  std::vector<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) paths.push_back(entry.path());
  std::sort(paths.begin(), paths.end());
  std::vector<std::string> corpus;
  for (const std::filesystem::path& path : paths) {
    std::ifstream file(path, std::ios::binary);
    corpus.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
  }
  return corpus;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    fmt::print(stderr, "usage: {} CORPUS MUTATIONS\n", argv[0]);
    return 2;
  }
  std::signal(SIGABRT, on_abort);
  std::signal(SIGSEGV, on_abort);
  if (__sanitizer_set_death_callback != nullptr) __sanitizer_set_death_callback(keep_input);
  try {
    const std::vector<std::string> corpus = read_corpus(argv[1]);
    if (corpus.empty()) {
      fmt::print(stderr, "{} holds no file\n", argv[1]);
      return 2;
    }
    for (const std::string& input : corpus) run_one(input);
    const long mutations = std::strtol(argv[2], nullptr, 10);
    Mutator mutator(corpus);
    for (long i = 0; i < mutations; ++i) run_one(mutator.next());
    fmt::print("{} files and {} mutations ran\n", corpus.size(), mutations);
  } catch (const std::exception& error) {
    keep_input();
    fmt::print(stderr, "exception: {}\n", error.what());
    return 1;
  }
  return 0;
}
