# SPDX-License-Identifier: MIT
"""Pictures for the page of measurements (benchmark_tables.py), on the site alone."""
import matplotlib

matplotlib.use("Agg")
matplotlib.rcParams["svg.hashsalt"] = "kizami"
from benchmark_tables import PRODUCTS, TYPES, WHO, by_moduli, middle, records, square_runs
from matplotlib import pyplot as plt

COLOURS = {"native": "tab:grey", "hopper": "tab:blue", "cublas/dynamic": "tab:orange"}


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


def illustrate(root, page):
    """Puts a picture below the title of each section of products."""
    text = page.read_text()
    for title, path in PRODUCTS.items():
        picture = page.with_name(path.split("/")[0] + "_gemm.svg")
        chart(square_runs(records(root / "lab/results" / path)), picture, 0.5)
        text = text.replace(f"## {title}\n", f"## {title}\n\n![TFLOPS by type and size, phi = 0.5]({picture.name})\n")
    page.write_text(text)
