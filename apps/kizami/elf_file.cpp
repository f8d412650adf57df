// SPDX-License-Identifier: MIT
// The file is that of a stranger: each offset and size is checked against its end.
#include "elf_file.hpp"

#include <elf.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <string_view>

namespace kizami::cli {
namespace {

constexpr std::uint64_t kMaxBytes = std::uint64_t{1} << 30;

#if defined(__x86_64__)
constexpr int kMachine = EM_X86_64;
#elif defined(__aarch64__)
constexpr int kMachine = EM_AARCH64;
#else
constexpr int kMachine = EM_NONE;
#endif

/// Reads parts of a file; what is beyond its end is empty.
class Parts {
 public:
  explicit Parts(const std::string& path) : file_(path, std::ios::binary) {
    file_.seekg(0, std::ios::end);
    size_ = file_ ? static_cast<std::uint64_t>(file_.tellg()) : 0;
  }
  [[nodiscard]] std::string bytes(std::uint64_t at, std::uint64_t count) {
    if (at > size_ || count > size_ - at || count > kMaxBytes) return {};
    std::string out(count, '\0');
    file_.seekg(static_cast<std::streamoff>(at));
    file_.read(out.data(), static_cast<std::streamsize>(count));
    if (!file_) return file_.clear(), std::string();
    return out;
  }
  template <class T>
  [[nodiscard]] std::vector<T> table(std::uint64_t at, std::uint64_t count) {
    if (count > kMaxBytes / sizeof(T)) return {};
    const std::string text = bytes(at, count * sizeof(T));
    std::vector<T> out(text.size() / sizeof(T));
    std::memcpy(out.data(), text.data(), out.size() * sizeof(T));
    return out;
  }

 private:
  std::ifstream file_;
  std::uint64_t size_ = 0;
};

std::string name_at(std::string_view names, std::uint64_t at) {
  if (at >= names.size()) return {};
  names.remove_prefix(at);
  return std::string(names.substr(0, std::min(names.find('\0'), names.size())));
}

void add_symbols(Parts& parts, const Elf64_Shdr& section, const std::string& names, ElfFile& out) {
  for (const Elf64_Sym& symbol : parts.table<Elf64_Sym>(section.sh_offset, section.sh_size / sizeof(Elf64_Sym))) {
    const int type = ELF64_ST_TYPE(symbol.st_info);
    if (type != STT_FUNC && type != STT_NOTYPE && type != STT_GNU_IFUNC) continue;
    const std::string name = name_at(names, symbol.st_name);
    if (!name.empty()) (symbol.st_shndx == SHN_UNDEF ? out.undefined : out.defined).push_back(name);
  }
}

}  // namespace

std::optional<ElfFile> read_elf(const std::string& path) {
  Parts parts(path);
  const std::vector<Elf64_Ehdr> heads = parts.table<Elf64_Ehdr>(0, 1);
  if (heads.empty() || std::memcmp(heads[0].e_ident, ELFMAG, SELFMAG) != 0) return std::nullopt;
  const Elf64_Ehdr& head = heads[0];
  ElfFile out;
  out.is_native = head.e_ident[EI_CLASS] == ELFCLASS64 && head.e_machine == kMachine;
  if (!out.is_native || head.e_phentsize != sizeof(Elf64_Phdr)) return out;
  for (const Elf64_Phdr& segment : parts.table<Elf64_Phdr>(head.e_phoff, head.e_phnum))
    out.is_dynamic |= segment.p_type == PT_INTERP;
  if (head.e_shentsize != sizeof(Elf64_Shdr)) return out;
  const std::vector<Elf64_Shdr> sections = parts.table<Elf64_Shdr>(head.e_shoff, head.e_shnum);
  for (const Elf64_Shdr& section : sections) {
    if (section.sh_link >= sections.size()) continue;
    const bool is_dynamic = section.sh_type == SHT_DYNAMIC;
    if (!is_dynamic && section.sh_type != SHT_SYMTAB && section.sh_type != SHT_DYNSYM) continue;
    const Elf64_Shdr& strings = sections[section.sh_link];
    const std::string names = parts.bytes(strings.sh_offset, strings.sh_size);
    if (!is_dynamic) {
      add_symbols(parts, section, names, out);
      continue;
    }
    for (const Elf64_Dyn& entry : parts.table<Elf64_Dyn>(section.sh_offset, section.sh_size / sizeof(Elf64_Dyn))) {
      if (entry.d_tag == DT_NEEDED) out.needed.push_back(name_at(names, entry.d_un.d_val));
    }
  }
  return out;
}

}  // namespace kizami::cli
