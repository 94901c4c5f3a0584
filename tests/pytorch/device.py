"""Where tensors live and how time is taken there: a GPU, or the CPU when the backend is gloo, where graphs and streams do not exist
and a part's parts that need them are left out."""
import contextlib
import time

import torch


class Device:
    def __init__(self, backend, local_rank):
        self.is_gpu = backend == "nccl"
        self.device = torch.device("cuda", local_rank) if self.is_gpu else torch.device("cpu")
        if self.is_gpu:
            torch.cuda.set_device(self.device)

    def synchronize(self):
        if self.is_gpu:
            torch.cuda.synchronize()

    def new_stream(self):
        return torch.cuda.Stream() if self.is_gpu else None

    def on(self, stream):
        return torch.cuda.stream(stream) if self.is_gpu else contextlib.nullcontext()

    def order(self, first, then):
        """What comes on `then` from now on waits for what is on `first`; None is the current stream."""
        if self.is_gpu:
            (then or torch.cuda.current_stream()).wait_stream(first or torch.cuda.current_stream())

    def capture(self, calls):
        """A function that replays what calls() does; without graphs, one that does it."""
        if not self.is_gpu:
            return calls
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            calls()
        return graph.replay

    def microseconds(self, work, times):
        """Of one call of `work`, from its start on the device to the end of the last; nothing else may be in flight."""
        if not self.is_gpu:
            start = time.perf_counter()
            for _ in range(times):
                work()
            return (time.perf_counter() - start) * 1e6 / times
        first, last = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        first.record()
        for _ in range(times):
            work()
        last.record()
        last.synchronize()
        return first.elapsed_time(last) * 1e3 / times

    def wall_microseconds(self, work, times):
        """The same by the clock of the host, from idle device to idle device: what a training step takes."""
        self.synchronize()
        start = time.perf_counter()
        for _ in range(times):
            work()
        self.synchronize()
        return (time.perf_counter() - start) * 1e6 / times
