#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compiles the library's device code for architectures that are not here, with warnings as errors, and records what each
kernel takes: registers, spills, shared memory.

usage: compile_architectures.py [--build DIR] [--architectures 80,86,90a,100,120] [--only REGEX] [--sample] [--jobs N]
                                [--records DIR] [--check]

Units and flags are those of DIR/compile_commands.json, but for --Ofast-compile: this is code as shipped. Units whose kernels run on compute capability 9.0 alone are
compiled for 90a. --records writes DIR/ARCHITECTURE.jsonl, a line a kernel; --check compares with those there instead: a
kernel that is new, or spills more than was recorded, is a failure. --sample compiles a unit of each kind, for all
architectures in two minutes of a processor. Exit code: 0 all compiled, 1 something failed, 2 bad usage.
"""
import argparse
import concurrent.futures
import json
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
SOURCES = ROOT / "src"
LAUNCHER = str(ROOT / "cmake" / "again_after_crash.sh")  # the compiler crashes now and then, as it says there
ARCHITECTURES = ("80", "86", "90a", "100", "120")
ONLY_HOPPER = re.compile(r"(^|/)(engines/hopper|schemes/ec|convolution)/")
# Barriers and clusters, launches that follow one another, and mma.sync.
SAMPLE = re.compile(r"/(device_limits|device_begin|device_split_factors|tile_128x128)\.cu$")
ENTRY = re.compile(r"Compiling entry function '([^']+)' for '([^']+)'")
SPILLS = re.compile(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads")
USED = re.compile(r"Used (\d+) registers(?:.*?(\d+) bytes smem)?")


def apart(command, build):
    """The command, or that of each unit which it compiles together with others."""
    file = command["file"]
    if build / "together" not in pathlib.Path(file).parents:
        return [command]
    sources = re.findall(r'"(.+)"', pathlib.Path(file).read_text())
    return [command | {"file": source, "command": command["command"].replace(file, source)} for source in sources]


def units_of(build):
    """Source and command of each CUDA unit of the library, in the order of their names."""
    commands = json.loads((build / "compile_commands.json").read_text())
    units = {}
    for command in [unit for command in commands for unit in apart(command, build)]:
        source = pathlib.Path(command["file"])
        inside = [folder for folder in (build / "instantiated", SOURCES) if folder in source.parents]
        if source.suffix == ".cu" and inside:
            units[str(source.relative_to(inside[0]))] = command
    return dict(sorted(units.items()))


def command_for(command, architecture, out):
    """The unit's command, but to a cubin for one architecture."""
    words = shlex.split(command["command"])
    kept = []
    skip = False
    for word in words:
        if skip or word.startswith(("--generate-code", "-gencode", "-arch", "--compress-mode", "--Ofast-compile")) or word == "-c":
            skip = False
            continue
        if word in ("-o", "-MF", "-MT"):
            skip = True
            continue
        if word != "-MD":
            kept.append(word)
    return kept + ["-cubin", f"-arch=sm_{architecture}", "-Xptxas=-v", "-Werror=all-warnings", "-o", out]


def kernels_of(text):
    """What ptxas says of each kernel."""
    kernels = []
    for line in text.splitlines():
        if match := ENTRY.search(line):
            kernels.append({"kernel": match[1]})
        elif kernels and (match := SPILLS.search(line)):
            kernels[-1] |= {"stack": int(match[1]), "spill_stores": int(match[2]), "spill_loads": int(match[3])}
        elif kernels and (match := USED.search(line)):
            kernels[-1] |= {"registers": int(match[1]), "shared": int(match[2] or 0)}
    return [kernel for kernel in kernels if "registers" in kernel]


def demangled(kernels):
    names = subprocess.run(["c++filt"], input="\n".join(kernel["kernel"] for kernel in kernels), capture_output=True,
                           text=True, check=False).stdout.splitlines()
    for kernel, name in zip(kernels, names):
        name = name.split("(kizami", 1)[0] if name.startswith("void ") else name
        kernel["kernel"] = name.removeprefix("void ").replace("kizami::", "").replace("(anonymous namespace)::", "")
    return kernels


def compile_unit(name, command, architecture):
    with tempfile.TemporaryDirectory() as folder:
        words = [LAUNCHER] + command_for(command, architecture, f"{folder}/unit.cubin")
        begin = time.monotonic()
        done = subprocess.run(words, cwd=command["directory"], capture_output=True, text=True, check=False)
        seconds = time.monotonic() - begin
    text = done.stdout + done.stderr
    if done.returncode != 0:
        return name, architecture, None, text, seconds
    return name, architecture, kernels_of(text), text, seconds


def compare(architecture, kernels, path):
    """What is worse than recorded. Forms of a kernel whose names are alike (of enumerations they have no numbers) are held
    to the worst of them."""
    if not path.exists():
        return [f"{path}: there is no record"]
    recorded = {}
    for line in map(json.loads, path.read_text().splitlines()):
        key = line["unit"], line["kernel"]
        if key not in recorded or recorded[key]["spill_stores"] < line["spill_stores"]:
            recorded[key] = line
    worse = []
    for kernel in kernels:
        before = recorded.get((kernel["unit"], kernel["kernel"]))
        if before is None:
            worse.append(f"{architecture} {kernel['unit']}: {kernel['kernel']} is not recorded")
        elif kernel["spill_stores"] > before["spill_stores"]:
            worse.append(f"{architecture} {kernel['unit']}: {kernel['kernel']} spills {kernel['spill_stores']} bytes, "
                         f"recorded are {before['spill_stores']}")
    return worse


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=pathlib.Path("build"))
    parser.add_argument("--architectures", default=",".join(ARCHITECTURES))
    parser.add_argument("--only", type=re.compile, default=re.compile(""))
    parser.add_argument("--sample", action="store_true")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--records", type=pathlib.Path)
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    if options.check and options.records is None:
        parser.error("--check needs --records")
    units = {name: command for name, command in units_of(options.build.resolve()).items() if options.only.search(name)}
    if options.sample:
        units = {name: command for name, command in units.items() if SAMPLE.search("/" + name)}
    if not units:
        parser.error(f"no CUDA unit in {options.build}/compile_commands.json is meant")
    architectures = options.architectures.split(",")
    tasks = [(name, command, architecture) for architecture in architectures for name, command in units.items()
             if architecture == "90a" or not ONLY_HOPPER.search(name)]
    failures = []
    found = {architecture: [] for architecture in architectures}
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        waiting = [pool.submit(compile_unit, *task) for task in tasks]
        for future in concurrent.futures.as_completed(waiting):
            name, architecture, kernels, text, seconds = future.result()
            print(f"{architecture:5} {seconds:6.1f} s  {name}" + ("  FAILED" if kernels is None else ""), flush=True)
            if kernels is None:
                failures.append(f"{architecture} {name}:\n{text[-2000:]}")
            else:
                found[architecture] += [{"unit": name} | kernel for kernel in demangled(kernels)]
    for architecture, kernels in found.items():
        kernels.sort(key=lambda kernel: (kernel["unit"], kernel["kernel"]))
        if options.records is None:
            continue
        path = options.records / f"sm_{architecture}.jsonl"
        if options.check:
            failures += compare(architecture, kernels, path)
        else:
            options.records.mkdir(parents=True, exist_ok=True)
            path.write_text("".join(json.dumps(kernel) + "\n" for kernel in kernels))
    for failure in failures:
        print(failure, file=sys.stderr)
    spilling = sum(kernel["spill_stores"] > 0 for kernels in found.values() for kernel in kernels)
    print(f"{sum(map(len, found.values()))} kernels of {len(tasks)} units, {spilling} of them spill; "
          f"{len(failures)} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
