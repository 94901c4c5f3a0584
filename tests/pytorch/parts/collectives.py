"""Every collective in every way of calling it: eager, async_op, captured in a graph; results exact."""
import torch
import torch.distributed as dist

from parts import calls

COUNTS = [1, 1000, 65539, 1 << 20]
LARGE_COUNTS = [16 << 20, 128 << 20]  # of bfloat16: 32 and 256 MiB
LARGE_CALLS = ["all_reduce", "broadcast", "all_gather_into_tensor", "reduce_scatter_tensor", "all_to_all_single", "batch_isend_irecv"]
REPLAYS = 3
MOST_ERRORS = 4  # exceptions in a row, after which the process is not trusted


def wait_for(work):
    for one in work if isinstance(work, (list, tuple)) else [work]:
        if one is not None:
            one.wait()


def check(env, name, call, turn):
    for tensor, expected in call.results(turn):
        env.equal(name, tensor, expected)


def eager(env, name, call, turn):
    call.fill(turn)
    call.run(False)
    check(env, name + ", eager", call, turn)


def asynchronous(env, name, call, turn):
    """Something else computes between the call and its wait."""
    call.fill(turn)
    work = call.run(True)
    other = torch.ones(256, 256, device=env.device)
    product = other @ other
    wait_for(work)
    check(env, name + ", async_op", call, turn)
    env.equal(name + ", matmul beside it", product, torch.full_like(product, 256.0))


def replayed(env, name, call, turn, later=False):
    replay = env.dev.capture(lambda: wait_for(call.run(later)))
    for number in range(REPLAYS):
        call.fill(turn + number)
        replay()
        check(env, "%s, graph%s, replay %d" % (name, " of async_op" if later else "", number), call, turn + number)


def captured(env, name, call, turn):
    for later in (False, True):
        replayed(env, name, call, turn, later)


def in_all_ways(env, name, make, shape, ways):
    """shape: count, dtype, offset. True when a way ended with an exception."""
    name = "%s of %d %s%s" % (name, shape[0], str(shape[1]).replace("torch.", ""), ", misaligned" if shape[2] else "")
    if env.backend == "gloo" and "avg" in name:
        return False
    try:
        call = make(env, *shape)
        for i, way in enumerate(ways):
            way(env, name, call, 10 * i + 1)
        return False
    except Exception as error:  # whatever PyTorch makes of it: a case that cannot be called is a problem, the others go on
        if env.backend == "gloo":
            print("left out, %s: %s" % (name, error))
            return False
        env.problem("%s: %s" % (name, str(error).strip().split("\n")[0][:150]))
        return True


def sweep(env, cases):
    errors = 0
    for name, make, shape, ways in cases:
        errors = errors + 1 if in_all_ways(env, name, make, shape, ways) else 0
        if errors == MOST_ERRORS:
            env.problem("the rest is left out after %d exceptions in a row" % errors)
            return


def ways(env):
    return [eager, asynchronous, captured] if env.is_gpu else [eager, asynchronous]


def cases(env):
    bf16, f32 = torch.bfloat16, torch.float32
    everything = {**calls.ADDING, **calls.MOVING, **calls.SCALED, "functional": calls.functional}
    if env.world & (env.world - 1):
        everything = {name: make for name, make in everything.items() if "avg" not in name}
    for shape in [(count, bf16, 0) for count in COUNTS] + [(4099, f32, 1)]:
        for name, make in everything.items():
            if "premul" not in name or shape[1] == f32:  # PyTorch 2.11 passes the factor of bfloat16 as zero
                yield name, make, shape, ways(env)
    yield "barrier", calls.barrier, (1, f32, 0), [eager, asynchronous]  # it waits for the device, which no graph may
    types = [torch.float64, torch.float16, torch.int32, torch.int64, torch.uint8, torch.int8]
    for dtype in types:
        for name, make in {**calls.ADDING, **calls.OTHER_OPS}.items():
            yield name, make, (5003, dtype, 1), [eager]
    moved = types + [torch.bool, torch.complex64]
    moved += [getattr(torch, name) for name in ("float8_e4m3fn", "float8_e5m2") if hasattr(torch, name) and env.is_gpu]
    for dtype in moved:
        for name, make in calls.MOVING.items():
            if not (dtype.is_complex and name == "gather"):  # which PyTorch's NCCL backend refuses
                yield name, make, (5003, dtype, 1), [eager]


def objects(env):
    """Pickled Python objects travel as bytes in tensors."""
    own = {"rank": env.rank, "text": "x" * (1000 * (env.rank + 1))}
    everyone = [{"rank": rank, "text": "x" * (1000 * (rank + 1))} for rank in range(env.world)]
    got = [None] * env.world
    dist.all_gather_object(got, own)
    env.holds(got == everyone, "all_gather_object: other objects")
    root = env.world - 1
    box = [own]
    dist.broadcast_object_list(box, src=root)
    env.holds(box == [everyone[root]], "broadcast_object_list: another object")
    got = [None] * env.world if env.rank == root else None
    dist.gather_object(own, got, dst=root)
    env.holds(got == (everyone if env.rank == root else None), "gather_object: other objects")
    out = [None]
    dist.scatter_object_list(out, everyone if env.rank == root else None, src=root)
    env.holds(out == [everyone[env.rank]], "scatter_object_list: another object")


def run(env):
    sweep(env, cases(env))
    objects(env)


def large(env):
    """Sizes at which ranks may read each other's buffers."""
    everything = {**calls.ADDING, **calls.MOVING}
    counts = LARGE_COUNTS if env.is_gpu else [1 << 20]
    for count in counts:
        chosen = []
        for name in LARGE_CALLS:
            # Counts are per pair of ranks: the larger buffer has as many elements whatever the collective.
            whole = name in ("all_reduce", "broadcast", "batch_isend_irecv")
            chosen.append((name, everything[name], (count if whole else count // env.world, torch.bfloat16, 0),
                           [eager, replayed] if env.is_gpu else [eager]))
        sweep(env, chosen)
        if env.is_gpu:
            torch.cuda.empty_cache()
