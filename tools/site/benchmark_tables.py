# SPDX-License-Identifier: MIT
"""The page docs/benchmarks.md, from lab/results: square products with native cuBLAS and its own emulation beside them, convolutions with cuDNN, products
on a processor with its BLAS."""
import itertools
import json
import re
import statistics

TYPES = {"d": "DGEMM", "z": "ZGEMM", "s": "SGEMM", "c": "CGEMM"}
FIELDS = {"commit", "error", "tflops", "plan"}  # older records lack some
CASE = re.compile(r"^([sdcz]) nn (\d+)x(\d+)x(\d+) phi=([\d.]+)(.*)$")
EC_NOTE = ("[Scheme ec](perf/h200_ec.md), of its newest run beside native, promises no bits: a preloaded library takes it by default where it is predicted to be\n"
           "the quicker one.")
WHO = {"native": "cuBLAS, native", "hopper": "Kizami", "cublas/dynamic": "cuBLAS 13.10, emulated"}


def looked_at(rows):
    """The newest row whose error was looked at, in a list; of others it is recorded as -1."""
    return next(([row] for row in reversed(rows) if row["error"] >= 0), [])


def error(rows):
    return next((f"{row['error']:.1e}" for row in looked_at(rows)), "not checked")


def commits(rows):
    return sorted({row["commit"] for row in rows})


def records(path):
    return [json.loads(line) for line in path.read_text().splitlines() if line.strip()]


def newest_run(measurements, who):
    """The records of the last commit, in the order of the file, of measurements that have all of `who`; none where none has. What was measured alone
    is left out: a card that has no rival's calls between is cooler."""
    whole = [rows for rows in measurements if set(who) <= {row["who"] for row in rows}]
    return [row for rows in whole if rows[0]["commit"] == whole[-1][0]["commit"] for row in rows]


def by_moduli(rows):
    """Kizami's records by accuracy: few moduli are accuracy native, the most are all bits of the type."""
    out = {}
    for row in rows:
        out.setdefault(int(re.match(r"\d+", row["plan"])[0]), []).append(row)
    return [out[moduli] for moduli in sorted(out)]


def all_bits(rows):
    """Kizami's of the newest run that has both accuracies."""
    for commit in reversed(dict.fromkeys(row["commit"] for row in rows)):
        ours = by_moduli([row for row in rows if row["commit"] == commit and row["who"] == "hopper"])
        if len(ours) > 1:
            return ours[-1]
    return []


def square_runs(rows):
    """{type: {(n, phi): {column: [record]}}} of square products: native and Kizami of the newest run that has both, and by its newest run each what not
    every run has: a rival, all bits, scheme ec, and errors."""
    cases = {}  # measurements, which are records of one case and commit behind one another
    for (case, _), records_of_case in itertools.groupby((row for row in rows if FIELDS <= row.keys()), lambda row: (row["case"], row["commit"])):
        shape = CASE.match(case)
        if shape and shape[2] == shape[3] == shape[4] and not shape[6].strip():
            cases.setdefault((shape[1], int(shape[2]), float(shape[5])), []).append(list(records_of_case))
    out = {}
    for (letter, n, phi), measurements in sorted(cases.items(), key=lambda case: list(TYPES).index(case[0][0])):
        own = [row for of in measurements for row in of]
        run = newest_run(measurements, ["native", "hopper"])
        if not run:
            continue
        ours = by_moduli([row for row in run if row["who"] == "hopper"])[0]
        columns = {"native": [row for row in run if row["who"] == "native"], "hopper": ours, "all bits": all_bits(own),
                   "cublas/dynamic": [row for row in newest_run(measurements, ["native", "hopper", "cublas/dynamic"]) if row["who"] == "cublas/dynamic"],
                   "ec": [row for row in newest_run(measurements, ["native", "ec"]) if row["who"] == "ec"],
                   "native, all": [row for row in own if row["who"] == "native"],
                   "ec, all": [row for row in own if row["who"] == "ec"],
                   "hopper, all": [row for row in own if row["who"] == "hopper" and row["plan"].split()[0] == ours[0]["plan"].split()[0]]}
        out.setdefault(letter, {})[n, phi] = {column: of for column, of in columns.items() if of}
    return out


def middle(rows):
    return statistics.median(row["tflops"] for row in rows)


def gemm_section(path):
    runs = square_runs(records(path))
    if not runs:
        raise SystemExit(f"{path} has no run of native and hopper")
    first = next(row for cases in runs.values() for of in cases.values() for row in of["native"] if "device" in row)
    rivals = commits(row for cases in runs.values() for of in cases.values() for row in of.get("cublas/dynamic", []))
    ec_note = [EC_NOTE] if any("ec" in of for cases in runs.values() for of in cases.values()) else []
    lines = [f"By `bench_gpu_gemm` ({first['device']}, driver {first['driver']}), the newest run of each case that has native beside scheme ozaki2: column-major NN, alpha = 1,",
             "beta = 0, inputs (uniform - 0.5) exp(phi normal), medians of interleaved rounds by the device's clock, all that a call does included. Figures are TFLOPS; the error is the",
             "largest of 16 rows relative to |A||B|. Ozaki2 is at accuracy native, with the same bits everywhere; \"all bits\" is the same with a bound of 2^-52 (FP32: 2^-23). The ratio is",
             "that of ozaki2 to native, the commit is of both. All bits and errors are of the newest run that has them"
             + (f", cuBLAS's emulation is, too ({', '.join(rivals)}), on a card of its own." if rivals else "."),
             *ec_note, ""]
    for letter, cases in runs.items():
        def of_all(column):
            return [row for of in cases.values() for row in of.get(column, [])]
        has_rival, has_ec = bool(of_all("cublas/dynamic")), bool(of_all("ec"))
        checked = [row for of in cases.values() for column in ("native, all", "hopper, all", "ec, all") for row in looked_at(of.get(column, []))]
        others = {"all bits": of_all("all bits"), "ec": of_all("ec"), "emulation": of_all("cublas/dynamic"), "errors": checked}
        header = ["n", "phi", "native", "ozaki2", "all bits", *["ec"] * has_ec, *["cuBLAS 13.10, emulated"] * has_rival, "ratio", "error, native", "error, ozaki2",
                  *["error, ec"] * has_ec, "commit"]
        lines += [f"### {TYPES[letter]}", "", "Commits of " + "; ".join(f"{name}: {', '.join(commits(rows))}" for name, rows in others.items() if rows) + ".", "",
                  "| " + " | ".join(header) + " |", "|---" * len(header) + "|"]
        for (n, phi), of in sorted(cases.items()):
            def speed(column):
                return f"{middle(of[column]):.1f}" if column in of else ""
            cells = [n, f"{phi:g}", speed("native"), speed("hopper"), speed("all bits"), *[speed("ec")] * has_ec, *[speed("cublas/dynamic")] * has_rival,
                     f"{middle(of['hopper']) / middle(of['native']):.2f}", error(of["native, all"]), error(of["hopper, all"]),
                     *[error(of["ec, all"]) if "ec" in of else ""] * has_ec, ", ".join(commits(of["hopper"]))]
            lines.append("| " + " | ".join(map(str, cells)) + " |")
        lines.append("")
    return lines


def convolution_section(path):
    """Layers with all that answered them in the newest run beside cuDNN, milliseconds."""
    run = newest_run([list(rows) for _, rows in itertools.groupby(records(path), lambda row: row["commit"])], ["call", "cudnn_fp32"])
    names = {"call": "Kizami", "prepared": "Kizami, filters split before", "cudnn_fp32": "cuDNN, FP32", "cudnn_tf32": "cuDNN, TF32"}
    layers = {}
    for row in run:
        if row["who"] in names:
            key = tuple(row[name] for name in ("images", "channels", "filters", "size", "stride"))
            best = layers.setdefault(key, {})
            best[row["who"]] = min(best.get(row["who"], row["ms_median"]), row["ms_median"])
    lines = [f"By `bench_gpu_convolution` (commit {run[0]['commit']}, {run[0]['device']}): 3 x 3 filters, milliseconds, the fastest form and layout of each.", "",
             "| images | channels | filters | size | stride | " + " | ".join(names.values()) + " |", "|---" * (5 + len(names)) + "|"]
    for key, best in sorted(layers.items()):
        lines.append("| " + " | ".join(map(str, key)) + " | " + " | ".join(f"{best[who]:.3f}" if who in best else "" for who in names) + " |")
    return lines + [""]


def processor_section(path):
    """Square products by type, milliseconds of the newest record of each candidate."""
    rows = {}
    for row in records(path):
        n = int(re.search(r" (\d+)x\d+x\d+ ", row["case"])[1])
        rows[row["dtype"], n, row["candidate"]] = row
    first = next(iter(rows.values()))

    def milliseconds(key, name="seconds_median"):
        value = rows[key][name] * 1e3 if key in rows else None
        return "" if value is None else f"{value:.0f}" if value >= 100 else f"{value:.3g}"

    lines = [f"By `kizami bench` ({first['processor']}, {first['threads']} threads; version {first['version']}, {first['date'][:10]}): square products of normal numbers, milliseconds, medians of",
             f"{first['rounds']} interleaved rounds. The floor is the INT8 products of accuracy native alone.", "",
             "| type | n | native BLAS | floor | accuracy native | bits=52 (FP32: 23) | correct | bound, native BLAS | bound, accuracy native |", "|---|---|---|---|---|---|---|---|---|"]
    for dtype, n in sorted({(dtype, n) for dtype, n, _ in rows if dtype != "dd"}, key=lambda case: (("f64", "f32", "c128", "c64").index(case[0]), case[1])):
        of = {name: (dtype, n, name) for name in ("native BLAS", "accuracy native", "bits=52", "bits=23", "correct")}
        most = of["bits=52"] if of["bits=52"] in rows else of["bits=23"]
        bounds = [f"{rows[of[name]]['bound']:.1e}" if of[name] in rows else "" for name in ("native BLAS", "accuracy native")]
        lines.append(f"| {dtype} | {n} | {milliseconds(of['native BLAS'])} | {milliseconds(of['accuracy native'], 'floor_seconds')} | {milliseconds(of['accuracy native'])} | "
                     f"{milliseconds(most)} | {milliseconds(of['correct'])} | {bounds[0]} | {bounds[1]} |")
    names = ["double-double sums", "__float128 sums", "bits=64", "bits=80", "bits=100"]
    lines += ["", "Products in double-double (`--dd`), against sums in double-double arithmetic, vectorised by the compiler, and in `__float128`:", "",
              "| n | " + " | ".join(name.replace("__float128", "`__float128`") for name in names) + " |", "|---" * (1 + len(names)) + "|"]
    for n in sorted({n for dtype, n, _ in rows if dtype == "dd"}):
        lines.append(f"| {n} | " + " | ".join(milliseconds(("dd", n, name)) for name in names) + " |")
    return lines + [""]


# Titles of sections with a picture on the site, and their records.
PRODUCTS = {"Square products on an H200": "h200/gemm.jsonl", "Square products on an H100": "h100/gemm.jsonl"}


def text(root):
    results = root / "lab/results"
    lines = ["# Benchmarks", "", "Written by `tools/write_benchmarks.py` from the records in `lab/results`: figures of devices have a commit, those of processors a version and a day;",
             "`./kz gpu-bench` and `kizami bench` repeat them on your machine. What was learned from them stands on the pages of measurements: [whole products](perf/h200_call.md),",
             "[INT8 products](perf/h200_product.md), [slices](perf/h200_slices.md), [error-corrected FP32](perf/h200_ec.md), [convolutions](perf/convolution.md), [processors](perf/cpu_int8.md).", ""]
    for title, path in PRODUCTS.items():
        lines += [f"## {title}", "", *gemm_section(results / path)]
    lines += ["## Convolutions on an H200", "", *convolution_section(results / "h200/convolution.jsonl"),
              "## Products on a processor", "", *processor_section(results / "cpu/cascade_lake.jsonl")]
    return "\n".join(lines).rstrip() + "\n"
