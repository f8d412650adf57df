#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""cuDNN's convolutions in FP32, TF32 off, and the fastest algorithm that it finds (torch.backends.cudnn.benchmark), on the
layers of bench_gpu_convolution: both memory formats, and TF32 beside them. Lines of JSON on stdout, one a layer and way.
Needs a PyTorch with CUDA.

usage: convolution_torch.py [--layer CHANNELSxSIZE[/STRIDE] ...] [--images N] [--repeats R] [--commit TEXT]
"""
import argparse
import datetime
import json
import statistics
import subprocess
import sys

LAYERS = ["64x56", "128x28", "256x14", "512x7", "128x56/2", "256x28/2", "512x14/2"]


def ask_smi(what):
    asked = subprocess.run(["nvidia-smi", f"--query-gpu={what}", "--format=csv,noheader,nounits"], capture_output=True, text=True, check=True)
    return asked.stdout.split()[0]


def parse_layer(text):
    extents, _, stride = text.partition("/")
    channels, _, size = extents.partition("x")
    return int(channels), int(size), int(stride or 1)


def measure(torch, layer, images, facts, repeats):
    channels, size, stride = layer
    torch.manual_seed(1)
    x = torch.randn(images, channels, size, size, device="cuda")
    w = torch.randn(channels, channels, 3, 3, device="cuda") / (3 * channels**0.5)
    exact = torch.nn.functional.conv2d(x[:1].double(), w.double(), stride=stride, padding=1)
    magnitude = torch.nn.functional.conv2d(x[:1].double().abs(), w.double().abs(), stride=stride, padding=1)
    ways, errors = {}, {}
    for layout, memory in (("nchw", torch.contiguous_format), ("nhwc", torch.channels_last)):
        of_x, of_w = x.contiguous(memory_format=memory), w.contiguous(memory_format=memory)
        for tf32 in (False, True):

            def call(of_x=of_x, of_w=of_w, tf32=tf32):
                torch.backends.cudnn.allow_tf32 = tf32
                return torch.nn.functional.conv2d(of_x, of_w, stride=stride, padding=1)

            way = ("cudnn_tf32" if tf32 else "cudnn_fp32", layout)
            for _ in range(3):  # the search for an algorithm
                y = call()
            ways[way] = call
            errors[way] = ((y[:1].double() - exact).abs() / magnitude).max().item()
    times = {way: [] for way in ways}
    clocks = {}
    for repeat in range(repeats + 1):  # one to warm up
        for way, call in ways.items():
            begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            torch.cuda._sleep(2_000_000)  # the calls are queued before they are timed
            begin.record()
            for _ in range(5):
                call()
            end.record()
            end.synchronize()
            if repeat > 0:
                times[way].append(begin.elapsed_time(end) / 5)
            if repeat == repeats:
                clocks[way] = (int(ask_smi("clocks.sm")), float(ask_smi("power.draw")))
    out = (size + 2 - 3) // stride + 1
    flops = 2.0 * images * channels * channels * 9 * out * out
    for (who, layout), ms in times.items():
        median = statistics.median_high(ms)
        mhz, watts = clocks[who, layout]
        print(json.dumps(facts | {"images": images, "channels": channels, "size": size, "filters": channels, "stride": stride, "layout": layout, "who": who,
                                  "ms_median": median, "ms_min": min(ms), "ms_max": max(ms), "tflops": flops * 1e-9 / median,
                                  "largest_error": errors[who, layout], "sm_mhz": mhz, "watts": watts}), flush=True)


def main():
    parser = argparse.ArgumentParser(description="cuDNN's convolutions in FP32")
    parser.add_argument("--layer", type=parse_layer, nargs="+", default=[parse_layer(layer) for layer in LAYERS])
    parser.add_argument("--images", type=int, default=64)
    parser.add_argument("--repeats", type=int, default=9)
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
    torch.backends.cudnn.benchmark = True
    torch.backends.cudnn.benchmark_limit = 0  # every algorithm is tried
    torch.set_grad_enabled(False)
    facts = {"date": datetime.date.today().isoformat(), "commit": options.commit, "device": torch.cuda.get_device_name(),
             "driver": ask_smi("driver_version"), "torch": torch.__version__, "cudnn": torch.backends.cudnn.version()}
    for layer in options.layer:
        measure(torch, layer, options.images, facts, options.repeats)
    return 0


if __name__ == "__main__":
    sys.exit(main())
