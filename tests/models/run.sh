#!/bin/bash
# Verifies one Promela model in every way its header asks for: run.sh MODEL.pml BUILD_DIR [FILTER]
# The header of a model holds lines "CHECK <verdict> [-DX...]":
#   pass safety   SPIN must search every state and find no failed assertion and no deadlock
#   pass live     the same for the ltl formula named `live`, under weak fairness
#   find assert   SPIN must find a failed assertion   } a mutation that SPIN does not find,
#   find deadlock SPIN must find a stuck state        } or finds as another kind of error,
#   find cycle    SPIN must find that `live` fails    } fails the test
# FILTER (a regular expression on the CHECK text) picks some of them. Nothing is written outside BUILD_DIR.
set -u
model=$(realpath "$1")
build=$2
filter=${3:-.}
name=$(basename "$model" .pml)
cpu_seconds_per_run=${WEFT_MODEL_SECONDS:-60} # processor time, so that a busy machine changes no verdict
wall_seconds_per_run=$((cpu_seconds_per_run * 5))
memory_mib=1800
mkdir -p "$build/$name" && cd "$build/$name" || exit 2

# Prints what pan reported: clean, assert, deadlock, cycle, or the reason why the search says nothing.
verdict() {
  if grep -q '^pan:1: assertion violated' "$1"; then echo assert
  elif grep -q '^pan:1: invalid end state' "$1"; then echo deadlock
  elif grep -q '^pan:1: acceptance cycle' "$1"; then echo cycle
  elif grep -q '^pan:1:' "$1"; then echo "other error"
  elif grep -q 'max search depth too small\|reached -DMEMLIM\|out of memory\|Search not completed' "$1"; then
    echo incomplete
  elif grep -q 'errors: 0' "$1"; then echo clean
  else echo "no result"
  fi
}

failures=0
checks=0
while read -r want kind flags; do
  checks=$((checks + 1))
  compile="-O1 -DSAFETY" run="" generate=""
  if [ "$kind" = live ] || [ "$kind" = cycle ]; then
    compile="-O1 -DNFAIR=3" run="-a -f -N live" generate="-DLIVE"
  fi
  [ "$want" = find ] && [ "$kind" != cycle ] && compile="-O0 -DSAFETY -DBFS" run="-w18" # breadth first: the shortest way
  # shellcheck disable=SC2086
  if ! spin -a $generate $flags "$model" >spin.log 2>&1; then
    echo "FAIL $name: spin rejects the model with: $flags"; cat spin.log; exit 1
  fi
  if ! gcc -w $compile -DMEMLIM=$memory_mib -o pan pan.c; then
    echo "FAIL $name: pan.c does not compile with: $flags"; exit 1
  fi
  start=$(date +%s%N)
  (ulimit -t "$cpu_seconds_per_run"; exec timeout "$wall_seconds_per_run" ./pan -m4000000 $run) >pan.log 2>&1
  took_ms=$((($(date +%s%N) - start) / 1000000))
  got=$(verdict pan.log)
  expected=$kind
  [ "$want" = pass ] && expected=clean
  states=$(sed -n 's/^ *\([0-9.e+]*\) states, stored.*/\1/p' pan.log | head -1)
  line="$name: $want $kind $flags -> $got (${states:-?} states, $took_ms ms)"
  if [ "$got" = "$expected" ]; then
    echo "ok   $line"
  else
    echo "FAIL $line"; tail -20 pan.log
    failures=$((failures + 1))
  fi
done < <(sed -n 's/^ \* CHECK //p' "$model" | grep -E -- "$filter")

if [ "$checks" = 0 ]; then echo "FAIL $name: no CHECK line matches"; exit 1; fi
echo "$name: $checks checks, $failures failed"
[ "$failures" = 0 ]
