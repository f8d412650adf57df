# SPDX-License-Identifier: MIT
"""kizami study: the files that it leaves, what they hold, and the verdicts that do not depend on the size of a run."""
import csv

import cli_support
from cli_support import OUTPUT, USAGE, CliTest

FILES = ["figure_1.csv", "figure_2.csv", "figure_3.csv", "figure_6.csv", "figure_7.csv", "figure_8.csv", "study.md", "table_1.csv"]


class StudyTest(CliTest):
    def rows(self, name):
        with open(self.dir / name, newline="") as file:
            return list(csv.DictReader(file))

    def test_sgemm(self):
        claims = self.succeed("study", "sgemm", "--max-k", 256, "--seeds", 1, timeout=280)
        self.assertEqual(self.names(), FILES)
        self.assertIn(claims, (self.dir / "study.md").read_text())
        verdicts = {}
        for line in claims.splitlines()[2:]:
            _, place, claim, verdict, found, _ = (field.strip() for field in line.split("|"))
            self.assertIn(verdict, ("reproduced", "surpassed", "refuted"))
            self.assertTrue(found)
            verdicts[place, claim] = verdict
        self.assertGreater(len(verdicts), 20)
        # Enumerated, so the same in every run.
        self.assertEqual(verdicts["section 3.1", "two FP16 numbers by RN keep 22.75 of 23 bits on average"], "reproduced")
        self.assertEqual(verdicts["section 3.1", "so do they by RNA"], "reproduced")
        self.assertEqual(verdicts["table 1", "lengths and probabilities by the deciding bits"], "reproduced")
        self.assertEqual(verdicts["section 4.1", "for exp_rand(-15, 15) both halfhalf parts are normal numbers"], "refuted")
        self.assertEqual(verdicts["figure 8, right", "halfhalf is wrong"], "reproduced")
        expected = [row for row in self.rows("table_1.csv") if row["l0"] == "expected"]
        self.assertEqual([(row["length"], row["probability"]) for row in expected], [("22.75", "RN"), ("22.75", "RNA"), ("22.5", "last bit masked")])
        figure = self.rows("figure_1.csv")
        self.assertEqual(list(figure[0]), ["data", "series", "k", "error", "max_entry_error_u"])
        self.assertEqual({row["k"] for row in figure}, {"16", "32", "64", "128", "256"})
        for row in figure:
            self.assertTrue(0 < float(row["error"]) < 1e-3, row)

    def test_same_numbers_again(self):
        """Operands are addressed by seed, row and column: threads change no digit."""
        for folder in ("one", "two"):
            (self.dir / folder).mkdir()
            self.succeed("study", "sgemm", "-o", folder, "--max-k", 256, "--seeds", 2, timeout=280)
        for name in FILES:
            self.assertEqual((self.dir / "one" / name).read_bytes(), (self.dir / "two" / name).read_bytes(), name)

    def test_refusals(self):
        self.expect_error(USAGE, "study", says="SUBJECT is required")
        self.expect_error(USAGE, "study", "dgemm", says=("SUBJECT = 'dgemm'", "allowed: sgemm"))
        self.expect_error(USAGE, "study", "sgemm", "--max-k", 300, says="--max-k = 300, must be a power of two")
        self.expect_error(USAGE, "study", "sgemm", "--max-k", 128, says="--max-k")
        self.expect_error(USAGE, "study", "sgemm", "--seeds", 0, says="--seeds")
        self.expect_error(OUTPUT, "study", "sgemm", "-o", "absent", says="-o = 'absent' is no folder")


if __name__ == "__main__":
    cli_support.main()
