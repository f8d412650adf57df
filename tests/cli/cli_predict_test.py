# SPDX-License-Identifier: MIT
"""kizami predict: what it prints, and what it refuses."""
import csv
import io
import json
import math
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import cli_support
from cli_support import BAD_INPUT, OUTPUT, REFUSED, USAGE, CliTest

DEVICES = "a100, b200, b300, gb200, gh200, h100, h200, l40s, rtx4090, rtx4090_laptop, rtx5080, rtx5090, rtxpro6000"
CARD = {"format": 1, "name": "card", "title": "A card", "compute_capability": "8.6",
        "sheet": {key: {"value": value, "source": "s"} for key, value in
                  {"sms": 10, "clock_ghz": 2, "fp64_tflops": 0.5, "fp32_tflops": 20, "int8_tops": 100, "bandwidth_tbs": 1, "l2_mb": 8,
                   "power_w": 300, "int32_per_sm_cycle": 64}.items()},
        "sources": {"s": "its sheet"}}


class PredictTest(CliTest):
    def records(self, name):
        lines = (Path(__file__).parents[2] / f"lab/results/h200/{name}.jsonl").read_text().splitlines()
        return [json.loads(line) for line in lines]

    def predicted(self, *args):
        return [json.loads(line) for line in self.succeed("predict", *args, "--json").splitlines()]

    def test_in_words(self):
        out = self.succeed("predict", 8192, 8192, 8192, "--device", "h200,gb200", "--scheme", "ozaki2,ef_s")
        self.assertIn("predicted by a model and not measured", out)
        for text in ("h200: ozaki2, program kizami, of quadrants (Strassen) (98 real products)", "gb200: ef_s, program portable (28 real products)",
                     "computation", "data handling", "held by products", "products alone allow 161.6",
                     "in doubt: clock_ghz = 2.11 is uncertain", "in doubt: Kizami has not run on compute capability 10.0"):
            self.assertIn(text, out)
        self.assertRegex(out, r"minutes into a run +[\d.]+ ms +[\d.]+ TFLOPS, [\d.]+ J")

    def test_json_adds_up(self):
        for scheme in ("native", "ozimmu", "ef", "ef_s", "ef_l", "ozaki2"):
            row, = self.predicted(4096, 2048, 1000, "--device", "h200", "--scheme", scheme)
            self.assertEqual((row["device"], row["scheme"], row["m"], row["n"], row["k"]), ("h200", scheme, 4096, 2048, 1000))
            self.assertAlmostEqual(sum(phase["seconds"] for phase in row["phases"]), row["seconds"])
            self.assertAlmostEqual(row["computation_seconds"] + row["data_handling_seconds"], row["seconds"])
            self.assertAlmostEqual(row["tflops"], 2 * 4096 * 2048 * 1000 / row["seconds"] * 1e-12)
            for phase in row["phases"]:
                roofs = {roof: seconds for roof, seconds in phase["seconds_of_roof"].items() if roof != "launch"}
                launch = phase["seconds_of_roof"].get("launch", 0)
                self.assertAlmostEqual(max(roofs.values(), default=0) + launch, phase["seconds"])

    def test_options_reach_the_model(self):
        def row(*args):
            return self.predicted(2048, 2048, 2048, "--device", "h200", *args)[-1]
        self.assertEqual(row("--moduli", 10)["products"], 10)
        self.assertEqual(row("--scheme", "ef_s", "--slices", 4)["products"], 10)
        self.assertEqual(row("--type", "c128")["products"], 30)
        self.assertEqual(row("--type", "c128", "--scheme", "ef_s", "--complex-form", "karatsuba")["products"], 84)
        self.assertLess(row("--scheme", "ef_s", "--slice-split", "bytes")["seconds"], row("--scheme", "ef_s")["seconds"])
        self.assertEqual(row("--type", "f32", "--scheme", "ec", "--format", "tf32")["products"], 3)
        self.assertEqual(row("--program", "gemmul8", "--format", "fp8")["products"], 36)
        self.assertGreater(row("--program", "gemmul8", "--accurate")["seconds"], row("--program", "gemmul8")["seconds"])
        for scheme in ("native", "ozaki2", "ef_s"):  # C is read, where memory is what holds a phase
            args = 4096, 4096, 16, "--device", "h200", "--scheme", scheme, "--slices", 3, "--moduli", 3
            whole, update = self.predicted(*args)[0], self.predicted(*args, "--update")[0]
            self.assertGreater(update["seconds"], whole["seconds"], scheme)
            self.assertLess(update["seconds"] - whole["seconds"], 1.05 * 8 * 4096 ** 2 / 4.3e12, scheme)
        self.assertNotEqual(row("--program", "portable")["seconds"], row("--program", "portable", "--basis", "sheet")["seconds"])

    def test_sweep(self):
        args = "--sweep", "1024:5000", "--device", "h200,a100", "--scheme", "native,ozaki2"
        rows = list(csv.DictReader(io.StringIO(self.succeed("predict", *args, "--csv"))))
        self.assertEqual([(r["n"], r["device"], r["scheme"]) for r in rows],
                         [(n, d, s) for n in ("1024", "2048", "4096") for d in ("h200", "a100") for s in ("native", "ozaki2")])
        table = self.succeed("predict", *args).splitlines()
        self.assertEqual([line.split()[:6] for line in table[1:]], [[r["device"], r["scheme"], r["products"], r["m"], r["n"], r["k"]] for r in rows])
        self.assertEqual(len(self.predicted(*args)), len(rows))

    def test_counts_are_lists(self):
        rows = self.predicted("--sweep", "1024:2048", "--device", "h200", "--scheme", "native,ef_s,ozaki2", "--slices", "3,7", "--moduli", "10,14")
        self.assertEqual([row["products"] for row in rows], [1, 6, 28, 10, 14] * 2)
        for few, many in ((1, 2), (3, 4)):
            self.assertLess(rows[few]["seconds"], rows[many]["seconds"])

    def test_picture(self):
        """Axes are logarithmic; a line for the rate, and one for each of its roofs, which lie above it."""
        args = "--sweep", "256:8192", "--device", "h200", "--scheme", "native,ef_s", "--slices", "3,7"
        self.succeed("predict", *args, "--picture", "roofline.svg")
        tree = ElementTree.fromstring((self.dir / "roofline.svg").read_text())
        svg = "{http://www.w3.org/2000/svg}"
        lines = [[tuple(map(float, pair.split(","))) for pair in line.get("points").split()] for line in tree.iter(svg + "polyline")]
        self.assertEqual([len(line) for line in lines], [6] * (2 + 3 + 3))
        _, _, width, height = map(float, tree.get("viewBox").split())
        for x, y in (point for line in lines for point in line):
            self.assertTrue(0 < x < width and 0 < y < height)
        rate, products, data = lines[2:5]
        for here, *roofs in zip(rate, products, data):
            for roof in roofs:
                self.assertEqual(here[0], roof[0])
                self.assertGreater(here[1], roof[1])  # y grows downwards
        steps = [b[0] - a[0] for a, b in zip(rate, rate[1:])]
        self.assertAlmostEqual(min(steps), max(steps), delta=0.2)
        words = [text.text for text in tree.iter(svg + "text")]
        for name in ("h200 native", "h200 ef_s, 6 products", "h200 ef_s, 28 products", "dashed: products alone"):
            self.assertIn(name, words)
        self.expect_error(USAGE, "predict", 1, 1, 1, "--device", "h200", "--picture", "x.svg", says="--picture goes with --sweep")
        self.expect_error(OUTPUT, "predict", *args, "--picture", "absent/x.svg", says="absent/x.svg")

    def test_shared_by_devices(self):
        rows = self.predicted(32768, 32768, 32768, "--device", "h200", "--scheme", "ozaki2", "--share", "1,4,64")
        self.assertEqual([row["devices"] for row in rows], [1, 4, 64])
        self.assertAlmostEqual(rows[0]["efficiency"], 1)
        self.assertEqual(rows[2]["limit"], "network")
        for row in rows:
            self.assertAlmostEqual(sum(row["seconds_exposed"].values()), row["seconds"])
            self.assertAlmostEqual(row["tflops"], 2 * 32768 ** 3 / row["seconds"] * 1e-12, places=3)
        def row(*args):
            return self.predicted(8192, 8192, 8192, "--device", "h200", "--scheme", "ozaki2", "--share", "16", *args)[0]
        usual = row()
        self.assertEqual(usual["devices_of_node"], 8)
        self.assertEqual(row("--node", 16)["limit"], "products")
        for option, value in ("--network", 10), ("--latency", 50), ("--parts", 3):
            self.assertNotEqual(row(option, value)["seconds"], usual["seconds"], option)
        self.assertGreater(row("--node", 16, "--from", "device", "--link", 10)["seconds"], row("--node", 16, "--from", "device")["seconds"])
        self.assertGreater(row("--node", 16, "--from", "host", "--host", 10)["seconds"], row("--node", 16, "--from", "host")["seconds"])
        table = self.succeed("predict", 8192, 8192, 8192, "--device", "h200", "--share", "2,4")
        self.assertEqual(len(table.splitlines()), 1 + 2 * 2)
        on = 8, 8, 8, "--device", "h200"
        self.expect_error(USAGE, "predict", *on, "--node", 4, says="--node goes with --share")
        self.expect_error(USAGE, "predict", *on, "--share", 2, "--link", "fast", says="--link = 'fast', must be a number")
        self.expect_error(USAGE, "predict", *on, "--share", 2, "--link", 0, says="the rate of the link = 0 GB/s, must be above 0")

    def test_the_guides_table_to_1024_devices(self):
        """docs/multi.md says what this program says, and which of it does not fit."""
        guide = (Path(__file__).parents[2] / "docs/multi.md").read_text()
        shares = 8, 64, 256, 1024
        lines, beyond = [f"| n | {shares[0]} GPUs | " + " | ".join(map(str, shares[1:])) + " |", "|---" * (len(shares) + 1) + "|"], []
        for n in 32768, 65536, 131072, 262144:
            cells = []
            rows = self.predicted(n, n, n, "--device", "h200", "--scheme", "ozaki2", "--share", ",".join(map(str, shares)), "--network", 50, "--latency", 5)
            self.assertEqual([row["devices"] for row in rows], list(shares))
            for row in rows:
                cells.append(f"{row['tflops'] / 1000:.2f} PFLOPS, {100 * row['efficiency']:.0f} %, {row['limit']}")
                if 8 * (3 * n * n / row["devices"] + n * sum(row["block"])) > 141e9:  # pieces of A, B and C, and panels
                    beyond.append((n, row["devices"]))
            lines.append(f"| {n} | " + " | ".join(cells) + " |")
        table = "\n".join(lines)
        self.assertTrue(table in guide, f"docs/multi.md must have\n{table}")
        self.assertEqual(beyond, [(131072, 8), (262144, 8), (262144, 64)])
        self.assertIn("exceed its 141 GB (131072 on 8; 262144 on 8 and 64)", guide)

    @staticmethod
    def tflops_of_then(row, record, letter, products, k):
        """With the product of samples that calls of ordinary elements had until 537947b4 (docs/perf/h200_call.md), and still have beyond k = 16384,
        where it is predicted, and with products and CRTs that took 3 % longer (by turns there: 1 % of D 8192 until e366aa5e, 1 to 3 % of D and Z until 0a82115e);
        products: m n k of a device."""
        sampled = {"d": 2140e-6 / 16384 ** 3, "z": 840e-6 / 8192 ** 3, "c": 800e-6 / 8192 ** 3, "s": 229e-6 / 8192 ** 3}[letter]
        is_older = record["date"] < "2026-11-30"
        seconds = (1.03 if is_older else 1) * row["seconds"] + (sampled * products if is_older and k <= 16384 else 0)
        return row["tflops"] * row["seconds"] / seconds

    def test_shared_as_measured(self):
        """One, two and four H200, of the records: where the model has been off by more, it is wrong by now."""
        # Predicted 335 and 342 TFLOPS. Four cards were at 253 to 270, at 278 to 286 since they begin sooner, and are at 309 and 318 since what comes is
        # asked for before kernels: docs/multi.md has what of it is known.
        late = {commit: 0.35 for commit in ("3735352c", "5ddec65f", "af353778")} | {"3b113a50": 0.21}
        off = {(commit, 4, "pieces", parts, "16384x16384x16384"): limit for commit, limit in late.items() for parts in (1, 2)}
        most = 0.17
        seen = 0
        for record in self.records("multi"):
            if record["who"] != "kizami::multi":
                continue
            letter, _, shape = record["case"].split()[:3]
            args = *shape.split("x"), "--device", "h200", "--scheme", "ozaki2", "--type", {"s": "f32", "d": "f64", "c": "c64", "z": "c128"}[letter]
            row, = self.predicted(*args, "--share", record["devices"], "--from", record["from"], "--parts", max(record["parts"], 1))
            products = math.prod(map(int, shape.split("x"))) / record["devices"]
            error = abs(self.tflops_of_then(row, record, letter, products, int(shape.split("x")[2])) / record["tflops"] - 1)
            limit = off.get((record["commit"], record["devices"], record["from"], record["parts"], shape), most)
            self.assertLess(error, limit, record)
            if limit > most:
                self.assertGreater(error, most, f"{record} is no exception any more")
            seen += 1
        self.assertGreater(seen, 10)

    def test_one_triangle(self):
        whole, = self.predicted(8192, 8192, 8192, "--device", "h200", "--scheme", "ozaki2")
        row, = self.predicted(8192, 8192, 8192, "--device", "h200", "--syrk")
        self.assertEqual((row["scheme"], row["operation"], whole["operation"]), ("ozaki2", "syrk", "gemm"))
        self.assertAlmostEqual(row["tflops"], 8192 ** 3 / row["seconds"] * 1e-12)
        self.assertLess(row["seconds"], 0.6 * whole["seconds"])
        self.assertIn("ozaki2, program kizami, one triangle (14 real products)", self.succeed("predict", 8192, 8192, 8192, "--device", "h200", "--syrk"))
        self.assertEqual(len(self.predicted("--sweep", "4096:16384", "--device", "h200", "--syrk")), 3)
        rows = self.predicted(32768, 32768, 32768, "--device", "h200", "--syrk", "--share", "1,2,4,8")
        self.assertEqual([row["devices"] for row in rows], [1, 2, 4, 8])
        self.assertEqual([row["grid"] for row in rows], [None] * 4)
        self.assertAlmostEqual(rows[0]["efficiency"], 1)
        for row in rows:
            self.assertEqual(row["operation"], "syrk")
            self.assertAlmostEqual(sum(row["seconds_exposed"].values()), row["seconds"])
            self.assertAlmostEqual(row["tflops"], 32768 ** 3 / row["seconds"] * 1e-12, places=3)
        self.assertEqual(rows[1]["block"], [23168, 23168])  # the triangle of 0.71 n
        self.assertIn("triangle", self.succeed("predict", 8192, 8192, 8192, "--device", "h200", "--syrk", "--share", 2))
        on = "--device", "h200", "--syrk"
        self.expect_error(USAGE, "predict", 8192, 4096, 8192, *on, says="m = 8192, must be n = 4096 for one triangle")
        self.expect_error(REFUSED, "predict", 8, 8, 8, *on, "--scheme", "native", says="must be ozaki2 for one triangle")
        self.expect_error(REFUSED, "predict", 8192, 8192, 8192, *on, "--share", 9, says="9 devices, must be at most 8 of one node")
        self.expect_error(REFUSED, "predict", 8, 8, 8, "--device", "cpu", "--syrk", says="of a processor all of C is predicted, no triangle")

    def test_triangles_as_measured(self):
        """One triangle on one, two and four H200, of the records, within 17 % as products are; each that is not is named."""
        # Before cards began sooner and split lines as they come four lost 7 ms of 21, and 7 of 19 behind that, where products lose 4 of 28; C left before
        # it was made, and once more (docs/multi.md). Predicted 284 and 305 TFLOPS, and 308 for 32768.
        off = {("af353778", 4, "pieces", 1, "16384x16384"): 0.39, ("af353778", 4, "pieces", 2, "16384x16384"): 0.39,
               ("af532867", 4, "pieces", 1, "16384x16384"): 0.23, ("2dd75324", 4, "pieces", 1, "16384x16384"): 0.30,
               ("108dc62b", 4, "pieces", 1, "16384x16384"): 0.38,
               ("108dc62b", 4, "pieces", 1, "32768x32768"): 0.24}
        most = 0.17
        seen = 0
        for record in self.records("multi"):
            if record["who"] not in ("kizami syrk", "kizami::multi syrk"):
                continue
            letter, _, _, shape = record["case"].split()[:4]
            n, k = shape.split("x")
            args = n, n, k, "--device", "h200", "--syrk", "--type", {"s": "f32", "d": "f64", "c": "c64", "z": "c128"}[letter]
            row, = self.predicted(*args, "--share", record["devices"], "--from", record["from"], "--parts", max(record["parts"], 1))
            products = int(n) ** 2 * int(k) / 2 / record["devices"]
            error = abs(self.tflops_of_then(row, record, letter, products, int(k)) / record["tflops"] - 1)
            limit = off.get((record["commit"], record["devices"], record["from"], record["parts"], shape), most)
            self.assertLess(error, limit, record)
            if limit > most:
                self.assertGreater(error, most, f"{record} is no exception any more")
            seen += 1
        self.assertGreater(seen, 6)

    def test_triangles_of_one_device_as_measured(self):
        """Calls of cuBLAS that were one product of a triangle by ozaki2, from 4096 on, where a call's starts are no large part."""
        older = {("3735352c", "z syrk 4096"): 0.16}  # e1cd4d78 took 11 % less
        # Before a12789eb, of half of the lines and of half of C at 8192: split 1757 for 1357 and 3080 for 2863 microseconds, CRT 797 for 696 and 1700 for
        # 1322 (docs/perf/h200_call.md).
        gained = {"c": (400 + 101) / 2 * 1e-6, "z": (217 + 378) / 2 * 1e-6}
        seen = 0
        for record in self.records("level3"):
            letter, routine, n = record["case"].split()
            is_ec = record["scheme"] == "ec" or letter == "s" and record["scheme"] == "auto" and record["commit"] != "e1cd4d78"
            is_one_product = record["who"] == "default" and (record["emulated"], record["native"]) == (1, 0)
            if routine not in ("syrk", "herk") or not is_one_product or int(n) < 4096 or is_ec:
                continue
            row, = self.predicted(n, n, n, "--device", "h200", "--syrk", "--type", {"s": "f32", "d": "f64", "c": "c64", "z": "c128"}[letter])
            seconds = row["seconds"]
            if record["date"] < "2026-11-28":
                seconds += gained.get(letter, 0) * (int(n) / 8192) ** 2
            tflops = self.tflops_of_then(row, record, letter, int(n) ** 3 / 2, int(n)) * row["seconds"] / seconds
            self.assertLess(abs(tflops / record["tflops"] - 1), older.get((record["commit"], record["case"]), 0.15), record)
            seen += 1
        self.assertGreater(seen, 15)

    def test_a_file_is_a_device(self):
        Path(self.dir, "card.json").write_text(json.dumps(CARD))
        row, = self.predicted(4096, 4096, 4096, "--device", "card.json", "--scheme", "ozaki2")
        self.assertEqual((row["device"], row["program"]), ("card", "portable"))
        faster = json.loads(json.dumps(CARD))
        faster["sheet"]["int8_tops"]["value"] = 200
        Path(self.dir, "faster.json").write_text(json.dumps(faster))
        then, = self.predicted(4096, 4096, 4096, "--device", "faster.json", "--scheme", "ozaki2")
        self.assertLess(then["seconds"], row["seconds"])
        del faster["sheet"]["sms"]
        Path(self.dir, "faster.json").write_text(json.dumps(faster))
        self.expect_error(BAD_INPUT, "predict", 1, 1, 1, "--device", "faster.json", says="--device: faster.json: sheet.sms is missing")
        self.expect_error(BAD_INPUT, "predict", 1, 1, 1, "--device", "none.json", says="none.json: cannot be opened")

    def test_refusals(self):
        on = "--device", "h200"
        for args, code, says in [
                ((1, 1, 1, "--device", "h2000"), USAGE, f"--device = 'h2000' is unknown; allowed: the number of a device of this machine, cpu, {DEVICES}, or a file"),
                ((1, 1, *on), USAGE, "M N K are three extents"),
                (on, USAGE, "either M N K, or --sweep FROM:TO"),
                ((1, 1, 1, "--sweep", "1:2", *on), USAGE, "either M N K, or --sweep FROM:TO"),
                (("--sweep", "8", *on), USAGE, "--sweep = '8', must be FROM:TO"),
                (("--sweep", "8:4", *on), USAGE, "--sweep = "),
                ((0, 1, 1, *on), USAGE, "M = "),
                ((1, 1, 1, "--scheme", "ozaki3", *on), USAGE, "--scheme = 'ozaki3' is unknown; allowed: native, ozimmu, ef, ef_s, ef_l, ozaki2, ec"),
                ((1, 1, 1, "--type", "f16", *on), USAGE, "--type = 'f16' is unknown"),
                ((1, 1, 1, "--slices", 21, *on), USAGE, "--slices = "),
                ((1, 1, 1, "--slice-split", "nearest", *on), USAGE, "--slice-split = 'nearest' is unknown; allowed: truncated, bytes"),
                ((1, 1, 1, "--csv", "--json", *on), USAGE, "--csv and --json exclude each other"),
                ((1, 1, 1, "--scheme", "ec", *on), REFUSED, "scheme ec is of f32 and c64, not of f64"),
                ((1, 1, 1, "--program", "kizami", "--device", "gb200"), REFUSED, "runs on compute capability 9.0, gb200 has 10.0")]:
            self.expect_error(code, "predict", *args, says=says)


if __name__ == "__main__":
    cli_support.main()
