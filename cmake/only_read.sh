#!/bin/sh
# only_read.sh COMPILER... -o OBJECT...: the compiler reads the source and says what is wrong with it; OBJECT stays empty.
object=
previous=
for word in "$@"; do
  [ "$previous" != -o ] || object=$word
  previous=$word
done
"$@" -fsyntax-only && : >"$object"
