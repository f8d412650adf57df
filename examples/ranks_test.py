#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""09_ranks_mpi on 1, 2 and 4 ranks: equal bits; and with a rank that fails, refuses memory, has another shape, never calls or dies: an error on
every rank within seconds.

usage: ranks_test.py MPIEXEC PROGRAM
"""
import os
import re
import subprocess
import sys
import time

FAULTS = {"shape": "k differs between ranks, from 280 to 281", "error": "rank 3: ", "memory": "rank 3: ", "absent": "no answer within",
          "dead": "no answer within"}
MOST_SECONDS = 30  # with the start of ranks on a busy machine; they themselves wait 2


def run(mpiexec, program, ranks, *args, options=()):
    environment = {**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "KIZAMI_THREADS": "1"}
    command = [mpiexec, *options, "-n", str(ranks), "--oversubscribe", "--bind-to", "none", "--mca", "mpi_yield_when_idle", "1", program, *args]
    begin = time.monotonic()
    process = subprocess.Popen(command, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    try:
        text = process.communicate(timeout=MOST_SECONDS)[0]
    except subprocess.TimeoutExpired:
        process.terminate()  # mpiexec ends its ranks
        text = process.communicate()[0] + "\nhung"
    return process.returncode, text, time.monotonic() - begin


def main():
    mpiexec, program = sys.argv[1:]
    problems = []
    for ranks in (1, 2, 4):
        status, text, seconds = run(mpiexec, program, ranks)
        counts = re.findall(r"rank \d of \d: (\d+) elements, (\d+) with other bits than one process", text)
        print(f"{ranks} ranks: {counts}, {seconds:.1f} s")
        if status != 0 or len(counts) != ranks or sum(int(n) for n, _ in counts) != 300 * 260 or any(int(n) for _, n in counts):
            problems.append(f"{ranks} ranks, exit status {status}:\n{text}")
    for fault, says in FAULTS.items():
        # Those that outlive a dead rank are to end by themselves, not by mpiexec.
        status, text, seconds = run(mpiexec, program, 4, "--fail", fault, options=["--enable-recovery"] if fault == "dead" else [])
        reasons = dict(re.findall(r"rank (\d) of 4: (.*)", text))
        told = [reasons.get(str(rank), "") for rank in range(3 if fault in ("absent", "dead") else 4)]
        print(f"{fault}: {seconds:.1f} s: {told[0]}")
        if any(says not in reason for reason in told) or "hung" in text:
            problems.append(f"{fault}, exit status {status}:\n{text}")
    status, text, seconds = run(mpiexec, program, 4, "--fail", "dead")
    print(f"dead, and mpiexec ends the others: {seconds:.1f} s")
    if status == 0 or "rank 3" not in text or "Killed" not in text or "hung" in text:
        problems.append(f"dead, mpiexec to end the others, exit status {status}:\n{text}")
    print("\n".join(problems))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
