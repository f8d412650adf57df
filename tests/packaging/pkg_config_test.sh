#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# A C program against the installed library by pkg-config alone: with libkizami.so, and with libkizami.a by --static.
# usage: pkg_config_test.sh CC STAGE LIBDIR CONSUMER.c
set -euo pipefail
cc=$1 libdir=$2/$3 consumer=$4
if ! command -v pkg-config >/dev/null; then
  echo "skipped: no pkg-config"
  exit 77
fi
export PKG_CONFIG_PATH=$libdir/pkgconfig
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

read -ra cflags < <(pkg-config --cflags kizami)
read -ra libs < <(pkg-config --libs kizami)
read -ra static_libs < <(pkg-config --static --libs kizami)
cflags+=(-std=c99 -pedantic -Wall -Werror)
"$cc" "${cflags[@]}" "$consumer" -o "$work/shared" "${libs[@]}" -Wl,-rpath,"$libdir"
"$cc" "${cflags[@]}" "$consumer" -o "$work/static" "${static_libs[@]/#-lkizami/-l:libkizami.a}"
"$work/shared"
"$work/static"
# Not through `grep -q`: it may end before ldd has written all, which pipefail takes for a failure.
if [[ $(ldd "$work/shared") != *"$libdir/libkizami.so"* ]]; then echo "shared: not linked to $libdir"; exit 1; fi
if [[ $(ldd "$work/static") == *libkizami* ]]; then echo "static: linked to libkizami.so"; exit 1; fi
