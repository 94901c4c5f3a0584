#!/bin/bash
# check_exports.sh LIBRARY INCLUDE_DIR: compares what the library exports with what the headers declare.
# Fails when a name outside the public prefixes is visible, a declared function is missing, the two names of a function differ in
# address or strength, a name of nccl_functions.txt is missing, or a symbol stays undefined.
set -u
library=$1 include=$2 here=$(dirname "$0")
failures=0
fail() { echo "FAIL: $*"; failures=$((failures + 1)); }

# address, type and name of each symbol that a program can see
exported=$(nm -D --defined-only "$library") || exit 1
declare -A address type
while read -r at kind name; do
  address[$name]=$at type[$name]=$kind
done <<< "$exported"

soname=$(readelf -d "$library" | sed -n 's/.*(SONAME).*\[\(.*\)\]/\1/p')
[ "$soname" = librccl.so.1 ] || fail "soname is '$soname'"
for link in librccl.so.1 librccl.so; do
  [ "$(dirname "$library")/$link" -ef "$library" ] || fail "$link beside the library does not lead to it"
done

for name in "${!address[@]}"; do
  [[ $name =~ ^(p?nccl|p?msccl|rccl|weft)[A-Z] ]] || fail "$name is exported"
done

# Every function of the headers, comments taken out by the compiler; the twins are declared through __typeof__.
headers=$(for file in rccl.h nccl_2_30.h weft.h pnccl.h; do gcc -fpreprocessed -dD -E -P "$include/rccl/$file" || exit 1; done)
declared=$(grep -oE '\b(nccl|msccl|rccl|weft)[A-Z][A-Za-z0-9]*\(' <<< "$headers" | tr -d '(' | sort -u)
twins=$(grep -oE '\)[[:space:]]*p(nccl|msccl)[A-Za-z0-9]+;' <<< "$headers" | tr -d ') ;' | sort -u)
count=$(wc -w <<< "$declared")
[ "$count" -ge 80 ] || fail "only $count functions found in the headers"

for name in $declared; do
  [ -n "${address[$name]:-}" ] || { fail "$name is declared and not exported"; continue; }
  [[ $name =~ ^(rccl|weft) ]] && continue
  grep -qx "p$name" <<< "$twins" || fail "p$name is not declared"
  [ "${address[$name]}" = "${address[p$name]:-none}" ] || fail "$name and p$name are not the same code"
  [ "${type[$name]}" = W ] || fail "$name is not weak"
  [ "${type[p$name]:-none}" = T ] || fail "p$name is not strong"
done
for name in "${!address[@]}"; do
  grep -qx -e "$name" -e "${name#p}" <<< "$declared" || fail "$name is exported and not declared"
done

while read -r name _; do
  [[ $name = "" || $name = \#* ]] && continue
  [ -n "${address[$name]:-}" ] || fail "$name, which NCCL has, is missing"
done < "$here/nccl_functions.txt"

undefined=$(ldd -r "$library" 2>&1 | grep -E 'undefined symbol|not found')
[ -z "$undefined" ] || fail "$undefined"
foreign=$(readelf -d "$library" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' | grep -E 'libstdc\+\+|libsodium')
[ -z "$foreign" ] || fail "needs $foreign, which should be linked in"

echo "$count functions declared, ${#address[@]} names exported, $failures failures"
[ "$failures" = 0 ]
