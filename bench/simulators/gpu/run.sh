#!/bin/bash
# The gallery of bugs on the GPU: every clean twin and every bug, alone and under compute-sanitizer's tools. What it
# prints is the log that `bugs --sanitizer` reads. This folder has the program as rungs or rungs.xz, and the gallery's
# kernels as sm_90.ptx: cargo xtask build-ptx --manifest-path gallery --arch sm_90 --out FOLDER
cd "$(dirname "$0")"
[ -f rungs ] || xz -dk rungs.xz
chmod +x rungs
mkdir -p logs
export CUDA_CACHE_MAXSIZE=1073741824
start=$(date +%s)
CS=$(command -v compute-sanitizer || ls /usr/local/cuda*/bin/compute-sanitizer 2>/dev/null | head -1)
ALONE="$(cat alone.txt | tr '\n' ' ')"
EXCEPT=$(echo $ALONE | tr ' ' ',')
nvidia-smi --query-gpu=name,driver_version --format=csv,noheader; $CS --version | tail -2; nproc
echo "--- clean twins"
RUN="./rungs bugs run --device cuda --ptx sm_90.ptx"
timeout -s KILL 40 $RUN --version fixed > logs/fixed.plain 2>&1; echo "rc $?"
grep -v "the right output" logs/fixed.plain | head -40; grep -c "the right output" logs/fixed.plain
echo "loaded after $(($(date +%s)-start)) s"
# All that neither hangs nor faults, in one process per tool; the others one by one, beside each other.
tool() { # name, version, options, cases
  local out=logs/$1.$2
  shift 2
  timeout -s KILL 75 "$@" > $out 2>&1
  echo "exit $?" >> $out
}
tool plain planted $RUN --version planted --except "$EXCEPT" &
for t in memcheck racecheck initcheck synccheck; do
  tool $t planted $CS --tool $t --print-limit 3000 --destroy-on-device-error kernel $RUN --version planted --except "$EXCEPT" &
  tool $t fixed $CS --tool $t --print-limit 3000 --destroy-on-device-error kernel $RUN --version fixed &
done
one() { # tool, case
  local out="logs/one.$1.$2"
  if [ "$1" = plain ]; then timeout -s KILL 6 $RUN --version planted $2 > $out 2>&1; else
    timeout -s KILL 30 $CS --tool $1 --print-limit 200 $RUN --version planted $2 > $out 2>&1; fi
  echo "exit $?" >> $out
}
export -f one; export RUN CS
( for c in $ALONE; do echo plain $c; done; cat alone_tools.txt ) | timeout -s KILL 120 xargs -P 10 -L 1 bash -c 'one "$0" "$1"'
wait
echo "all after $(($(date +%s)-start)) s"
python3 parse.py
