#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Attention by a tile kernel beside PyTorch's scaled_dot_product_attention, interleaved in one process: on the shapes of
bench_gpu_tile_attention (16384 rows and 2048 columns in all), in FP16. Lines of JSON on stdout, one a shape and way. Needs
a PyTorch with CUDA and the cubin that the build made (build/lab/bench/attention_variants.cubin).

usage: attention_torch.py CUBIN [--n N ...] [--head D ...] [--causal 0 1] [--repeats R] [--commit TEXT]
"""
import argparse
import ctypes
import datetime
import json
import math
import re
import statistics
import subprocess
import sys

ROWS, COLUMNS = 16384, 2048


def driver_version():
    asked = subprocess.run(["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"], capture_output=True, text=True, check=True)
    return asked.stdout.split()[0]


class Cubin:
    """The kernels of a cubin, launched in the context that PyTorch made."""

    def __init__(self, path):
        self.driver = ctypes.CDLL("libcuda.so.1")
        self.module = ctypes.c_void_p()
        with open(path, "rb") as file:
            self.image = file.read()
        self.check(self.driver.cuModuleLoadData(ctypes.byref(self.module), self.image), path)
        names = set(re.findall(rb"attention_f16_h\d+_\d+x\d+_o\d_w\d(?:_causal)?(?=\0)", self.image))
        self.names = sorted(name.decode() for name in names)

    @staticmethod
    def check(code, what):
        if code != 0:
            raise RuntimeError(f"{what}: CUDA error {code}")

    def kernel(self, name):
        function = ctypes.c_void_p()
        self.check(self.driver.cuModuleGetFunction(ctypes.byref(function), self.module, name.encode()), name)
        tile_q = int(re.search(r"_(\d+)x\d+_o", name).group(1))

        def run(q, k, v, o, heads, n, c, stream):
            values = [*(ctypes.c_void_p(t.data_ptr()) for t in (q, k, v, o)), ctypes.c_int(heads), ctypes.c_int(n), ctypes.c_int(n),
                      ctypes.c_float(c)]
            pointers = (ctypes.c_void_p * len(values))(*(ctypes.cast(ctypes.byref(x), ctypes.c_void_p) for x in values))
            self.check(self.driver.cuLaunchKernel(function, -(-n // tile_q), heads, 1, 1, 1, 1, 0, ctypes.c_void_p(stream), pointers,
                                                  None), name)
        return run


def measure(torch, cubin, n, head, causal, facts, repeats):
    heads = ROWS // n * (COLUMNS // head)
    c = math.log2(math.e) / math.sqrt(head)
    torch.manual_seed(1)
    q, k, v = (torch.randn(ROWS // n, COLUMNS // head, n, head, device="cuda", dtype=torch.float16) for _ in range(3))
    expected = torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=causal)
    o = torch.empty_like(q)
    stream = torch.cuda.current_stream().cuda_stream
    ways = {"sdpa": lambda: torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=causal)}
    differences = {"sdpa": 0.0}
    for name in cubin.names:
        if f"_h{head}_" in name and name.endswith("_causal") == causal:
            kernel = cubin.kernel(name)
            ways[name] = lambda kernel=kernel: kernel(q, k, v, o, heads, n, c, stream)
            o.fill_(float("nan"))
            ways[name]()
            differences[name] = (o.float() - expected.float()).abs().max().item()
    times = {name: [] for name in ways}
    for repeat in range(repeats + 1):  # one to warm up
        for name, call in ways.items():
            begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            torch.cuda._sleep(2_000_000)  # the calls are queued before they are timed
            begin.record()
            for _ in range(3):
                call()
            end.record()
            end.synchronize()
            if repeat > 0:
                times[name].append(begin.elapsed_time(end) / 3)
    flops = 4.0 * heads * n * n * head / (2 if causal else 1)
    for name, ms in times.items():
        median = statistics.median_high(ms)
        print(json.dumps(facts | {"type": "f16", "n": n, "head": head, "heads": heads, "causal": causal, "who": name, "ms_median": median, "ms_min": min(ms),
                          "ms_max": max(ms), "tflops": flops * 1e-9 / median, "largest_difference": differences[name]}), flush=True)


def main():
    parser = argparse.ArgumentParser(description="Attention by a tile kernel beside PyTorch's")
    parser.add_argument("cubin")
    parser.add_argument("--n", type=int, nargs="+", default=[1024, 2048, 4096, 8192, 16384])
    parser.add_argument("--head", type=int, nargs="+", default=[64, 128], choices=[64, 128])
    parser.add_argument("--causal", type=int, nargs="+", default=[0, 1], choices=[0, 1])
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--commit", default="unknown")
    options = parser.parse_args()
    try:
        import torch
    except ImportError as error:
        print(f"skipped: {error}", file=sys.stderr)
        return 77
    if not torch.cuda.is_available():
        print("skipped: PyTorch has no CUDA device", file=sys.stderr)
        return 77
    torch.zeros(1, device="cuda")  # makes the context
    cubin = Cubin(options.cubin)
    facts = {"date": datetime.date.today().isoformat(), "commit": options.commit, "device": torch.cuda.get_device_name(),
             "driver": driver_version(), "torch": torch.__version__}
    for head in options.head:
        for n in options.n:
            for causal in options.causal:
                measure(torch, cubin, n, head, causal == 1, facts, options.repeats)
    return 0


if __name__ == "__main__":
    sys.exit(main())
