"""What is checked, in which job, within which time. A part is a function of a module of parts/; a job is a pair of torchrun starts,
one with our library and one with PyTorch's NCCL, which take turns; in a job that is `alone` only ours runs. Parts come in order of
importance within a job: what is at the end is the first to be left out when time runs short."""


class Part:
    """`run` names module:function; `limit` is how many seconds the part may hold the devices on one side, all its turns together."""

    def __init__(self, name, run, limit, what):
        self.name, self.run, self.limit, self.what = name, run, limit, what


class Job:
    def __init__(self, name, parts, env=None, alone=False):
        self.name, self.parts, self.env, self.alone = name, parts, env or {}, alone


# On torchrun's machines and in tests alike: sums whose order does not change from run to run, and one cuBLAS workspace in graphs too.
COMMON_ENV = {"CUBLAS_WORKSPACE_CONFIG": ":4096:8", "OMP_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": "1"}
# PyTorch took a second name for this variable; both are understood by some version.
EXPANDABLE = {"PYTORCH_CUDA_ALLOC_CONF": "expandable_segments:True", "PYTORCH_ALLOC_CONF": "expandable_segments:True"}
# The text of _abort_process_group asks for it: otherwise PyTorch's own watchdog takes part.
BY_HAND = {"TORCH_NCCL_ASYNC_ERROR_HANDLING": "0"}

INIT = Part("init", "first:run", 60, "the library that was asked for is the one in use; a group is made; the first all_reduce")
COLLECTIVES = Part("collectives", "collectives:run", 60,
                   "every collective: eager, async_op, in a graph; exact, many types, odd sizes, misaligned")
LARGE = Part("large", "collectives:large", 40, "the same from 32 to 256 MiB, eager and in a graph")
ALLOCATOR = Part("allocator", "allocator:run", 30, "buffers come and go, addresses return with other memory behind them")

JOBS = [
    Job("main", [
        INIT,
        COLLECTIVES,
        Part("coalesced", "coalesced:run", 30, "_coalescing_manager, batch_isend_irecv, many calls in flight; also in graphs"),
        Part("ddp", "training:ddp", 40, "DDP of a transformer in bf16: gradients beside a model of one process, losses beside NCCL's"),
        Part("fsdp", "training:fsdp", 40, "FSDP2 with and without reshard: equal losses, and those of NCCL"),
        Part("zero", "zero:run", 30, "buckets reduce-scattered and all-gathered on a side stream beside matmuls; exact"),
        Part("decode", "decode:run", 40, "tensor-parallel decode, a step captured in a graph, beside a model of one process"),
        Part("pipeline", "pipeline:run", 30, "micro-batches through stages by send and recv, and batched; gradients exact"),
        Part("groups", "groups:run", 40, "new_group, split_group, meshes, two groups in flight, made and destroyed"),
        Part("memory", "memory:run", 30, "device memory of a group: made, used, destroyed"),
        LARGE,
        ALLOCATOR,
        Part("times", "times:run", 60, "all_reduce, broadcast, all_gather, reduce_scatter, all_to_all: eager and 10 calls in a graph"),
    ]),
    Job("abort", [
        INIT,
        Part("abort", "abort:run", 60, "a peer that never calls: rank 0 aborts and is free within seconds, the rest still works"),
    ], env=BY_HAND, alone=True),
    Job("expandable", [
        INIT,
        COLLECTIVES,
        LARGE,
        ALLOCATOR,
        Part("ddp", "training:ddp", 40, "as in main"),
        Part("times", "times:large_all_reduce", 30, "all_reduce from 1 MiB on, whose buffers no other process can map"),
    ], env=EXPANDABLE),
]


def find_part(job_name, part_name):
    job = next(job for job in JOBS if job.name == job_name)
    return next(part for part in job.parts if part.name == part_name)
