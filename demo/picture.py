"""The picture of the demo: error against the number of moduli, and against the grading of the inner index."""

import matplotlib

matplotlib.use("Agg")  # no display needed
import matplotlib.pyplot as plt
import numpy as np

# The palette of Okabe and Ito: distinct for every common kind of colour vision. Markers and dashes differ as well.
BLUE, ORANGE, GREEN, VERMILION, GREY = "#0072B2", "#E69F00", "#009E73", "#D55E00", "#666666"
STYLES = {"normal data": (VERMILION, "s", VERMILION, 5), "V J⁻¹ of H₂O₂": (BLUE, "o", "none", 9)}


def draw(moduli, grading, path):
    plt.rcParams.update({"font.size": 11, "axes.spines.top": False, "axes.spines.right": False, "axes.axisbelow": True})
    figure, (left, right) = plt.subplots(1, 2, figsize=(13.5, 5.8), layout="constrained")
    draw_moduli(left, moduli)
    draw_grading(right, grading)
    for axes in (left, right):
        axes.set_yscale("log")
        axes.grid(color="#dddddd", linewidth=0.6)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=150)
    plt.close(figure)


def draw_moduli(axes, study):
    counts = study["moduli"]
    axes.plot(counts, study["bound"], color="black", label="a-priori bound (guaranteed)")
    for name, errors in study["errors"].items():
        colour, marker, face, size = STYLES[name]
        fp64, fp32 = study["levels"][name]
        axes.plot(counts, errors, marker, color=colour, markerfacecolor=face, markersize=size, label=f"Kizami, {name}")
        axes.axhline(fp64, color=colour, linestyle="--", linewidth=1.3, label=f"native FP64, {name}")
        axes.axhline(fp32, color=colour, linestyle=":", linewidth=1.6, label=f"naive FP32, {name}")
    axes.set_xticks(counts[::2])
    axes.set_xlabel("number of moduli (each is one INT8 product)")
    axes.set_ylabel("largest error  |C - AB| / (||row of A|| ||column of B||)")
    axes.set_title("Every modulus adds four bits, down to the rounding of FP64", fontsize=12)
    axes.legend(frameon=False, fontsize=9.5)


def draw_grading(axes, study):
    spreads = study["spreads"]
    style = {
        "naive FP32": (GREEN, "^", ":", "naive FP32 (ends where it overflows)"),
        "fixed point": (VERMILION, "s", "-", "fixed point: 15 moduli, nothing else"),
        "native FP64": (GREY, "D", "--", "native FP64"),
        "Kizami": (BLUE, "o", "-", "Kizami, 52 bits asked for"),
    }
    for name, (colour, marker, dashes, label) in style.items():
        errors = np.array(study["errors"][name])
        errors[~np.isfinite(errors)] = np.nan
        axes.plot(spreads, errors, marker=marker, linestyle=dashes, color=colour, label=label, markersize=5)
    axes.plot(spreads, study["bound"], color="black", label="its bound (guaranteed)")
    annotate_rungs(axes, study)
    axes.set_ylim(1e-19, 10)
    axes.set_xlabel("p: A = X D, B = D$^{-1}$ Y, with D from 2$^{-p}$ to 2$^{p}$")
    axes.set_ylabel("largest error  |C - AB| / (|A||B|)")
    axes.set_title("Graded data: rescaling the inner index keeps the bound", fontsize=12)
    axes.legend(frameon=False, fontsize=9.5, loc="upper right", bbox_to_anchor=(1, 0.6))


def annotate_rungs(axes, study):
    """Says below the line of Kizami what it did, and from where on."""
    hows, spreads = study["how"], study["spreads"]
    changes = [i for i, how in enumerate(hows) if i == 0 or how != hows[i - 1]]
    text = "Kizami took\n" + "\n".join(f"from p = {spreads[i]}: {hows[i]}" for i in changes)
    axes.text(0, min(study["errors"]["Kizami"]) / 3, text, color=BLUE, fontsize=9.5, va="top")
