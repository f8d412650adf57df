# SPDX-License-Identifier: MIT
"""The page of measurements, from lab/results: square products with native cuBLAS and its own emulation beside them, convolutions with cuDNN."""
import json
import re
import statistics

import matplotlib

matplotlib.use("Agg")
matplotlib.rcParams["svg.hashsalt"] = "kizami"
from matplotlib import pyplot as plt

TYPES = {"d": "DGEMM", "z": "ZGEMM", "s": "SGEMM", "c": "CGEMM"}
CASE = re.compile(r"^([sdcz]) nn (\d+)x(\d+)x(\d+) phi=([\d.]+)(.*)$")
WHO = {"native": "cuBLAS, native", "hopper": "Kizami", "cublas/dynamic": "cuBLAS 13.10, emulated"}
COLOURS = {"native": "tab:grey", "hopper": "tab:blue", "cublas/dynamic": "tab:orange"}


def records(path):
    return [json.loads(line) for line in path.read_text().splitlines() if line.strip()]


def newest_run(rows, who):
    """The records of the last commit, in the order of the file, that has all of `who`; none where none has."""
    for commit in reversed(dict.fromkeys(row["commit"] for row in rows)):
        run = [row for row in rows if row["commit"] == commit]
        if set(who) <= {row["who"] for row in run}:
            return run
    return []


def square_runs(rows):
    """{type: {(n, phi): {who: [record]}}} of square products, each type by the newest run that has native and Kizami, and a rival if any has."""
    out = {}
    for letter in TYPES:
        own = [row | {"shape": found} for row in rows if (found := CASE.match(row["case"])) and found[1] == letter and found[2] == found[3] == found[4]
               and not found[6].strip()]
        for row in newest_run(own, ["native", "hopper", "cublas/dynamic"]) or newest_run(own, ["native", "hopper"]):
            key = int(row["shape"][2]), float(row["shape"][5])
            out.setdefault(letter, {}).setdefault(key, {}).setdefault(row["who"], []).append(row)
    return out


def by_moduli(rows):
    """Kizami's records by accuracy: few moduli are accuracy native, the most are all bits of the type."""
    out = {}
    for row in rows:
        out.setdefault(int(re.match(r"\d+", row["plan"])[0]), []).append(row)
    return [out[moduli] for moduli in sorted(out)]


def middle(rows):
    return statistics.median(row["tflops"] for row in rows)


def chart(runs, path, phi):
    letters = [letter for letter in TYPES if any(key[1] == phi for key in runs.get(letter, {}))]
    figure, panels = plt.subplots(1, len(letters), figsize=(3.1 * len(letters), 3), squeeze=False)
    for axes, letter in zip(panels[0], letters):
        cases = sorted((n, who) for (n, of), who in runs[letter].items() if of == phi and "native" in who and "hopper" in who)
        for place, who in enumerate(WHO):
            values = [(i, middle(by_moduli(case[who])[0] if who == "hopper" else case[who])) for i, (_, case) in enumerate(cases) if who in case]
            axes.bar([i + (place - 1) * 0.27 for i, _ in values], [value for _, value in values], 0.27, color=COLOURS[who], label=WHO[who])
        axes.set_xticks(range(len(cases)), [str(n) for n, _ in cases])
        axes.set_title(f"{TYPES[letter]}, TFLOPS", fontsize=10)
        axes.tick_params(labelsize=8)
        axes.spines[["top", "right"]].set_visible(False)
    figure.legend(*panels[0][0].get_legend_handles_labels(), loc="lower center", ncols=3, fontsize=8, frameon=False)
    figure.tight_layout(rect=(0, 0.09, 1, 1))
    figure.savefig(path, metadata={"Date": None})
    plt.close(figure)


def gemm_section(path, picture):
    runs = square_runs(records(path))
    if not runs:
        raise SystemExit(f"{path} has no run of native and hopper")
    first = next(iter(next(iter(runs.values())).values()))["native"][0]
    lines = [f"By `bench_gpu_gemm` ({first['device']}, driver {first['driver']}), the newest run of each type that has native beside Kizami: column-major NN, alpha = 1, beta = 0,",
             "inputs (uniform - 0.5) exp(phi normal), medians of interleaved rounds by the device's clock, all that a call does included. Figures are TFLOPS; the error is the largest of",
             "16 rows relative to |A||B|. \"All bits\" promises 2^-52 (FP32: 2^-23), where the run has it. The ratio is Kizami's to native.", ""]
    chart(runs, picture, 0.5)
    lines += [f"![TFLOPS by type and size, phi = 0.5]({picture.name})", ""]
    for letter, cases in runs.items():
        commits = sorted({row["commit"] for who in cases.values() for rows in who.values() for row in rows})
        has_rival = any("cublas/dynamic" in who for who in cases.values())
        lines += [f"### {TYPES[letter]}", "", f"Commit {', '.join(commits)}.", "",
                  "| n | phi | native | Kizami | all bits |" + (" cuBLAS 13.10, emulated |" if has_rival else "") + " ratio | error, native | error, Kizami |",
                  "|---|---|---|---|---|---|---|---|" + ("---|" if has_rival else "")]
        for (n, phi), who in sorted(cases.items()):
            if "native" not in who or "hopper" not in who:
                continue
            native, ours = middle(who["native"]), by_moduli(who["hopper"])
            rival = f" {middle(who['cublas/dynamic']):.1f} |" if "cublas/dynamic" in who else " |" if has_rival else ""
            lines.append(f"| {n} | {phi:g} | {native:.1f} | {middle(ours[0]):.1f} | {f'{middle(ours[-1]):.1f}' if len(ours) > 1 else ''} |{rival} {middle(ours[0]) / native:.2f} | "
                         f"{who['native'][0]['error']:.1e} | {ours[0][0]['error']:.1e} |")
        lines.append("")
    return lines


def convolution_section(path):
    """Layers with all that answered them in the newest run beside cuDNN, milliseconds."""
    run = newest_run(records(path), ["call", "cudnn_fp32"])
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


def page(root, out):
    """Writes the page and its pictures into the folder `out`."""
    results = root / "lab/results"
    lines = ["# Benchmarks", "", "Made of the records in `lab/results` when this site was built: each figure has a commit, and `./kz gpu-bench` repeats it on your card. What was learned from",
             "them stands on the pages of measurements: [whole products](../docs/perf/h200_call.md), [INT8 products](../docs/perf/h200_product.md), [slices](../docs/perf/h200_slices.md),",
             "[error-corrected FP32](../docs/perf/h200_ec.md), [convolutions](../docs/perf/convolution.md), [processors](../docs/perf/cpu_int8.md).", "",
             "## Square products on an H200", "", *gemm_section(results / "h200/gemm.jsonl", out / "gemm_h200.svg"),
             "## Square products on an H100", "", *gemm_section(results / "h100/gemm.jsonl", out / "gemm_h100.svg"),
             "## Convolutions on an H200", "", *convolution_section(results / "h200/convolution.jsonl")]
    (out / "benchmarks.md").write_text("\n".join(lines) + "\n")
