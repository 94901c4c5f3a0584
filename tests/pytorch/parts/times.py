"""Times of five collectives in bfloat16, eager and ten calls in a graph, in blocks that take turns with the other library. A size is
that of the larger buffer of a rank. Every call that is timed is first checked as it is timed."""
import torch
import torch.distributed as dist

from parts.data import numbers

SIZES = [8, 1 << 10, 64 << 10, 256 << 10, 1 << 20, 8 << 20, 64 << 20, 512 << 20]
BLOCKS = 9
CALLS = 10  # in a graph
MIB = 1 << 20


class Timed:
    """One collective at one size: buffers are parts of two large ones that all share."""

    def __init__(self, env, name, size, buffers):
        self.env, self.name = env, name
        share = max(1, size // 2 // env.world)
        whole = max(size // 2 if name in ("all_reduce", "broadcast") else 0, share * env.world)
        self.a, self.b, self.own = buffers[0][:whole], buffers[1][:whole], buffers[1][:share]
        self.label = "%s %s" % (name, size_text(size))
        self.eager_calls = 20 if size <= MIB else 10 if size <= 8 * MIB else 3
        self.replays = 5 if size <= MIB else 2 if size <= 8 * MIB else 1
        self.replay = None

    def call(self):
        if self.name == "all_reduce":
            dist.all_reduce(self.a)
        elif self.name == "broadcast":
            dist.broadcast(self.a, 0)
        elif self.name == "all_gather":
            dist.all_gather_into_tensor(self.a, self.own)
        elif self.name == "reduce_scatter":
            dist.reduce_scatter_tensor(self.own, self.a)
        else:
            dist.all_to_all_single(self.b, self.a)

    def numbers(self, rank, count):
        """Three values, so that ten sums of two ranks in place stay exact in bfloat16: 2^10 times 0, 1 or 2."""
        return numbers(self.env, rank, len(self.label), count, torch.bfloat16, 3)

    def check(self, way, calls, run):
        env, count, share = self.env, self.a.numel(), self.own.numel()
        everyone = range(env.world)
        mine = slice(env.rank * share, (env.rank + 1) * share)
        self.b.fill_(-1)
        source, out = (self.own, self.a) if self.name == "all_gather" else (self.a, self.own)
        self.a.fill_(-1)
        source.copy_(self.numbers(env.rank, source.numel()))
        run()
        if self.name == "all_reduce":
            out, exact = self.a, env.world & (env.world - 1) == 0 or calls == 1
            if not exact:
                return
            expected = sum(self.numbers(rank, count).float() for rank in everyone) * env.world**(calls - 1)
        elif self.name == "broadcast":
            out, expected = self.a, self.numbers(0, count)
        elif self.name == "all_gather":
            expected = torch.cat([self.numbers(rank, share) for rank in everyone])
        elif self.name == "reduce_scatter":
            expected = sum(self.numbers(rank, count) for rank in everyone)[mine]
        else:
            out, expected = self.b, torch.cat([self.numbers(rank, count)[mine] for rank in everyone])
        env.equal("%s, %s" % (self.label, way), out, expected.to(out.dtype))

    def prepare(self):
        self.check("eager", 1, self.call)
        self.replay = self.env.dev.capture(lambda: [self.call() for _ in range(CALLS)])
        self.check("graph", CALLS, self.replay)
        self.a.zero_()  # sums in place stay finite
        self.b.zero_()

    def time(self):
        self.call()  # ranks start together
        self.env.record_time(self.label + ", eager", self.env.dev.microseconds(self.call, self.eager_calls))
        self.call()
        us = self.env.dev.microseconds(self.replay, self.replays) / CALLS
        self.env.record_time(self.label + ", graph", us)


def size_text(size):
    return "%d MiB" % (size // MIB) if size >= MIB else "%d KiB" % (size // 1024) if size >= 1024 else "%d B" % size


def measure(env, names, sizes):
    if not env.is_gpu:
        sizes = [size for size in sizes if size <= MIB]
    buffers = [env.zeros(max(sizes) // 2 + env.world, torch.bfloat16) for _ in range(2)]
    timed = [Timed(env, name, size, buffers) for name in names for size in sizes]
    for one in timed:
        one.prepare()
    if env.is_gpu:
        torch.cuda.empty_cache()
    for _ in env.blocks(BLOCKS):
        for one in timed:
            one.time()


def run(env):
    names = ["all_reduce", "broadcast", "all_gather", "reduce_scatter", "all_to_all"]
    measure(env, names if env.is_gpu else names[:3], SIZES)


def large_all_reduce(env):
    measure(env, ["all_reduce"], [size for size in SIZES if size >= MIB])
