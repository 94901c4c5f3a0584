"""A rank of a job: started by torchrun, goes through the parts that it is told, one after another, in turns with the other job.

worker.py --turns SOCKET --name JOB-SIDE --backend nccl|gloo --library FILE PART..."""
import argparse
import faulthandler
import gc
import importlib
import os
import signal
import sys
import traceback

import torch
import torch.distributed as dist

from env import Env
from plan import find_part


def parse():
    parser = argparse.ArgumentParser()
    parser.add_argument("--turns")
    parser.add_argument("--name")
    parser.add_argument("--backend")
    parser.add_argument("--library", default="")
    parser.add_argument("parts", nargs="+")
    return parser.parse_args()


def still_works(env):
    """After a part that failed: the device and the default group."""
    try:
        env.dev.synchronize()
        value = torch.full((5,), env.rank + 1.0, device=env.device)
        dist.all_reduce(value)
        return value.tolist() == [env.world * (env.world + 1) / 2] * 5
    except Exception:
        traceback.print_exc()
        return False


def go_through(env, part):
    """One part. False when this process is of no use any more."""
    answer = env.begin(part.name)
    if not answer["go"]:
        if env.rank == 0:
            env.client.done(part.name, skipped=answer["why"], problems=[], checks=0, times={}, same={}, values={})
        return True
    print("%s: begins" % part.name, flush=True)
    module, function = part.run.split(":")
    try:
        getattr(importlib.import_module("parts." + module), function)(env)
        env.dev.synchronize()
    except Exception as error:
        traceback.print_exc()
        # All ranks or one: who waits for this one is killed when the part's limit passes.
        env.problem("%s: %s" % (type(error).__name__, str(error).strip().split("\n")[0][:200]))
    gc.collect()
    if not env.problems and not env.checks:
        env.problem("nothing was checked")
    failed = any(env.gather(bool(env.problems)))
    usable = not failed or all(env.gather(part.name != "init" and still_works(env)))
    if not usable:
        env.problem("the process is of no use after it")
    env.end()
    return usable


def main():
    options = parse()
    faulthandler.enable()
    faulthandler.register(signal.SIGUSR1, all_threads=False)  # asked by jobs.py when a part hangs
    torch.set_num_threads(1)
    env = Env(options)
    gc.collect()
    gc.freeze()  # capturing a graph collects garbage: what is here stays
    job = options.name.rsplit("-", 1)[0]
    for name in options.parts:
        if not go_through(env, find_part(job, name)):
            os._exit(1)
    env.gather(None)
    if dist.is_initialized():
        dist.destroy_process_group()
    print("ends", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
