# SPDX-License-Identifier: MIT
"""Products run without the interpreter's lock, on any number of threads, and in children of a fork."""

import concurrent.futures
import os
import threading
import time

import kizami
import numpy as np
import pytest
from conftest import random, same_bits


def test_other_threads_run_meanwhile(rng):
    a = random(rng, (700, 700), "float64")
    started, finished, ticks = threading.Event(), threading.Event(), []

    def multiply():
        started.set()
        kizami.matmul(a, a, policy=kizami.Policy("correct", threads=1))
        finished.set()

    thread = threading.Thread(target=multiply)
    thread.start()
    started.wait()
    while not finished.is_set():  # each turn takes the lock, which a product that held it would deny
        ticks.append(time.perf_counter())
        time.sleep(0.001)
    thread.join()
    assert len(ticks) > 5


def test_many_threads_get_the_right_bits(rng):
    cases = [(random(rng, (m, 30), dtype, 9), random(rng, (30, 12), dtype, 9), accuracy)
             for m in (1, 25, 60) for dtype in ("float32", "complex128") for accuracy in ("native", "bits=20")]
    want = [kizami.matmul(a, b, policy=accuracy) for a, b, accuracy in cases]

    def work(seed):
        order = np.random.default_rng(seed).permutation(len(cases) * 5) % len(cases)
        for i in order:
            a, b, accuracy = cases[i]
            with kizami.precision(accuracy):
                if not same_bits(kizami.matmul(a, b), want[i]):
                    return False
        return True

    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        assert all(pool.map(work, range(16)))


@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork.*:DeprecationWarning")
def test_children_of_a_fork(rng):
    a = random(rng, (200, 200), "float64")
    want = kizami.matmul(a, a)
    child = os.fork()
    if child == 0:
        os._exit(0 if same_bits(kizami.matmul(a, a), want) else 1)
    for _ in range(600):
        pid, status = os.waitpid(child, os.WNOHANG)
        if pid:
            break
        time.sleep(0.1)
    else:
        os.kill(child, 9)
        os.waitpid(child, 0)
        pytest.fail("the child hangs")
    assert os.waitstatus_to_exitcode(status) == 0
