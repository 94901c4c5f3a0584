"""A peer that never calls: rank 0 waits in an operation, aborts, and must be free within seconds; what was not aborted still works,
and after everything was aborted a new default group does. Ranks talk by the store meanwhile."""
import time

import torch
import torch.distributed as dist
from torch.distributed.distributed_c10d import _abort_process_group

from parts.data import numbers
from parts.first import make_default_group

STUCK_SECONDS = 0.5  # how long an operation is watched not to end
FREE_SECONDS = 5.0   # from the call of abort to an idle device
LARGE = 64 << 20     # elements of bfloat16


def works_again(env, name):
    value = numbers(env, env.rank, 3, 1000, torch.float32, 100)
    dist.all_reduce(value)
    env.equal(name, value, sum(numbers(env, rank, 3, 1000, torch.float32, 100) for rank in range(env.world)))


def watch(env, name, is_done):
    """The operation must not end while its peer is not there: otherwise there is nothing to abort."""
    end = time.monotonic() + STUCK_SECONDS
    while time.monotonic() < end and not is_done():
        pass
    env.holds(not is_done(), name + ": ended without its peer")


def free_after_abort(env, name, group):
    start = time.monotonic()
    _abort_process_group(group)
    env.dev.synchronize()
    seconds = time.monotonic() - start
    env.values[name + ", s until free"] = round(seconds, 2)
    env.holds(seconds < FREE_SECONDS, "%s: %.1f s until free" % (name, seconds))


def stuck(env, name, start, group):
    """start(): begins an operation, gives a function that says whether it has ended. Only rank 0 calls it; then all abort."""
    if env.rank == 0:
        watch(env, name, start())
        free_after_abort(env, name, group)
    env.gather(None)
    if env.rank != 0:
        _abort_process_group(group)
        env.dev.synchronize()
    env.gather(None)


def all_reduce_of(count):
    def prepare(env, group):
        value = env.zeros(count, torch.bfloat16)
        dist.all_reduce(value, group=group)
        return lambda: dist.all_reduce(value, group=group, async_op=True).is_completed
    return prepare


def receive(env, group):
    value = env.zeros(1000, torch.bfloat16)
    dist.all_reduce(value, group=group)

    def start():
        work = dist.batch_isend_irecv([dist.P2POp(dist.irecv, value, 1, group)])[-1]
        return work.is_completed
    return start


def replay_of_graph(env, group):
    value = env.zeros(1000, torch.bfloat16)
    dist.all_reduce(value, group=group)
    replay = env.dev.capture(lambda: dist.all_reduce(value, group=group))

    def start():
        replay()
        return torch.cuda.current_stream().query
    return start


CASES = [("small all_reduce", all_reduce_of(8)), ("all_reduce of 128 MiB", all_reduce_of(LARGE)), ("receive", receive),
         ("replay of a graph", replay_of_graph)]


def run(env):
    if not env.is_gpu:
        env.holds(True, "")  # gloo has no abort
        return
    for name, prepare in CASES:
        group = dist.new_group(list(range(env.world)))
        start = prepare(env, group)
        env.dev.synchronize()
        env.gather(None)
        stuck(env, name, start, group)
        works_again(env, name + ": the default group afterwards")
    start = all_reduce_of(1000)(env, None)
    env.dev.synchronize()
    env.gather(None)
    stuck(env, "the default group", start, None)
    make_default_group(env, "again")
    works_again(env, "a new default group")
