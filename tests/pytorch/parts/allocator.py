"""Buffers of PyTorch's caching allocator that come and go: an address returns with other memory behind it, at other places on each
rank. Whoever remembers a mapping of a peer's buffer must notice."""
import torch
import torch.distributed as dist

from parts import calls
from parts.collectives import check

ROUNDS = 12
MOST = {True: 24 << 20, False: 1 << 16}  # elements, on a GPU and on the CPU


def run(env):
    makes = [calls.all_reduce(dist.ReduceOp.SUM), calls.all_gather_into_tensor, calls.ring, calls.reduce_scatter_tensor(dist.ReduceOp.SUM)]
    if not env.is_gpu:
        makes = makes[:3]
    before = None
    for turn in range(ROUNDS):
        # Each rank shifts its buffers by another amount, and frees to the device every other round, to the cache in between.
        shift = env.zeros((1 + (turn * 5 + env.rank * 3) % 7) << 20, torch.uint8)
        count = MOST[env.is_gpu] // (1 + turn % 4) + turn
        for make in makes:
            call = make(env, count, torch.bfloat16, 0)
            call.fill(turn)
            call.run(False)
            check(env, "round %d, %d elements" % (turn, count), call, turn)
            del call
        del shift
        if env.is_gpu and turn % 2:
            before = torch.cuda.memory_reserved()
            torch.cuda.empty_cache()
            env.holds(torch.cuda.memory_reserved() < before, "nothing was given back to the device: the check has no point")
