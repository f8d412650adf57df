#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Puts into a repaired wheel what its foreign parts ask for: the licence text of each (dist-info/licenses/third_party) and a bill of materials
(dist-info/sboms/kizami.cdx.json, CycloneDX 1.5). Foreign parts are the libraries that auditwheel put into kizami.libs, by the distribution's package
that each came from, and what was compiled in. A library without a known package or text is an error.

usage: wheel_notices.py WHEEL SITE_PACKAGES [--cuda]    SITE_PACKAGES: has nanobind; --cuda: CUDA's runtime was linked in
       wheel_notices.py --check WHEEL                   the wheel has a text and an entry for every library in it
"""
import base64
import hashlib
import json
import os
import re
import subprocess
import sys
import time
import zipfile
from pathlib import Path

# Compiled into the module: Debian's package, and the licence.
COMPILED_IN = {"libfmt-dev": "MIT"}
LICENCES = {"libopenblas": "BSD-3-Clause", "libgfortran": "GPL-3.0-or-later WITH GCC-exception-3.1", "libquadmath": "LGPL-2.1-or-later",
            "libfmt": "MIT", "libhwy": "Apache-2.0", "libgomp": "GPL-3.0-or-later WITH GCC-exception-3.1"}
COMMON = Path("/usr/share/common-licenses")
CUDA_NOTICE = """The module contains parts of the CUDA Runtime (cudart_static), which NVIDIA lets programs redistribute under the terms of the CUDA Toolkit End User License
Agreement, attachment A. Copyright NVIDIA Corporation. All rights reserved.
"""


def bundled(names):
    """The foreign libraries in the wheel."""
    return sorted(Path(name).name for name in names if re.match(r"kizami\.libs/(?!libkizami).*\.so", name))


def licence_of(library):
    return next((licence for stem, licence in LICENCES.items() if library.startswith(stem)), None)


def package_of(library):
    """The package that a library of this name came from, with its version. The hash that auditwheel put into the name is left out."""
    plain = re.sub(r"-[0-9a-f]{8}(?=\.)", "", library)
    pattern = re.sub(r"\.so.*", "", plain)
    pattern = re.sub(r"\.\d+(\.\d+)*$", "", pattern)
    found = subprocess.run(["dpkg-query", "-S", f"*/{pattern}*.so*"], capture_output=True, text=True).stdout
    packages = sorted({line.split(":")[0] for line in found.splitlines() if "-dev" not in line.split(":")[0] and not line.startswith("diversion")})
    runtime = [package for package in packages if "gcc" not in package or len(packages) == 1]
    if not runtime:
        raise SystemExit(f"{library}: no package of this system has {pattern}*.so")
    return runtime[0], version_of(runtime[0])


def version_of(package):
    return subprocess.run(["dpkg-query", "-W", "-f", "${Version}", package], capture_output=True, text=True, check=True).stdout


def text_of(package):
    """The package's copyright file, and the common licences that it only names."""
    text = Path(f"/usr/share/doc/{package}/copyright").read_text(errors="replace")
    for name in sorted(set(re.findall(rf"{COMMON}/([\w.+-]*\w)", text))):
        if (COMMON / name).is_file():
            text += f"\n\n{'-' * 100}\n{name}\n\n" + (COMMON / name).read_text(errors="replace")
    return text


def component(name, version, licence):
    return {"type": "library", "name": name, "version": version, "licenses": [{"expression": licence}]}


def additions(names, site_packages, has_cuda):
    """{file in dist-info: bytes}"""
    files, components = {}, []
    for library in bundled(names):
        package, version = package_of(library)
        if licence_of(library) is None:
            raise SystemExit(f"{library} of {package}: wheel_notices.py does not know its licence")
        files[f"licenses/third_party/{package}.txt"] = text_of(package)
        components.append(component(package, version, licence_of(library)) | {"properties": [{"name": "file", "value": f"kizami.libs/{library}"}]})
    for package, licence in COMPILED_IN.items():
        files[f"licenses/third_party/{package}.txt"] = text_of(package)
        components.append(component(package, version_of(package), licence))
    nanobind = next(site_packages.glob("nanobind-*.dist-info"))
    files["licenses/third_party/nanobind.txt"] = "\n".join(path.read_text() for path in sorted((nanobind / "licenses").rglob("*")) if path.is_file())
    components.append(component("nanobind", nanobind.name.split("-")[1].removesuffix(".dist"), "BSD-3-Clause"))
    if has_cuda:
        files["licenses/third_party/cuda_runtime.txt"] = CUDA_NOTICE
        components.append({"type": "library", "name": "cudart_static", "licenses": [{"license": {"name": "CUDA Toolkit End User License Agreement"}}]})
    bill = {"bomFormat": "CycloneDX", "specVersion": "1.5", "version": 1,
            "metadata": {"component": {"type": "library", "name": "kizami", "licenses": [{"expression": "MIT"}]}}, "components": components}
    files["sboms/kizami.cdx.json"] = json.dumps(bill, indent=1) + "\n"
    return {name: text.encode() for name, text in files.items()}


def add(wheel, site_packages, has_cuda):
    stamp = time.gmtime(int(os.environ.get("SOURCE_DATE_EPOCH", "315532800")))[:6]
    with zipfile.ZipFile(wheel) as old:
        entries = [(info, old.read(info)) for info in old.infolist()]
    info_dir = next(info.filename.split("/")[0] for info, _ in entries if info.filename.endswith(".dist-info/RECORD"))
    new = {f"{info_dir}/{name}": data for name, data in additions([info.filename for info, _ in entries], site_packages, has_cuda).items()}
    records = []
    for name, data in new.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        records.append(f"{name},sha256={digest},{len(data)}\n")
    partial = wheel.with_suffix(".partial")
    with zipfile.ZipFile(partial, "w", zipfile.ZIP_DEFLATED) as out:
        for info, data in entries:
            if info.filename == f"{info_dir}/RECORD":
                lines = data.decode().splitlines(keepends=True)
                data = "".join([*records, *[line for line in lines if line.split(",")[0] not in new]]).encode()
            elif info.filename in new:
                continue
            out.writestr(info, data, compress_type=info.compress_type)
        for name, data in sorted(new.items()):
            info = zipfile.ZipInfo(name, max(stamp, (1980, 1, 1, 0, 0, 0)))
            info.external_attr = 0o644 << 16
            info.compress_type = zipfile.ZIP_DEFLATED
            out.writestr(info, data)
    partial.replace(wheel)
    print(f"{len(new)} files added to {wheel.name}")


def check(wheel):
    problems = []
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        records = archive.read(next(name for name in names if name.endswith(".dist-info/RECORD"))).decode()
        bills = [json.loads(archive.read(name)) for name in names if name.endswith("sboms/kizami.cdx.json")]
        texts = {Path(name).stem: archive.read(name) for name in names if "/licenses/third_party/" in name}
        licences = [name for name in names if re.search(r"\.dist-info/licenses/LICENSE$", name)]
    if len(bills) != 1 or not licences:
        problems.append(f"{len(bills)} bills of materials, {len(licences)} licences of Kizami, must be one each")
    components = bills[0]["components"] if bills else []
    listed = {prop["value"] for part in components for prop in part.get("properties", [])}
    problems += [f"kizami.libs/{library} is not in the bill of materials" for library in bundled(names) if f"kizami.libs/{library}" not in listed]
    problems += [f"there is no licence text of {part['name']}" for part in components
                 if len(texts.get({"cudart_static": "cuda_runtime"}.get(part["name"], part["name"]), b"")) < 100]
    problems += [f"{name} is not in RECORD" for name in names if not name.endswith("/") and f"{name}," not in records]
    print("\n".join([*problems, f"{len(components)} foreign parts, {len(problems)} problems"]))
    return 1 if problems or len(components) < 3 else 0


def main():
    arguments = [argument for argument in sys.argv[1:] if not argument.startswith("--")]
    if "--check" in sys.argv and len(arguments) == 1:
        return check(Path(arguments[0]))
    if len(arguments) != 2:
        sys.exit(__doc__)
    add(Path(arguments[0]), Path(arguments[1]), "--cuda" in sys.argv)
    return 0


if __name__ == "__main__":
    sys.exit(main())
