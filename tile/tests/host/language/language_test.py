#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What compiles and what does not: the probes of well_formed.txt, ill_formed.txt and result_types.txt, whose answers are those
of NVIDIA's compiler (nvcc 13.4.92), against the host implementation and that compiler. Ill-formed probes must give the host's
compilers the sentence that stands beside them.

usage: language_test.py MODE COMPILER INCLUDE_DIRS [FLAG...]     MODE: well_formed, ill_formed, result_types, names,
       refusal (nvcc), self_test
An nvcc with tile support takes FLAGs that make it compile tile code alone. Exit status 77 if the compiler is not there.
"""
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

PRELUDE = """#include "kizami/tile.hpp"
#include <cstdint>
#include <utility>
namespace ct = cuda::tiles;
using namespace ct::literals;
using std::size_t;
template <class E, size_t... N> using T = ct::tile<E, ct::shape<N...>>;
template <class X> struct F { __tile__ void operator()(X) const {} };
template <class X> __tile__ X d() noexcept;
template <class X, class Y> struct Same;
template <class X> struct Same<X, X> {};
using h = __half; using bf = __nv_bfloat16; using e4 = __nv_fp8_e4m3; using e5 = __nv_fp8_e5m2; using tf = __nv_tf32;
using i8 = std::int8_t; using u8 = std::uint8_t; using i16 = std::int16_t; using u16 = std::uint16_t; using u32 = std::uint32_t;
using u64 = std::uint64_t;
using EX = ct::extents<u32, ct::dynamic_extent, ct::dynamic_extent>;
using S2 = ct::tensor_span<float, EX>;
template <class E> using View = ct::partition_view<ct::tensor_span<E, EX>, ct::shape<4, 4>>;
using V2 = View<float>; using V2c = View<const float>; using V2i = View<int>; using V2e = View<e4>;
using SV = ct::strided_view<S2, ct::shape<4, 4>, ct::strides<u32, 2, 4>>;
using G0 = ct::gather_scatter_view<S2, ct::shape<4, 8>, 0>;
"""


def read_probes(name):
    """The lines of a table without comments: (text before ' # ', sentence after it)."""
    probes = []
    for line in (Path(__file__).parent / name).read_text().splitlines():
        if line.strip() and not line.startswith("#"):
            text, _, sentence = line.partition(" # ")
            probes.append((text.strip(), sentence.strip()))
    return probes


def functions_of(probes):
    """One function a probe, each in a `file` of its own name, so that diagnostics tell the probe."""
    lines = [PRELUDE]
    for i, (text, _) in enumerate(probes):
        parameters, _, expression = text.partition(" => ")
        parameters = ", ".join(p.strip() for p in parameters.split(";"))
        expression = "return static_cast<void>(%s);" % expression
        lines.append(f'#line 1 "probe_{i}"\n__tile__ void probe_{i}({parameters}) {{ {expression} }}')
    return "\n".join(lines)


def compile_text(command, text):
    """The exit status and diagnostics. nvcc reads no source from standard input."""
    if is_nvcc(command):
        with tempfile.TemporaryDirectory() as folder:
            source = Path(folder) / "probes.cu"
            source.write_text(text)
            run = subprocess.run([*command, str(source)], capture_output=True, text=True)
    else:
        run = subprocess.run(command + ["-x", "c++", "-"], input=text, capture_output=True, text=True)
    return run.returncode, run.stderr


def is_nvcc(command):
    return Path(command[0]).name == "nvcc"


def errors_by_probe(stderr, is_clang):
    """The messages of the errors of each probe. g++ names the instantiation before an error, clang after it; of nvcc's lines
    (`probe_0(1): error: ...`, `... at line 1 of probe_0`) each that names a probe counts."""
    found, current, pending = {}, None, None
    for number in re.findall(r"^probe_(\d+)\(1\): error|at line 1 of probe_(\d+)", stderr, flags=re.M):
        found.setdefault(int("".join(number)), []).append("refused")
    for line in stderr.splitlines():
        probe = re.search(r"probe_(\d+)[:']", line)
        if ": error: " in line:
            message = line.split(": error: ", 1)[1]
            own = re.match(r"probe_(\d+):", line)
            if own or not is_clang:
                number = own.group(1) if own else current
                found.setdefault(int(number) if number else None, []).append(message)
                pending = None
            else:
                pending = message
        if probe:
            current = probe.group(1)
            if pending is not None:
                found.setdefault(int(current), []).append(pending)
                pending = None
    return found


def errors_of_all(command, probes, is_clang):
    """The errors of every probe. A compiler tells each failed assertion once, so the probes that were silent are compiled
    again without the others, until none of them speaks."""
    found, silent = {}, list(range(len(probes)))
    while silent:
        _, stderr = compile_text(command, functions_of([probes[i] for i in silent]))
        new = {silent[i]: messages for i, messages in errors_by_probe(stderr, is_clang).items() if i is not None}
        if not new:
            break
        found.update(new)
        silent = [i for i in silent if i not in new]
    return found


def judge_ill_formed(probes, found):
    problems = []
    for i, (text, sentence) in enumerate(probes):
        messages = found.get(i, [])
        if not messages:
            problems.append(f"compiles, but must not: {text}")
        elif sentence != "compiler" and messages != ["refused"] * len(messages) and not any(sentence in message for message in messages):
            problems.append(f"{text}\n    expected: {sentence}\n    got: " + "\n         ".join(messages))
    return problems


def names_of_page():
    """The names in tile/docs/supported.md: (supported, not supported, kept in the global namespace)."""
    page = (Path(__file__).resolve().parents[3] / "docs" / "supported.md").read_text()
    supported, _, rest = page.partition("## Not supported")
    rows = [line.split("|") for line in supported.splitlines() if line.startswith("| ") and "names" not in line]
    names = {True: [], False: []}
    for row in rows:
        names["(global" in row[2]] += re.findall(r"`([A-Za-z_]\w*)`", row[2])
    absent = [name for line in rest.splitlines() if line.startswith("| ") for name in re.findall(r"`(\w+)`", line.split("|")[2])]
    return names[False], absent, names[True]


def judge_names(command, is_clang):
    """Each supported name must exist and each other one must not; macros of annotations are defined."""
    supported, absent, in_global = names_of_page()
    probes = supported + absent
    lines = [PRELUDE]
    lines += [f"#if !defined({n})\n#error {n}\n#endif" if n in ("__tile__", "__tile_global__", "__host__", "__device__")
              else f"namespace in_global {{ using ::{n}; }}" for n in in_global]
    # A name that a namespace has can be declared there again by `using`; namespace literals by an alias.
    lines += [f'#line 1 "probe_{i}"\nnamespace user_{i} {{ ' + ("namespace x = ct::literals;" if n == "literals" else f"using ct::{n};") + " }"
              for i, n in enumerate(probes)]
    _, stderr = compile_text(command, "\n".join(lines))
    found = errors_by_probe(stderr, is_clang)
    problems = [f"{m[0]}" for i, m in found.items() if i is None]
    problems += [f"not there: {n}" for i, n in enumerate(probes) if i < len(supported) and i in found]
    problems += [f"there, but the page says not: {n}" for i, n in enumerate(probes) if i >= len(supported) and i not in found]
    return probes, problems


def self_test():
    """The reader of diagnostics against made-up ones, and the judge against wrong answers."""
    gnu = "probe_0: In function 'void probe_0()':\nprobe_0:1:2:   required from here\nx.hpp:3: error: static assertion failed: one\n" \
          "probe_1:1:3: error: two\n"
    nvcc = "probe_0(1): error: one\nx.h(3): error: two\n          detected during instantiation at line 1 of probe_1\n" \
           "probe_2(1): note: three\n"
    clang = "x.hpp:3:1: error: static_assert failed one\nprobe_0:1:2: note: in instantiation\nprobe_1:1:3: error: two\n"
    wrong = [name for name, text, is_clang in (("g++", gnu, False), ("clang", clang, True))
             if {i: m[0].split()[-1] for i, m in errors_by_probe(text, is_clang).items()} != {0: "one", 1: "two"}]
    wrong += [] if set(errors_by_probe(nvcc, False)) - {None} == {0, 1} else ["nvcc"]
    wrong += [] if len(judge_ill_formed([("a", "x"), ("b", "y"), ("c", "compiler")], {0: ["x"], 1: ["z"]})) == 2 else ["judge"]
    print(f"self-test: wrong: {wrong}")
    return 1 if wrong else 0


def main():
    mode = sys.argv[1]
    if mode == "self_test":
        return self_test()
    compiler, flags = sys.argv[2], sys.argv[4:]
    includes = [word for folder in sys.argv[3].split(":") for word in ("-I", folder)]
    if not shutil.which(compiler):
        print(f"skipped: no {compiler}")
        return 77
    if mode == "refusal":  # by nvcc without --enable-tile: kernels must not quietly become host functions
        run = subprocess.run([compiler, "-std=c++20", "-E", "-x", "cu", *includes, "-"], input='#include "kizami/tile.hpp"\n',
                             capture_output=True, text=True)
        is_refused = run.returncode != 0 and "--enable-tile" in run.stderr
        print("refused" if is_refused else f"not refused: {run.stderr}")
        return 0 if is_refused else 1
    is_clang = "clang" in subprocess.run([compiler, "--version"], capture_output=True, text=True).stdout
    command = [compiler, "-std=c++20", "-w", *includes] + flags
    if is_nvcc(command):
        command += ["-Xcudafe", "--error_limit=2000", "-o", "/dev/null"]
    elif is_clang:
        command += ["-fsyntax-only", "-ferror-limit=0"]
    else:
        command += ["-fsyntax-only", "-fmax-errors=0", "-fno-diagnostics-show-caret"]
    if mode == "well_formed":
        probes = read_probes("well_formed.txt")
        status, stderr = compile_text(command, functions_of(probes))
        problems = [f"{probes[i][0] if i is not None else '?'}: {m[0]}" for i, m in errors_by_probe(stderr, is_clang).items()]
        problems += [stderr[-2000:]] if status != 0 and not problems else []
    elif mode == "ill_formed":
        probes = read_probes("ill_formed.txt")
        problems = judge_ill_formed(probes, errors_of_all(command, probes, is_clang))
    elif mode == "names":
        probes, problems = judge_names(command, is_clang)
    else:
        probes = read_probes("result_types.txt")
        lines = [PRELUDE, "namespace expected { using namespace ct; using ::uint3; using ::dim3; }"]
        for i, (text, _) in enumerate(probes):
            expression, _, result = text.rpartition(" -> ")
            lines.append(f'#line 1 "probe_{i}"\nnamespace expected {{ Same<std::remove_cvref_t<decltype({expression})>, '
                         f"{result}> probe_{i}; }}")
        status, stderr = compile_text(command, "\n".join(lines))
        problems = [f"{probes[i][0] if i is not None else '?'}: {m[0]}" for i, m in errors_by_probe(stderr, is_clang).items()]
        problems += [stderr[-2000:]] if status != 0 and not problems else []
    print("\n".join(problems + [f"{len(probes)} probes, {len(problems)} problems"]))
    return 1 if problems or not probes else 0


if __name__ == "__main__":
    sys.exit(main())
