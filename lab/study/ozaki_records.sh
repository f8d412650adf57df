#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Makes the records that `kizami_study ozaki --gpu-results FILE` reads, on a device: JSON lines on stdout, tables on stderr. What
# matters most comes first; each part has its own limit of time. Under five minutes on an H200.
#   lab/study/ozaki_records.sh build/bin COMMIT [PART...] > study_ozaki.jsonl
# PARTS: floating naive blocks complex sizes engines; e5m2, of whole calls up to n = 32768; and report, whose lines are a file of their
# own: those of the report's code, for --report-results. The last two only by name.
set -u
bin=$1
commit=$2
shift 2
parts=${*:-floating naive blocks complex sizes engines}

# LIMIT PROGRAM ARGUMENT...
run() {
  local limit=$1 program=$2
  shift 2
  SECONDS=0
  timeout "$limit" "$bin/$program" --commit "$commit" "$@" || echo "ozaki_records.sh: $program $* ended with $?" >&2
  echo "ozaki_records.sh: $SECONDS seconds" >&2
}
# FORMAT... as ways
ways() { printf -- '--way ozaki1/%s ' "$@"; }

# Seven BF16 slices with d = 9, fourteen FP8 slices with d = 16: one scale a matrix, as the document, and one a line.
fused() { ways bf16/7/d9/matrix bf16/7/d9 e4m3/14/d16/matrix e4m3/14/d16; }
sweep() { ways bf16/7/d{8,7,6,5}/matrix; }
# Slices until nothing is left: digits by k as the document has them, and those of the format.
naive() { ways "fp16/until-zero/matrix/b$1" fp16/until-zero/matrix e4m3/until-zero/matrix; }
# The report's code: d = 9 and both readings of the advance; FP16 of all bits.
report() { printf -- '--way %s ' "$@"; }
# ozIMMU as equation 3 has it, the groupings of products of INT8, and EF_L in blocks of lines by streams.
sums() { ways 7/truncated/{rounded,pairs,grouped,concatenated,blocked}"$1" 7/truncated"$1"; }
blocks() { ways 7/truncated/blocked"$1"/block{1024,2048,4096,8192}/streams{1,2,4} 7/truncated/concatenated"$1"/block{2048,8192}{,/streams2}; }
forms() { ways 7/truncated/{four,karatsuba,enlarged,full}"$1" 7/truncated"$1"; }

for part in $parts; do
  # shellcheck disable=SC2046
  case $part in
    floating)
      run 20 bench_gpu_slices --n 1024 $(fused) $(sweep) $(naive 7) $(ways bf16/7 bf16/1)
      run 20 bench_gpu_slices --n 2048 $(fused) $(sweep) $(naive 6)
      run 20 bench_gpu_slices --n 4096 --repeats 5 $(fused) $(sweep) $(naive 6)
      run 60 bench_gpu_slices --n 16384 --rows 16 --repeats 3 --warm-ups 0 $(ways bf16/7/d9/matrix bf16/7/d9 bf16/1) $(sweep)
      run 20 bench_gpu_tile --type bf16 --n 16384 --plan 128x256x128_c1_o1_w8_l0_true --plan 128x128x64_c1_o2_w4_l0_true --repeats 3
      run 40 bench_gpu_slices --n 8192 --rows 32 --repeats 3 --warm-ups 0 $(fused) $(sweep) $(naive 5)
      ;;
    naive)
      run 80 bench_gpu_slices --n 16384 --rows 16 --repeats 1 --warm-ups 0 $(naive 5) $(ways e4m3/14/d16/matrix)
      ;;
    blocks)
      for engine in "" /cublaslt; do
        run 20 bench_gpu_slices --n 8192 --rows 16 --repeats 5 $(sums "$engine")
        run 20 bench_gpu_slices --n 8192 --rows 16 --repeats 3 --warm-ups 0 --no-phases $(ways 7/truncated/grouped"$engine") $(blocks "$engine")
        run 25 bench_gpu_slices --n 16384 --rows 16 --repeats 3 --warm-ups 0 --no-phases $(sums "$engine")
        run 40 bench_gpu_slices --n 16384 --rows 16 --repeats 1 --warm-ups 0 --no-phases $(ways 7/truncated/grouped"$engine") $(blocks "$engine")
        run 60 bench_gpu_slices --n 32768 --rows 4 --repeats 1 --warm-ups 0 --no-phases $(sums "$engine")
        run 30 bench_gpu_slices --n 32768 --rows 4 --repeats 1 --warm-ups 0 --no-phases $(ways 7/truncated/concatenated"$engine"/block8192 7/truncated"$engine") $(ways 7/truncated/blocked"$engine"/block8192/streams{1,2})
      done
      ;;
    complex)
      for n in 256 512 1024 2048 4096; do
        run 10 bench_gpu_slices --type z --n $n --no-phases $(forms "") $(forms /cublaslt)
      done
      run 20 bench_gpu_slices --type z --n 8192 --rows 16 --repeats 3 --warm-ups 1 --no-phases $(forms "") $(forms /cublaslt)
      run 30 bench_gpu_slices --type z --n 16384 --rows 8 --repeats 2 --warm-ups 0 --no-phases $(forms "")
      ;;
    sizes)
      for n in 256 512 1024 2048 4096; do
        run 10 bench_gpu_slices --n $n --no-phases $(sums "") $(sums /cublaslt)
      done
      run 10 bench_gpu_slices --n 1024 $(ways 7 4 3)
      run 10 bench_gpu_slices --n 8192 --rows 16 $(ways 7 4 3)
      ;;
    engines)
      run 20 bench_gpu_slices --n 4096 --repeats 5 $(ways {bf16/7/d9,fp16/until-zero,e4m3/14/d16}/matrix/tile)
      run 20 bench_gpu_slices --n 16384 --rows 16 --repeats 1 --warm-ups 0 --no-phases $(ways bf16/7/d{9,8,7,6,5}/matrix/tile)
      # No FP8: windows are longer than its sums are exact.
      run 20 bench_gpu_slices --n 4096 --repeats 3 $(ways {bf16/7/d9,fp16/until-zero/b6}/matrix/cublaslt)
      ;;
    e5m2)
      for n in 1024 2048 4096 8192; do
        run 10 bench_gpu_slices --n $n --rows 16 --repeats 3 --warm-ups 1 --no-phases $(ways e5m2/14/d14/matrix e5m2/until-zero/matrix)
      done
      run 10 bench_gpu_slices --n 16384 --rows 8 --repeats 1 --warm-ups 0 --no-phases $(ways e5m2/14/d14/matrix)
      run 40 bench_gpu_slices --n 32768 --rows 2 --repeats 1 --warm-ups 0 --no-phases $(ways e5m2/14/d14/matrix)
      ;;
    report)
      run 30 bench_gpu_report_slices --n 16384 --repeats 1 $(report bf16/7/a{7,8}/d{9,8,7,6,5})
      run 10 bench_gpu_report_slices --n 1024 --n 2048 --n 4096 --n 8192 $(report bf16/7/a{7,8}/d9 e4m3/14/a{3,4}/d16)
      run 10 bench_gpu_report_slices --n 1024 --n 2048 --n 4096 --n 8192 --repeats 1 $(report {fp16,e4m3}/until-zero)
      run 30 bench_gpu_report_slices --n 16384 --repeats 1 $(report fp16/until-zero)
      run 10 bench_gpu_report_slices --n 1024 --n 4096 --n 16384 --repeats 1 $(report fp16/5/a{10,12}/b11{/block128,})
      ;;
    *)
      echo "ozaki_records.sh: PART = $part, must be of: floating naive blocks complex sizes engines e5m2 report" >&2
      exit 2
      ;;
  esac
done
