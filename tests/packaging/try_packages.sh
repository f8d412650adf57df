#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Installs the Debian packages in a bare system and uses them: the command line on a .npy file, NumPy with the alternative for
# libblas.so.3, then programs in C and C++ against the development package. Nothing of this machine is visible in there but the packages and the two programs.
# ROOT is made by debootstrap if it is empty or absent, and kept. Needs root and a Debian mirror.
# usage: try_packages.sh ROOT DEB...
set -euo pipefail
if [[ $# -lt 2 || $(id -u) -ne 0 ]]; then
  sed -n 's/^# usage/usage/p' "$0" >&2
  echo "needs root" >&2
  exit 2
fi
root=$1
shift
consumer=$(dirname "${BASH_SOURCE[0]}")/consumer
readonly SUITE=bookworm

in_root() {
  chroot "$root" /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C DEBIAN_FRONTEND=noninteractive "$@"
}
# install FILE_OR_PACKAGE...: quiet unless it fails.
install() {
  in_root sh -c "apt-get -qq install -y --no-install-recommends -o Dpkg::Use-Pty=0 $*" >"$root/try/apt.log" 2>&1 ||
    { cat "$root/try/apt.log"; exit 1; }
}
say() { printf 'try_packages: %s\n' "$*"; }

if [[ ! -x $root/usr/bin/apt-get ]]; then
  say "making $root"
  debootstrap --variant=minbase "$SUITE" "$root" >/dev/null
fi
rm -rf "$root/try"
mkdir -p "$root/try"
cp "$@" "$consumer"/consumer.c "$consumer"/consumer.cpp "$root/try"
in_root apt-get -qq update
in_root apt-get -qq remove -y --purge kizami 'libkizami*' >/dev/null 2>&1 || true

say "command line"
install '/try/kizami_*.deb' '/try/libkizami[0-9]*.deb'
in_root kizami --version
in_root sh -eu <<'INSIDE'
  cd /try
  { printf "\223NUMPY\001\000\166\000"
    printf "%-117s\n" "{\"descr\": \"<f8\", \"fortran_order\": False, \"shape\": (2, 2), }" | tr \" "\047"
    printf "\0\0\0\0\0\0\360\077\0\0\0\0\0\0\0\100\0\0\0\0\0\0\010\100\0\0\0\0\0\0\020\100"; } >A.npy  # 1 2; 3 4
  kizami gemm A.npy A.npy -o C.npy --check
  got=$(tail -c 32 C.npy | od -An -w32 -tf8 | tr -s " ")
  [ "$got" = " 7 10 15 22" ] || { echo "C = $got, must be 7 10 15 22"; exit 1; }
INSIDE

say "alternative for libblas.so.3"
install '/try/libkizami-blas_*.deb' python3-numpy
in_root sh -eu <<'INSIDE'
  cd /try
  name=$(update-alternatives --get-selections | sed -n 's/^\(libblas.so.3-[^ ]*\).*/\1/p')
  cat >products.py <<'PYTHON'
import numpy
a = numpy.arange(2500.0).reshape(50, 50) % 7
want = (a.astype(int) @ a.T.astype(int)).astype(float)  # whole numbers never go to BLAS
assert (a @ a.T == want).all() and abs(numpy.linalg.solve(a + 99 * numpy.eye(50), a) @ want).max() > 0
PYTHON
  export KIZAMI_MIN_SIZE=0 KIZAMI_SUMMARY=/try/summary
  chosen=$(readlink -f "$(update-alternatives --query "$name" | sed -n 's/^Value: //p')")
  [ "${chosen#*/kizami/}" = "$chosen" ] || { echo "$chosen is chosen without being asked for"; exit 1; }
  python3 products.py
  [ ! -e summary ] || { echo "there is a summary without the alternative"; exit 1; }
  update-alternatives --set "$name" "$(update-alternatives --list "$name" | grep /kizami/)" >/dev/null
  python3 products.py
  grep "x cblas_d[a-z0-9]* .*: ozaki2 on" summary || { echo "no call was emulated:"; cat summary; exit 1; }
  apt-get -qq purge -y libkizami-blas >/dev/null 2>&1
  rm summary
  python3 products.py
  [ ! -e summary ] || { echo "the alternative is still there"; exit 1; }
INSIDE

say "development"
install '/try/libkizami-dev_*.deb' g++ pkg-config
in_root sh -eu <<'INSIDE'
  cd /try
  gcc -std=c99 -Wall -Werror $(pkg-config --cflags kizami) consumer.c -o consumer_c $(pkg-config --libs kizami)
  ./consumer_c
  g++ -std=c++20 -Wall -Werror consumer.cpp -o consumer_shared $(pkg-config --libs kizami)
  ./consumer_shared shared
  static_libs=$(pkg-config --static --libs kizami | sed s/-lkizami/-l:libkizami.a/)
  case $static_libs in
    *-lcudart_static*) echo "libkizami.a has CUDA in it: linking it needs CUDA's own libcudart_static.a, which no system package brings; left out" ;;
    *)
      g++ -std=c++20 -Wall -Werror consumer.cpp -o consumer_static $static_libs
      ./consumer_static static
      ;;
  esac
INSIDE
say "passed"
