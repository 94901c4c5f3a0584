"""Many operations as one: the coalescing manager, batches of sends and receives, and many calls in flight at once."""
import torch
import torch.distributed as dist
from torch.distributed.distributed_c10d import _coalescing_manager

from parts import calls
from parts.collectives import captured, check, wait_for

SHAPES = [(1, torch.bfloat16, 0), (1003, torch.bfloat16, 1), (70001, torch.bfloat16, 0), (1 << 20, torch.bfloat16, 0)]


class Together:
    """Several calls under one manager, as one call."""

    def __init__(self, env, parts):
        self.env, self.parts = env, parts

    def fill(self, turn):
        for i, part in enumerate(self.parts):
            part.fill(turn + i)

    def results(self, turn):
        return [pair for i, part in enumerate(self.parts) for pair in part.results(turn + i)]

    def run(self, later):
        with _coalescing_manager(device=self.env.device, async_ops=later) as manager:
            for part in self.parts:
                part.run(later)
        return manager if later else None


class InFlight(Together):
    """Several calls, each asynchronous, waited for in reverse."""

    def run(self, later):
        del later
        works = [part.run(True) for part in self.parts]
        for work in reversed(works):
            wait_for(work)


class Batch(Together):
    """One batch of sends and receives between all pairs, of several sizes."""

    def __init__(self, env):
        peers = [peer for peer in range(env.world) if peer != env.rank]
        self.pairs = [(peer, size, calls.buffer(env, size, torch.bfloat16), calls.buffer(env, size, torch.bfloat16))
                      for peer in peers for size in (1, 777, 65536, 300007)]
        self.env = env

    def fill(self, turn):
        for peer, size, tensor, out in self.pairs:
            tensor.copy_(calls.numbers(self.env, self.env.rank, turn + peer, size, torch.bfloat16))
            calls.poison(out)

    def results(self, turn):
        return [(out, calls.numbers(self.env, peer, turn + self.env.rank, size, torch.bfloat16))
                for peer, size, _, out in self.pairs]

    def run(self, later):
        operations = [dist.P2POp(dist.isend, tensor, peer) for peer, _, tensor, _ in self.pairs]
        operations += [dist.P2POp(dist.irecv, out, peer) for peer, _, _, out in self.pairs]
        works = dist.batch_isend_irecv(operations)
        if later:
            return works
        wait_for(works)
        return None


def in_ways(env, name, call):
    for later in (False, True):
        call.fill(1 + later)
        wait_for(call.run(later))
        check(env, "%s%s" % (name, ", async" if later else ""), call, 1 + later)
    if env.is_gpu:
        captured(env, name, call, 20)


def run(env):
    if env.is_gpu:  # gloo's manager has all_reduce at most
        for name, make in (("all_reduce", calls.all_reduce(dist.ReduceOp.SUM)),
                           ("all_gather_into_tensor", calls.all_gather_into_tensor),
                           ("reduce_scatter_tensor", calls.reduce_scatter_tensor(dist.ReduceOp.SUM))):
            in_ways(env, "coalesced " + name, Together(env, [make(env, *shape) for shape in SHAPES]))
    in_ways(env, "batch of all pairs", Batch(env))
    some = [calls.all_reduce(dist.ReduceOp.SUM), calls.broadcast, calls.all_gather_into_tensor, calls.all_to_all_single]
    if not env.is_gpu:
        some = some[:3]
    in_ways(env, "in flight", InFlight(env, [make(env, *shape) for make in some for shape in SHAPES]))
