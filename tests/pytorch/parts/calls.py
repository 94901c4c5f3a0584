"""Every collective of torch.distributed as an object that fills its buffers, calls, and says what must have come out.

A call's buffers stay where they are, so that it can be captured once and replayed with new numbers: fill(turn), run(async_op),
results(turn). Counts are elements that a rank gives to another one."""
import torch
import torch.distributed as dist

from parts.data import join, numbers, poison, wide


class Call:
    """ins: [(tensor, rank-independent seed)] filled with this rank's numbers; outs are poisoned. `call(async_op)` gives a Work, a
    list of them, or None; `expected(turn)` gives pairs (tensor, what it must hold)."""

    def __init__(self, env, ins, outs, call, expected):
        self.env, self.ins, self.outs, self.run, self.results = env, ins, outs, call, expected

    def fill(self, turn):
        for out in self.outs:
            poison(out)
        for tensor, make in self.ins:
            tensor.copy_(make(turn))


def buffer(env, count, dtype, offset=0):
    """offset: elements by which it starts behind its allocation, which is aligned."""
    return env.zeros(count + offset, dtype)[offset:]


def combined(parts, op, world):
    parts = [wide(part) for part in parts]
    total = parts[0].clone()
    for part in parts[1:]:
        if op == dist.ReduceOp.SUM or op == dist.ReduceOp.AVG:
            total += part
        elif op == dist.ReduceOp.PRODUCT:
            total *= part
        elif op == dist.ReduceOp.MAX:
            total = torch.maximum(total, part)
        elif op == dist.ReduceOp.MIN:
            total = torch.minimum(total, part)
    return total / world if op == dist.ReduceOp.AVG else total


def below_for(op):
    return 3 if op == dist.ReduceOp.PRODUCT else None


def mine(env, count, dtype, below=None):
    return lambda turn: numbers(env, env.rank, turn, count, dtype, below)


def reduced(env, op, count, dtype):
    """What the op makes of the numbers of all ranks."""
    return lambda turn: combined([numbers(env, rank, turn, count, dtype, below_for(op)) for rank in range(env.world)], op,
                                 env.world).to(dtype)


def all_reduce(op):
    def make(env, count, dtype, offset):
        tensor, result = buffer(env, count, dtype, offset), reduced(env, op, count, dtype)
        return Call(env, [(tensor, mine(env, count, dtype, below_for(op)))], [],
                    lambda later: dist.all_reduce(tensor, op, async_op=later), lambda turn: [(tensor, result(turn))])
    return make


def all_reduce_premul(env, count, dtype, offset):
    from torch._C._distributed_c10d import _make_nccl_premul_sum
    tensor, result = buffer(env, count, dtype, offset), reduced(env, dist.ReduceOp.SUM, count, dtype)
    half = _make_nccl_premul_sum(0.5)
    return Call(env, [(tensor, lambda turn: mine(env, count, dtype)(turn) * 2)], [],
                lambda later: dist.all_reduce(tensor, half, async_op=later), lambda turn: [(tensor, result(turn))])


def broadcast(env, count, dtype, offset):
    tensor, root = buffer(env, count, dtype, offset), env.world - 1
    return Call(env, [(tensor, mine(env, count, dtype))], [], lambda later: dist.broadcast(tensor, root, async_op=later),
                lambda turn: [(tensor, numbers(env, root, turn, count, dtype))])


def reduce(env, count, dtype, offset):
    tensor, root = buffer(env, count, dtype, offset), env.world - 1
    result = reduced(env, dist.ReduceOp.SUM, count, dtype)
    return Call(env, [(tensor, mine(env, count, dtype))], [], lambda later: dist.reduce(tensor, root, async_op=later),
                lambda turn: [(tensor, result(turn))] if env.rank == root else [])


def all_gather(env, count, dtype, offset):
    tensor = buffer(env, count, dtype, offset)
    parts = [buffer(env, count, dtype, offset) for _ in range(env.world)]
    return Call(env, [(tensor, mine(env, count, dtype))], parts, lambda later: dist.all_gather(parts, tensor, async_op=later),
                lambda turn: [(part, numbers(env, rank, turn, count, dtype)) for rank, part in enumerate(parts)])


def all_gather_uneven(env, count, dtype, offset):
    counts = [count + 3 * rank for rank in range(env.world)]
    tensor = buffer(env, counts[env.rank], dtype, offset)
    parts = [buffer(env, each, dtype, offset) for each in counts]
    return Call(env, [(tensor, mine(env, counts[env.rank], dtype))], parts,
                lambda later: dist.all_gather(parts, tensor, async_op=later),
                lambda turn: [(part, numbers(env, rank, turn, counts[rank], dtype)) for rank, part in enumerate(parts)])


def all_gather_into_tensor(env, count, dtype, offset):
    tensor, out = buffer(env, count, dtype, offset), buffer(env, count * env.world, dtype, offset)
    return Call(env, [(tensor, mine(env, count, dtype))], [out],
                lambda later: dist.all_gather_into_tensor(out, tensor, async_op=later),
                lambda turn: [(out, join([numbers(env, rank, turn, count, dtype) for rank in range(env.world)]))])


def all_gather_in_place(env, count, dtype, offset):
    out = buffer(env, count * env.world, dtype, offset)
    tensor = out[env.rank * count:(env.rank + 1) * count]
    return Call(env, [(tensor, mine(env, count, dtype))], [out],
                lambda later: dist.all_gather_into_tensor(out, tensor, async_op=later),
                lambda turn: [(out, join([numbers(env, rank, turn, count, dtype) for rank in range(env.world)]))])


def reduce_scatter(env, count, dtype, offset):
    """Lists; the numbers of a rank are one row over all its parts."""
    parts, out = [buffer(env, count, dtype, offset) for _ in range(env.world)], buffer(env, count, dtype, offset)
    whole, result = mine(env, count * env.world, dtype), reduced(env, dist.ReduceOp.SUM, count * env.world, dtype)
    ins = [(part, lambda turn, i=i: whole(turn)[i * count:(i + 1) * count]) for i, part in enumerate(parts)]
    return Call(env, ins, [out], lambda later: dist.reduce_scatter(out, parts, async_op=later),
                lambda turn: [(out, result(turn)[env.rank * count:(env.rank + 1) * count])])


def reduce_scatter_uneven(env, count, dtype, offset):
    counts = [count + 3 * rank for rank in range(env.world)]
    parts, out = [buffer(env, each, dtype, offset) for each in counts], buffer(env, counts[env.rank], dtype, offset)
    # Part i is the numbers of turn + i, so that parts differ though each starts anew.
    ins = [(part, lambda turn, i=i: numbers(env, env.rank, turn + i, counts[i], dtype)) for i, part in enumerate(parts)]
    return Call(env, ins, [out], lambda later: dist.reduce_scatter(out, parts, async_op=later),
                lambda turn: [(out, reduced(env, dist.ReduceOp.SUM, counts[env.rank], dtype)(turn + env.rank))])


def reduce_scatter_tensor(op):
    def make(env, count, dtype, offset):
        tensor, out = buffer(env, count * env.world, dtype, offset), buffer(env, count, dtype, offset)
        result = reduced(env, op, count * env.world, dtype)
        return Call(env, [(tensor, mine(env, count * env.world, dtype, below_for(op)))], [out],
                    lambda later: dist.reduce_scatter_tensor(out, tensor, op, async_op=later),
                    lambda turn: [(out, result(turn)[env.rank * count:(env.rank + 1) * count])])
    return make


def from_all(env, count, dtype, turn):
    """What all-to-all leaves on this rank."""
    return [numbers(env, rank, turn, count * env.world, dtype)[env.rank * count:(env.rank + 1) * count] for rank in range(env.world)]


def all_to_all(env, count, dtype, offset):
    ins = [buffer(env, count, dtype, offset) for _ in range(env.world)]
    outs = [buffer(env, count, dtype, offset) for _ in range(env.world)]
    whole = mine(env, count * env.world, dtype)
    return Call(env, [(part, lambda turn, i=i: whole(turn)[i * count:(i + 1) * count]) for i, part in enumerate(ins)], outs,
                lambda later: dist.all_to_all(outs, ins, async_op=later),
                lambda turn: list(zip(outs, from_all(env, count, dtype, turn))))


def all_to_all_single(env, count, dtype, offset):
    tensor, out = buffer(env, count * env.world, dtype, offset), buffer(env, count * env.world, dtype, offset)
    return Call(env, [(tensor, mine(env, count * env.world, dtype))], [out],
                lambda later: dist.all_to_all_single(out, tensor, async_op=later),
                lambda turn: [(out, join(from_all(env, count, dtype, turn)))])


def all_to_all_uneven(env, count, dtype, offset):
    """Rank s gives rank d `count` times ((s + 2 d) mod 3): some pairs have nothing."""
    def given(source, target):
        return count * ((source + 2 * target) % 3)
    sizes_in, sizes_out = [given(env.rank, d) for d in range(env.world)], [given(s, env.rank) for s in range(env.world)]
    tensor, out = buffer(env, sum(sizes_in), dtype, offset), buffer(env, sum(sizes_out), dtype, offset)

    def expected(turn):
        parts = []
        for source in range(env.world):
            sizes = [given(source, target) for target in range(env.world)]
            start = sum(sizes[:env.rank])
            parts.append(numbers(env, source, turn, sum(sizes), dtype)[start:start + sizes[env.rank]])
        return [(out, join(parts))]
    return Call(env, [(tensor, mine(env, sum(sizes_in), dtype))], [out],
                lambda later: dist.all_to_all_single(out, tensor, sizes_out, sizes_in, async_op=later), expected)


def gather(env, count, dtype, offset):
    tensor, root = buffer(env, count, dtype, offset), env.world - 1
    parts = [buffer(env, count, dtype, offset) for _ in range(env.world)] if env.rank == root else None
    return Call(env, [(tensor, mine(env, count, dtype))], parts or [],
                lambda later: dist.gather(tensor, parts, root, async_op=later),
                lambda turn: [(part, numbers(env, rank, turn, count, dtype)) for rank, part in enumerate(parts or [])])


def scatter(env, count, dtype, offset):
    out, root = buffer(env, count, dtype, offset), env.world - 1
    parts = [buffer(env, count, dtype, offset) for _ in range(env.world)] if env.rank == root else None
    ins = [(part, lambda turn, i=i: numbers(env, root, turn + i, count, dtype)) for i, part in enumerate(parts or [])]
    return Call(env, ins, [out], lambda later: dist.scatter(out, parts, root, async_op=later),
                lambda turn: [(out, numbers(env, root, turn + env.rank, count, dtype))])


def send_recv(env, count, dtype, offset):
    """Even ranks send to the next one and then receive its answer; an odd number of ranks leaves the last one out."""
    tensor, out = buffer(env, count, dtype, offset), buffer(env, count, dtype, offset)
    peer = env.rank ^ 1
    if peer >= env.world:
        return Call(env, [], [], lambda later: None, lambda turn: [])

    def call(later):
        send, recv = (dist.isend, dist.irecv) if later else (dist.send, dist.recv)
        works = [send(tensor, peer), recv(out, peer)] if env.rank % 2 == 0 else [recv(out, peer), send(tensor, peer)]
        return works if later else None
    return Call(env, [(tensor, mine(env, count, dtype))], [out], call, lambda turn: [(out, numbers(env, peer, turn, count, dtype))])


def ring(env, count, dtype, offset):
    """batch_isend_irecv: to the next rank and from the one before."""
    tensor, out = buffer(env, count, dtype, offset), buffer(env, count, dtype, offset)
    following, before = (env.rank + 1) % env.world, (env.rank - 1) % env.world

    def call(later):
        works = dist.batch_isend_irecv([dist.P2POp(dist.isend, tensor, following), dist.P2POp(dist.irecv, out, before)])
        if later:
            return works
        for work in works:
            work.wait()
        return None
    return Call(env, [(tensor, mine(env, count, dtype))], [out], call, lambda turn: [(out, numbers(env, before, turn, count, dtype))])


def functional(env, count, dtype, offset):
    """The collectives of compiled programs, which allocate what they give."""
    import torch.distributed._functional_collectives as traced
    tensor, world = buffer(env, count * env.world, dtype, offset), dist.group.WORLD
    total, shard, whole = buffer(env, count * env.world, dtype), buffer(env, count, dtype), buffer(env, count * env.world, dtype)

    def call(later):
        del later
        total.copy_(traced.all_reduce(tensor, "sum", world))
        part = traced.reduce_scatter_tensor(tensor, "sum", 0, world)
        shard.copy_(part)
        whole.copy_(traced.all_gather_tensor(part, 0, world))
    result = reduced(env, dist.ReduceOp.SUM, count * env.world, dtype)
    return Call(env, [(tensor, mine(env, count * env.world, dtype))], [total, shard, whole], call,
                lambda turn: [(total, result(turn)), (whole, result(turn)),
                              (shard, result(turn)[env.rank * count:(env.rank + 1) * count])])


def barrier(env, count, dtype, offset):
    del count, dtype, offset
    return Call(env, [], [], lambda later: dist.barrier(async_op=later), lambda turn: [])


OP = dist.ReduceOp
# What moves data without arithmetic, and what adds.
MOVING = {"broadcast": broadcast, "all_gather": all_gather, "all_gather uneven": all_gather_uneven,
          "all_gather_into_tensor": all_gather_into_tensor, "all_gather_into_tensor in place": all_gather_in_place,
          "all_to_all": all_to_all, "all_to_all_single": all_to_all_single, "all_to_all_single uneven": all_to_all_uneven,
          "gather": gather, "scatter": scatter, "send, recv": send_recv, "batch_isend_irecv": ring}
ADDING = {"all_reduce": all_reduce(OP.SUM), "reduce": reduce, "reduce_scatter": reduce_scatter,
          "reduce_scatter uneven": reduce_scatter_uneven, "reduce_scatter_tensor": reduce_scatter_tensor(OP.SUM)}
OTHER_OPS = {"all_reduce max": all_reduce(OP.MAX), "all_reduce min": all_reduce(OP.MIN), "all_reduce product": all_reduce(OP.PRODUCT)}
# Of floating types only; an average is exact for a number of ranks that is a power of two.
SCALED = {"all_reduce avg": all_reduce(OP.AVG), "reduce_scatter_tensor avg": reduce_scatter_tensor(OP.AVG),
          "all_reduce premul_sum": all_reduce_premul}
