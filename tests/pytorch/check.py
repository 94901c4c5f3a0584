"""Whether PyTorch runs on our library as on NCCL, and how fast beside it: right results, no hang, steps, tokens and times. Prints a
table last, and ends with 1 when anything failed.

  pytorch-check [--lib FILE] [--out DIR] [--budget SECONDS] [--part NAME]... [--python FILE]
  pytorch-check --list         names the jobs and parts
  pytorch-check --self-test    checks the checker's own parts, without a GPU and without torch

--lib: our libnccl.so.2, or a build tree or a packed folder that has it (scripts/gpu-check BUILD --pack DIR); else WEFT_BUILD, else
build/nvidia. --python: a Python that has torch; else WEFT_PYTHON, else python3. Two or more GPUs (--ranks). NCCL is the one that
PyTorch brings. docs/pytorch.md says more."""
import argparse
import importlib.machinery
import importlib.util
import json
import os
import shutil
import sys
import time

sys.dont_write_bytecode = True
FOLDER = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(FOLDER))

import figures
import jobs
import plan


def load_gpu_check():
    """scripts/gpu-check knows where builds have their files, and the machine's settings."""
    path = os.path.join(ROOT, "scripts", "gpu-check")
    loader = importlib.machinery.SourceFileLoader("gpu_check", path)
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("gpu_check", loader))
    loader.exec_module(module)
    return module


GPU_CHECK = load_gpu_check()
BAD = GPU_CHECK.BAD


def find_library(asked):
    place = asked or os.environ.get("WEFT_BUILD") or os.path.join(ROOT, "build/nvidia")
    if os.path.isdir(place):
        return GPU_CHECK.find_program(place, "libnccl.so.2")
    return os.path.abspath(place) if os.path.exists(place) else None


def compare_sides(results):
    """Where both sides ran a part: what must agree. Changes the result of ours."""
    for (job, part, side), ours in results.items():
        theirs = results.get((job, part, "theirs"))
        if side != "ours" or not theirs or "same" not in ours or "same" not in theirs:
            continue
        texts = []
        for name, values in ours["same"].items():
            texts += (figures.disagreements(name, values, theirs["same"][name]) if name in theirs["same"]
                      else [name + ": the other side has none"])
            if not texts and name in theirs["same"]:
                ours["detail"] += ", %s: %s" % (name, figures.difference(values, theirs["same"][name]))
        if texts:
            ours["problems"] = ours["problems"] + texts
            ours["result"], ours["detail"] = "FAIL", ours["problems"][0]


def parts_of(results):
    """(job, part) in the order of the plan, then what else there is."""
    pairs = [(job.name, part.name) for job in plan.JOBS for part in job.parts]
    seen = {(job, part) for job, part, _ in results}
    return [pair for pair in pairs if pair in seen] + sorted(seen - set(pairs))


def figure_lines(results):
    lines = []
    for job, part in parts_of(results):
        ours, theirs = results.get((job, part, "ours"), {}), results.get((job, part, "theirs"), {})
        if ours.get("values"):
            lines += figures.value_lines("%s, %s" % (job, part), ours["values"], theirs.get("values", {}))
        if ours.get("times"):
            lines += figures.time_lines("%s, %s (speed: NCCL's time / ours)" % (job, part), ours["times"], theirs.get("times", {}))
    return lines


def result_lines(results):
    lines = ["", "%-12s %-12s %-8s %-8s %6s  %s" % ("job", "part", "ours", "NCCL", "s", "")]
    for job, part in parts_of(results):
        ours, theirs = results.get((job, part, "ours")), results.get((job, part, "theirs"))
        shown = ours if ours and (ours["result"] != "ok" or not theirs or theirs["result"] == "ok") else theirs
        seconds = sum(one.get("seconds", 0) for one in (ours, theirs) if one)
        lines.append("%-12s %-12s %-8s %-8s %6.1f  %s" % (job, part, ours["result"] if ours else "-",
                                                         theirs["result"] if theirs else "-", seconds, shown["detail"]))
        for one in (ours, theirs):
            for problem in (one or {}).get("problems", [])[1:]:
                lines.append(" " * 51 + problem)
    return lines


def report(results, machine, out):
    lines = ["", "pytorch-check, %s" % time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime())]
    lines += ["%-14s %s" % (name + ":", value) for name, value in machine.items()]
    lines += figure_lines(results) + result_lines(results)
    text = "\n".join(lines) + "\n"
    print(text, flush=True)
    with open(os.path.join(out, "pytorch-check.txt"), "w", encoding="utf-8") as file:
        file.write(text)
    with open(os.path.join(out, "pytorch-check.json"), "w", encoding="utf-8") as file:
        json.dump({"machine": machine, "results": [{"job": job, "part": part, "side": side, **result}
                                                   for (job, part, side), result in results.items()]}, file, indent=1)


def good(results):
    """All that ran went well, and something ran. A skipped part is not checked, but no failure."""
    outcomes = [result["result"] for result in results.values()]
    return "ok" in outcomes and not BAD & set(outcomes)


def chosen_jobs(options):
    """The parts that were asked for; each job begins with its init."""
    found = []
    for job in plan.JOBS:
        if options.job and job.name not in options.job:
            continue
        parts = [part for part in job.parts if not options.part or part.name in options.part or part.name == "init"]
        if [part for part in parts if part.name != "init"] or options.part == ["init"]:
            found.append(plan.Job(job.name, parts, job.env, job.alone))
    return found


def list_parts():
    for job in plan.JOBS:
        settings = " ".join("%s=%s" % setting for setting in job.env.items())
        print("job %s%s%s" % (job.name, ", ours only" if job.alone else "", settings and ": " + settings))
        for part in job.parts:
            print("  %-12s %3d s  %s" % (part.name, part.limit, part.what))


def machine_of(options):
    output_of = GPU_CHECK.output_of
    torch_version = output_of([options.python, "-c", "import torch; print(torch.__version__)"], 60)
    names = output_of(["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"]).splitlines()
    return {"GPUs": "%d of %d, %s" % (options.ranks, len(names), names[0] if names else "none"), "PyTorch": torch_version or "not found",
            "backend": options.backend, "library": options.lib or "none",
            "commit": output_of(["git", "-C", ROOT, "rev-parse", "--short", "HEAD"]) or "unknown"}


def parse():
    parser = argparse.ArgumentParser(prog="pytorch-check", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lib", metavar="FILE", help="our libnccl.so.2, or a folder that has it")
    parser.add_argument("--python", metavar="FILE", default=os.environ.get("WEFT_PYTHON") or "python3")
    parser.add_argument("--ranks", type=int, default=2, help="processes, each with a GPU [2]")
    parser.add_argument("--out", metavar="DIR", default=os.environ.get("OUT") or "pytorch-check")
    parser.add_argument("--budget", type=int, default=300, help="seconds after which no further part begins [300]")
    parser.add_argument("--part", action="append", help="only this part, in every job that has it; may be repeated")
    parser.add_argument("--job", action="append", help="only this job; may be repeated")
    parser.add_argument("--alone", action="store_true", help="without NCCL beside it")
    parser.add_argument("--backend", choices=["nccl", "gloo"], default="nccl", help="gloo: on the CPU, to try the script itself")
    parser.add_argument("--patience", type=float, default=1.0, help="multiplies the limits of parts [1]")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--self-test", action="store_true")
    options = parser.parse_args()
    options.settings, options.worker = GPU_CHECK.SETTINGS, None
    known = {part.name for job in plan.JOBS for part in job.parts}
    for name in options.part or []:
        if name not in known:
            parser.error("no part %s; there are %s" % (name, ", ".join(sorted(known))))
    return options


def main():
    options = parse()
    if options.list:
        list_parts()
        return 0
    if options.self_test:
        import self_test
        return self_test.run()
    options.lib = find_library(options.lib) if options.backend == "nccl" else None
    if options.backend == "nccl" and not options.lib:
        print("pytorch-check: no libnccl.so.2 of ours found; build the preset nvidia, or name it with --lib")
        return 1
    if not shutil.which(options.python):
        print("pytorch-check: no %s" % options.python)
        return 1
    options.out = os.path.abspath(options.out)
    os.makedirs(options.out, exist_ok=True)
    machine = machine_of(options)
    results = jobs.run(options, chosen_jobs(options))
    compare_sides(results)
    report(results, machine, options.out)
    return 0 if good(results) else 1


if __name__ == "__main__":
    sys.exit(main())
