#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Device code that is compiled fast, to be checked (KIZAMI_CUDA_FAST_COMPILE), comes from `./kz test` on a machine without a device and from
nothing else: kz runs here with doubles of CMake, ctest and dpkg, one command after the other in one folder, and each finds the tree as the
command before left it. So do sources that are compiled together (KIZAMI_UNITY), but for the tree of sanitizers.

And what `./kz test` begins beside the build has ended when it ends, also where it ends badly.

usage: fast_code_test.py ROOT
"""
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

OPTION = "KIZAMI_CUDA_FAST_COMPILE"
UNITY = "KIZAMI_UNITY"
# cmake --preset P -B DIR [-DX=Y]...: a cache. cmake --build DIR: writes down what the cache has.
CMAKE = '''#!/usr/bin/env python3
import json, re, sys
from pathlib import Path
words = sys.argv[1:]
if "--preset" in words:
    presets = {p["name"]: p for p in json.loads(Path("CMakePresets.json").read_text())["configurePresets"]}
    values, preset = {}, presets[words[words.index("--preset") + 1]]
    while preset:
        values = preset.get("cacheVariables", {}) | values
        preset = presets.get(preset.get("inherits"))
    values |= dict(word[2:].split("=", 1) for word in words if word.startswith("-D"))
    folder = Path(words[words.index("-B") + 1])
    fast, unity = (values.get(name, "what the cache has") for name in ("OPTION", "UNITY"))
    (folder / "CMakeCache.txt").write_text(f"CMAKE_HOME_DIRECTORY:INTERNAL={Path.cwd()}\\nOPTION:BOOL={fast}\\nUNITY:BOOL={unity}\\n")
    (folder / "build.ninja").write_text("build test_gpu: link\\n" + " --Ofast-compile=mid\\n" * (fast == "ON"))
elif "--build" in words:
    folder = Path(words[words.index("--build") + 1])
    cache = (folder / "CMakeCache.txt").read_text()
    with open("built.txt", "a") as file:
        print(folder, *(re.search(name + ":BOOL=(.*)", cache)[1] for name in ("OPTION", "UNITY")), file=file)
else:
    sys.exit("--install" in words)  # nothing is there
'''.replace("OPTION", OPTION).replace("UNITY", UNITY)
CTEST = '''#!/usr/bin/env python3
import sys
from pathlib import Path
if "--output-junit" in sys.argv:
    Path(sys.argv[sys.argv.index("--output-junit") + 1]).write_text("<testsuite/>")
    print("100% tests passed, 0 tests failed out of 1")
'''


class Workplace:
    """A folder with kz, and doubles of what it calls."""

    def __init__(self, root, folder):
        self.folder = folder
        for name in ("kz", "CMakePresets.json", "tools"):
            copy = shutil.copytree if (root / name).is_dir() else shutil.copy
            copy(root / name, folder / name)
        (folder / "src").mkdir()
        for tree, wanted in (("venv", "requirements.txt"), ("pyscf", "pyscf_requirements.txt"), ("jax", "jax_requirements.txt")):
            (folder / "build" / tree).mkdir(parents=True)
            shutil.copy(root / "tools" / wanted, folder / "build" / tree / "installed-requirements.txt")
        doubles = folder / "doubles"
        doubles.mkdir()
        nothing = "#!/bin/sh\n"
        for name, text in (("cmake", CMAKE), ("ctest", CTEST), ("dpkg-query", "#!/bin/sh\nprintf installed\n"), ("cpack", nothing), ("nvcc", nothing),
                           ("clang-tidy", nothing)):
            (doubles / name).write_text(text)
            (doubles / name).chmod(0o755)
        self.environment = os.environ | {"PATH": f"{doubles}:{os.environ['PATH']}"}
        self.environment.pop("CI", None)

    def run(self, *words):
        """What the command built, as (tree, values of both options), and what it said. It may end badly: nothing that it made is there."""
        (self.folder / "built.txt").write_text("")
        done = subprocess.run(["bash", "kz", *words], cwd=self.folder, env=self.environment, capture_output=True, text=True, timeout=100)
        return [tuple(line.split()) for line in (self.folder / "built.txt").read_text().splitlines()], done.stdout + done.stderr


def left_behind(root):
    """What ./kz test leaves running where build/venv cannot be made, while the environment of JAX, here of no packages, takes seconds."""
    with tempfile.TemporaryDirectory() as folder:
        workplace = Workplace(root, Path(folder))
        shutil.rmtree(workplace.folder / "build/venv")
        (workplace.folder / "build/venv").write_text("no folder\n")
        (workplace.folder / "tools/jax_requirements.txt").write_text("")
        shutil.rmtree(workplace.folder / "build/jax")
        made = workplace.folder / "build/jax/installed-requirements.txt"
        with open(workplace.folder / "said.txt", "w+") as said:  # no pipe, which would be open until the last of its writers ends
            done = subprocess.run(["bash", "kz", "test"], cwd=workplace.folder, env=workplace.environment, stdout=said, stderr=subprocess.STDOUT, timeout=100)
            has_all = made.exists()
            said.seek(0)
            text = said.read()
        problems = []
        if done.returncode == 0 or "build/venv could not be made" not in text:
            problems.append(f"./kz test does without build/venv\n{text}")
        if not has_all:
            problems.append(f"./kz test ended before build/jax was made\n{text}")
            for _ in range(300):  # it is still at work in the folder
                if made.exists():
                    break
                time.sleep(0.1)
        return problems


def main():
    root = Path(sys.argv[1]).resolve()
    fast = "OFF" if any(Path("/dev").glob("nvidia[0-9]*")) else "ON"
    problems = []
    for preset in json.loads((root / "CMakePresets.json").read_text())["configurePresets"]:
        for option in (OPTION, UNITY):
            value = preset.get("cacheVariables", {}).get(option)
            if (value, preset.get("inherits")) not in (("OFF", None), (None, "release"), (None, "asan-ubsan")):
                problems.append(f"preset {preset['name']}: {option} is {value}, it inherits {preset.get('inherits')}")
    shipping = ["build", "package --cuda", "wheel", "nightly", "gpu-bench", "gpu-test"]
    with tempfile.TemporaryDirectory() as folder:
        workplace = Workplace(root, Path(folder))
        for ships in shipping:
            built, said = workplace.run("test", "--quick")
            if built != [("build", fast, fast)]:
                problems.append(f"./kz test --quick built {built}, must be build, {fast}, {fast}\n{said}")
            if ("compiled fast" in said) != (fast == "ON"):
                problems.append(f"./kz test --quick, built with {fast}, says\n{said}")
            built, said = workplace.run(*ships.split())
            if not built or any(value != "OFF" for _, *values in built for value in values):
                problems.append(f"./kz {ships} built {built}, must be something, OFF, OFF\n{said}")
        built, said = workplace.run("test")
        if sorted(built) != [("build", fast, fast), ("build/asan", "OFF", "ON")]:
            problems.append(f"./kz test built {built}\n{said}")
    problems += left_behind(root)
    print("\n".join([*problems, f"{len(shipping)} commands after a test, {len(problems)} problems"]))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
