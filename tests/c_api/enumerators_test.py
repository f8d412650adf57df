#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Every enumerator of the C++ enums that C has, too, is named in every face: kizami.h, the list behind it, to_string(), and
the arrays of names that the command line, the drop-in libraries and the Python package read. The Fortran module is compared
with kizami.h by fortran_module_test.py.

usage: enumerators_test.py SOURCE_DIR
"""
import re
import sys
from pathlib import Path

# C++ enum: prefix of its constants in C. None: C does not have it.
PREFIXES = {
    "StatusCode": "", "Scalar": "", "Op": "", "Layout": "", "Side": "SIDE_", "Gauge": "GAUGE_", "Accuracy::Kind": "ACCURACY_",
    "Scheme": "SCHEME_", "EngineName": "ENGINE_", "EcVariant": "VARIANT_", "SliceFormat": "SLICE_FORMAT_",
    "SliceSplit": "SLICE_SPLIT_", "SliceSums": "SLICE_SUMS_", "ComplexForm": "COMPLEX_FORM_",
    "Reproducibility": "REPRODUCIBILITY_", "TensorCoreModel": None,
}
# What a face does without, and why.
ABSENT = {
    "kizami.h": {"Scalar::kDD"},  # double-double: C++ only
    "apps/kizami/options.cpp": {"EngineName::kCublasLt", "EngineName::kHopper",  # of operands in device memory
                                "SliceSums::kFused"},
    "dropin/policy/settings.cpp": set(),
    "python/src/policy.cpp": set(),
}
NAMELESS = {"Op", "Layout", "Side", "Accuracy::Kind", "Reproducibility"}  # no to_string() in the C++ interface
SPELLINGS = {"REPRODUCIBILITY_NOT_GUARANTEED": "REPRODUCIBILITY_NONE", "ENGINE_CUBLAS_LT": "ENGINE_CUBLASLT"}


def uncommented(code):
    return re.sub(r"//[^\n]*|/\*.*?\*/", "", code, flags=re.DOTALL)


def enumerators(code):
    """{enum: [enumerators]} in the order of their numbers."""
    found = {}
    for name, body in re.findall(r"\benum class (\w+)[^{;]*\{([^}]*)\}", uncommented(code)):
        found["Accuracy::Kind" if name == "Kind" else name] = re.findall(r"\bk\w+", body)
    return found


def constant_name(enum, enumerator):
    """kCpuRef of EngineName: KIZAMI_ENGINE_CPU_REF."""
    words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", enumerator[1:]).upper()
    name = PREFIXES[enum] + words
    return "KIZAMI_" + SPELLINGS.get(name, name)


def constants(header):
    return {name: int(value) for name, value in re.findall(r"\b(KIZAMI_\w+) = (-?\d+)", uncommented(header))}


def problems(enums, in_c, listed, named, arrays):
    """@param listed, named: "Enum::kName" that the list of the C ABI and to_string() have. arrays: {file: the same}"""
    found = []
    expected = {}
    for enum, names in enums.items():
        for number, name in enumerate(names):
            full = f"{enum}::{name}"
            if enum not in NAMELESS and full not in named:
                found.append(f"to_string() has no {full}")
            for file, there in arrays.items():
                if any(x.startswith(enum + "::") for x in there) and full not in there and full not in ABSENT[file]:
                    found.append(f"{file} has no {full}")
            if PREFIXES[enum] is None or full in ABSENT["kizami.h"]:
                continue
            expected[constant_name(enum, name)] = number
            if in_c.get(constant_name(enum, name)) != number:
                found.append(f"{full}: {constant_name(enum, name)} = {in_c.get(constant_name(enum, name))}, not {number}")
            if full not in listed:
                found.append(f"src/api/c_enums.hpp has no {full}")
    found += [f"{name} of kizami.h is of no enum" for name in sorted(in_c.keys() - expected.keys())]
    return found


def names_in(code):
    return set(re.findall(r"\b((?:\w+::)?\w+::k[A-Z]\w*)", uncommented(code)))


def main():
    root = Path(sys.argv[1])
    headers = "".join((root / "include/kizami" / name).read_text() for name in ["policy.hpp", "status.hpp", "types.hpp"])
    enums = enumerators(headers)
    in_c = constants((root / "include/kizami/kizami.h").read_text())
    listed = names_in(re.sub(r"break;", "", (root / "src/api/c_enums.hpp").read_text()))
    named = set(re.findall(r"case (\w+::k\w+):\s*return \"", headers))
    for enum in re.findall(r"to_string\((\w+) \w+\) noexcept \{\s*return \w+ == \w+::k\w+ \? \"\w+\" : \"\w+\";", headers):
        named |= {f"{enum}::{name}" for name in enums[enum][:2]}  # of two enumerators
    arrays = {file: names_in("".join(re.findall(r"^constexpr std::array .*?;", (root / file).read_text(), re.M | re.S)))
              for file in ABSENT if file != "kizami.h"}
    found = [f"{enum} is not known to this test" for enum in enums.keys() - PREFIXES.keys()]
    found += [f"{enum} was not read" for enum in PREFIXES.keys() - enums.keys()]
    found += [f"{file}: nothing was read" for file, there in arrays.items() if not there]
    found += [] if found else problems(enums, in_c, listed, named, arrays)
    # A new enumerator that no face names is seen in all of them.
    more = {enum: names + ["kNew"] for enum, names in enums.items()}
    missing = [] if found else problems(more, in_c, listed, named, arrays)
    for enum in enums:
        wanted = [] if enum in NAMELESS else ["to_string() has no"]
        wanted += [] if PREFIXES[enum] is None else ["src/api/c_enums.hpp has no"]
        wanted += [f"{file} has no" for file, there in arrays.items() if any(x.startswith(enum + "::") for x in there)]
        found += [f"self-test: not seen: {text} {enum}::kNew" for text in wanted
                  if missing and f"{text} {enum}::kNew" not in missing]
    print("\n".join(found + [f"{sum(map(len, enums.values()))} enumerators, {len(found)} problems"]))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
