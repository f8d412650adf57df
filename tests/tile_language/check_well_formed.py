#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks which expressions of cuda::tiles a compiler accepts, against a table.

usage: check_well_formed.py TABLE HEADER COMPILER...
       check_well_formed.py --self-test HEADER COMPILER...     check that wrong verdicts are seen

TABLE has a line `ok|no PARAMETERS => EXPRESSION` for each question, e.g. `no tile<half, 4> a; float b => a * b`. HEADER is what
declares cuda::tiles: cuda_tile.h for NVIDIA's compiler, another one for another implementation. COMPILER is a command that
compiles the file given as its last argument. Every `ok` must compile, and every `no` must be named in an error: a body that
refuses its arguments with a static assertion counts like a constraint that is not satisfied.
"""
import re
import subprocess
import sys
import tempfile
from pathlib import Path

PREAMBLE = '''#include <cstddef>
#include <cstdint>
#include <{header}>
#if defined(__CUDACC__)
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>
#include <cuda_tf32.h>
#endif
namespace ct = cuda::tiles;
using namespace cuda::tiles::literals;
template <class E, std::size_t... kExtents>
using tile = ct::tile<E, ct::shape<kExtents...>>;
using half = __half;
using bf16 = __nv_bfloat16;
using e4m3 = __nv_fp8_e4m3;
using e5m2 = __nv_fp8_e5m2;
using tf32 = __nv_tf32;
using i8 = signed char;
using u8 = unsigned char;
using i16 = short;
using u16 = unsigned short;
using u32 = unsigned;
using i64 = long;
using u64 = unsigned long;
template <class T>
struct takes {{
  __tile__ void operator()(T) const {{}}
}};
using extents_2d = ct::extents<unsigned, ct::dynamic_extent, ct::dynamic_extent>;
template <class E>
using span_2d = ct::tensor_span<E, extents_2d>;
template <class E>
using view_4x4 = ct::partition_view<span_2d<E>, ct::shape<4, 4>>;
using strided_4x4 = ct::strided_view<span_2d<float>, ct::shape<4, 4>, ct::strides<unsigned, 2, 4>>;
using rows_4x8 = ct::gather_scatter_view<span_2d<float>, ct::shape<4, 8>, 0>;
'''


def parse(text):
    """[(verdict, parameters, expression, line)] of a table."""
    questions = []
    for line in text.splitlines():
        if not line or line.startswith("#"):
            continue
        match = re.fullmatch(r"(ok|no) (.+?) => (.+)", line)
        if not match:
            raise SystemExit(f"check_well_formed.py: not understood: {line}")
        questions.append((match[1], match[2].replace(";", ","), match[3], line))
    return questions


def compile_questions(questions, header, compiler):
    """(whether the compiler accepts all, the questions named in its errors, what it printed). One question a line."""
    preamble = PREAMBLE.format(header=header)
    first = preamble.count("\n") + 1
    body = "".join(f"__tile__ void probe{i}({parameters}) {{ static_cast<void>({expression}); }}\n"
                   for i, (_, parameters, expression, _) in enumerate(questions))
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "questions.cu"
        source.write_text(preamble + body)
        result = subprocess.run([*compiler, str(source)], capture_output=True, text=True, cwd=folder)
    printed = result.stderr + result.stdout
    lines = {int(number) - first for number in re.findall(r"questions\.cu[:(](\d+)", printed)}
    named = [question for i, question in enumerate(questions) if i in lines]
    return result.returncode == 0, named, printed


def check(text, header, compiler):
    """(what is wrong, the number of well-formed questions, and of ill-formed ones) of a table."""
    questions = parse(text)
    wanted = [question for question in questions if question[0] == "ok"]
    unwanted = [question for question in questions if question[0] == "no"]
    problems = []
    accepted, named, printed = compile_questions(wanted, header, compiler)
    if not accepted:
        problems += [f"is refused: {question[3]}" for question in named] or [printed]
    _, named, printed = compile_questions(unwanted, header, compiler)
    # A compiler reports an instantiation that fails only once, so a question that is not named is asked again, alone.
    for question in unwanted:
        if question not in named and compile_questions([question], header, compiler)[0]:
            problems.append(f"is accepted: {question[3]}")
    return problems, len(wanted), len(unwanted)


def main(table, header, compiler):
    if table == "--self-test":
        problems, _, _ = check("no int a => a + 1\nok int a => a + nullptr\nok int a => -a\n", header, compiler)
        return [] if problems == ["is refused: ok int a => a + nullptr", "is accepted: no int a => a + 1"] else problems
    problems, num_ok, num_no = check(Path(table).read_text(), header, compiler)
    print(f"{num_ok} well-formed and {num_no} ill-formed expressions, {len(problems)} problems")
    return problems


if __name__ == "__main__":
    if len(sys.argv) < 4:
        raise SystemExit(__doc__)
    found = main(sys.argv[1], sys.argv[2], sys.argv[3:])
    print("\n".join(found))
    sys.exit(1 if found else 0)
