"""The first turn of a process: context, group, and whether the library in use is the one that was asked for."""
import ctypes
import os
import time

import torch
import torch.distributed as dist

from parts.data import numbers


class SymbolInfo(ctypes.Structure):
    _fields_ = [("file", ctypes.c_char_p), ("base", ctypes.c_void_p), ("name", ctypes.c_char_p), ("address", ctypes.c_void_p)]


def file_of(symbol):
    """The file that libtorch gets a symbol from: the first of the whole process, if it is preloaded, else the one libnccl here."""
    process = ctypes.CDLL(None)
    process.dladdr.argtypes = [ctypes.c_void_p, ctypes.POINTER(SymbolInfo)]
    try:
        address = ctypes.cast(getattr(process, symbol), ctypes.c_void_p)
    except AttributeError:  # loaded for libtorch alone
        with open("/proc/self/maps", encoding="utf-8") as file:
            return next((line.split()[-1] for line in file if "libnccl" in line or "librccl" in line), "")
    info = SymbolInfo()
    return info.file.decode() if process.dladdr(address, ctypes.byref(info)) else ""


def same_file(a, b):
    return bool(a and b) and os.path.exists(a) and os.path.exists(b) and os.path.samefile(a, b)


def check_library(env):
    file = file_of("ncclAllReduce")
    env.values["library"] = file.rsplit("/", 1)[-1]
    env.values["version"] = ".".join(map(str, torch.cuda.nccl.version()))
    is_ours = same_file(file, env.options.library)
    env.holds(is_ours == env.ours, "ncclAllReduce comes from %s" % file)


def check_allocator(env):
    """Whether segments are expandable must be what the environment asked for."""
    asked = env.options.name.startswith("expandable")
    block = env.zeros(64 << 20, torch.uint8)
    segments = torch.cuda.memory_snapshot()
    expandable = [bool(segment.get("is_expandable")) for segment in segments]
    env.holds(expandable and all(one == asked for one in expandable),
              "segments of the allocator: %d of %d expandable" % (sum(expandable), len(expandable)))
    del block


def make_default_group(env, prefix):
    # With a device the communicator is made at once, and groups are split off it; in the job of expandable segments every group
    # meets by itself, at its first operation, as programs do that name no device.
    late = env.options.name.startswith("expandable")
    device = {} if late or not env.is_gpu else {"device_id": env.device}
    dist.init_process_group(env.backend, store=dist.PrefixStore(prefix, env.root_store), rank=env.rank, world_size=env.world, **device)


def run(env):
    env.use_device()
    if env.is_gpu:
        check_library(env)
        check_allocator(env)
    env.dev.synchronize()
    start = time.perf_counter()
    make_default_group(env, "first")
    value = numbers(env, env.rank, 0, 1000, torch.float32, 100)
    dist.all_reduce(value)
    env.dev.synchronize()
    env.values["group and first all_reduce, s"] = round(time.perf_counter() - start, 2)
    env.equal("first all_reduce", value, sum(numbers(env, rank, 0, 1000, torch.float32, 100) for rank in range(env.world)))
