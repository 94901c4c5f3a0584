"""The column of two GPUs: a folder with the library once as it is and once for each mutation that names settings for it, and a
script that runs weft-perf on each. Made here, run where the GPUs are (README.md)."""

import os
import shutil
import subprocess

import builds
import catalog

LIBRARY = "src/librccl.so.1.0"
PERF = "tools/weft-perf/weft-perf"
KERNEL = builds.object_of_kernel("Float32")

# Sums of floats, every result checked: many calls of a few sizes, since what is not ordered mostly comes in order.
RUN = """#!/usr/bin/env bash
# Made by scripts/mutations --gpu-pack. Prints a line a library: what weft-perf's checks say of it. Two GPUs.
cd "$(dirname "$0")" || exit 2
export NCCL_NVLS_ENABLE=0 NCCL_DEBUG=WARN WEFT_TIMEOUT=20
while read -r name settings; do
  # shellcheck disable=SC2086
  env $settings timeout 90 ./weft-perf all_reduce --lib "$PWD/$name/librccl.so.1" "$@" -b 4K -e 8M -f 8 -n 1 -w 0 -c 1000 -O 1 -T 40 </dev/null >"$name/log" 2>&1
  status=$?
  case $status in
    0) verdict="nothing noticed" ;;
    1) verdict="wrong data or a failed call: $(grep -m 1 -iE 'wrong|error|fail' "$name/log" | cut -c1-100)" ;;
    3 | 124) verdict="stuck" ;;
    *) verdict="exit status $status" ;;
  esac
  echo "$name ($settings): $verdict"
done <list
"""
MODE = ["--procs 2", "-g 2"]  # arguments of run


def pack(root, folder, build_folder, work, jobs):
    build = builds.Build(root, "nvidia", build_folder)
    build.make([LIBRARY, PERF], jobs)
    os.makedirs(folder, exist_ok=True)
    shutil.copy(os.path.join(build.folder, PERF), folder)
    mutations = [mutation for subject in catalog.read_subjects() for mutation in subject.mutations if "env" in mutation.gpu]
    settings = {settings_of(mutation) for mutation in mutations}
    lines = ["unchanged %s" % each for each in sorted(settings)]
    add_library(build, folder, "unchanged", os.path.join(build.folder, LIBRARY))
    for mutation in mutations:
        tree = os.path.join(work, mutation.name)
        builds.copy_sources(root, tree)
        catalog.apply(mutation, tree)
        build.compile(KERNEL, tree, os.path.join(tree, "kernel.o"))
        build.link(LIBRARY, {KERNEL: os.path.join(tree, "kernel.o")}, os.path.join(tree, "librccl.so.1"))
        add_library(build, folder, mutation.name, os.path.join(tree, "librccl.so.1"))
        lines.append("%s %s" % (mutation.name, settings_of(mutation)))
        shutil.rmtree(tree)
    with open(os.path.join(folder, "list"), "w", encoding="utf-8") as file:
        file.write("\n".join(lines) + "\n")
    with open(os.path.join(folder, "run"), "w", encoding="utf-8") as file:
        file.write(RUN)
    os.chmod(os.path.join(folder, "run"), 0o755)
    print("%s: %d libraries; there: run %s" % (folder, len(mutations) + 1, ", or run ".join(MODE)))


def settings_of(mutation):
    return " ".join("%s=%s" % setting for setting in sorted(mutation.gpu["env"].items()))


def add_library(build, folder, name, library):
    os.makedirs(os.path.join(folder, name), exist_ok=True)
    result = os.path.join(folder, name, "librccl.so.1")
    shutil.copy(library, result)
    subprocess.run(["strip", "--strip-unneeded", result], check=True, cwd=build.folder)
