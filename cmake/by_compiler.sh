#!/bin/sh
# by_compiler.sh THIS OTHER COMMAND...: runs COMMAND with OTHER in the place of THIS, the compiler in it. What it writes it does not read: clang takes a
# precompiled header that lies beside a header for that header, also where it makes it anew.
this=$1
other=$2
shift 2
previous=
for word in "$@"; do
  shift
  [ "$word" != "$this" ] || word=$other
  [ "$previous" != -o ] || rm -f "$word"
  set -- "$@" "$word"
  previous=$word
done
exec "$@"
