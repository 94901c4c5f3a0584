"""What a part sees: ranks, the device, checks, and turns. Ranks meet and exchange words here by torchrun's store only, never by the
library under test."""
import json
import os
from datetime import timedelta

import torch
import torch.distributed as dist
from torch.distributed.rendezvous import rendezvous

from device import Device
from turns import Client

MOST_PROBLEMS = 12  # of a part; the rest is counted
LONG = timedelta(hours=1)  # who hangs is killed from outside, so no wait here needs a limit of its own


class Env:
    def __init__(self, options):
        self.options = options
        self.rank, self.world = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
        self.local_rank = int(os.environ["LOCAL_RANK"])
        self.backend, self.ours = options.backend, options.name.endswith("-ours")
        self.root_store, _, _ = next(rendezvous("env://"))
        self.root_store.set_timeout(LONG)
        self.store = dist.PrefixStore("check", self.root_store)
        self.meetings = 0
        self.client = Client(options.turns, options.name) if self.rank == 0 else None
        self.part = None
        self.dev = None
        self.forget()

    def use_device(self):
        """In the first turn, not before: a context takes memory and time of the device."""
        self.dev = Device(self.backend, self.local_rank)
        self.device, self.is_gpu = self.dev.device, self.dev.is_gpu

    def forget(self):
        self.problems, self.dropped, self.checks = [], 0, 0
        self.times, self.same, self.values = {}, {}, {}

    # Words between ranks.

    def gather(self, value):
        """Every rank's value, on every rank."""
        self.meetings += 1
        self.store.set("%d/%d" % (self.meetings, self.rank), json.dumps(value))
        return [json.loads(self.store.get("%d/%d" % (self.meetings, rank))) for rank in range(self.world)]

    def of_rank_0(self, function):
        """What function() gives on rank 0, on every rank."""
        self.meetings += 1
        if self.rank == 0:
            self.store.set(str(self.meetings), json.dumps(function()))
        return json.loads(self.store.get(str(self.meetings)))

    # Turns.

    def begin(self, part):
        self.part = part
        self.forget()
        return self.of_rank_0(lambda: self.client.want(part))

    def hand_on(self):
        """Between two blocks: the other side's turn. All ranks call it."""
        self.dev.synchronize()
        self.gather(None)
        self.of_rank_0(lambda: self.client.hand_on(self.part))

    def blocks(self, count):
        """for block in env.blocks(n): the other side works between two blocks."""
        for block in range(count):
            if block > 0:
                self.hand_on()
            yield block

    def end(self):
        """Everything the ranks found goes to the server."""
        found = self.gather({"problems": self.problems, "dropped": self.dropped, "checks": self.checks, "times": self.times})
        problems = ["rank %d: %s" % (rank, problem) for rank, one in enumerate(found) for problem in one["problems"]]
        dropped = sum(one["dropped"] for one in found)
        if dropped:
            problems.append("and %d more" % dropped)
        slowest = {label: {**timed, "us": [max(block) for block in zip(*(one["times"][label]["us"] for one in found))]}
                   for label, timed in self.times.items() if all(label in one["times"] for one in found)}
        if self.rank == 0:
            self.client.done(self.part, problems=problems, checks=sum(one["checks"] for one in found), times=slowest,
                             same=self.same, values=self.values)
        return not problems

    # What a part found.

    def problem(self, text):
        if len(self.problems) < MOST_PROBLEMS:
            self.problems.append(text)
        else:
            self.dropped += 1

    def holds(self, condition, text):
        self.checks += 1
        if not condition:
            self.problem(text)

    def equal(self, name, got, expected):
        """Every element, exactly."""
        self.checks += 1
        got, expected = as_plain(got), as_plain(expected)
        if got.shape != expected.shape:
            self.problem("%s: shape %s, not %s" % (name, tuple(got.shape), tuple(expected.shape)))
            return
        wrong = got != expected
        count = int(wrong.sum())
        if count:
            first = int(wrong.flatten().nonzero()[0])
            self.problem("%s: %d of %d elements wrong, the first is %d: %s, not %s"
                         % (name, count, got.numel(), first, got.flatten()[first].item(), expected.flatten()[first].item()))

    def near(self, name, got, expected, bound):
        """The norm of the difference against that of what is expected."""
        self.checks += 1
        got, expected = got.double(), expected.double()
        distance, size = float((got - expected).norm()), float(expected.norm())
        if not distance <= bound * size:  # NaN does not pass
            self.problem("%s: relative distance %.3g, bound %.3g" % (name, distance / size if size else distance, bound))

    def record_time(self, label, us, tokens=None):
        one = self.times.setdefault(label, {"us": []})
        one["us"].append(us)
        if tokens:
            one["tokens"] = tokens

    def must_agree(self, name, values, bound):
        """Values that the job with the other library must have too."""
        self.same[name] = {"values": [float(value) for value in values], "bound": bound}

    def zeros(self, count, dtype):
        if "float8" in str(dtype):
            return self.zeros(count, torch.uint8).view(dtype)
        return torch.zeros(count, dtype=dtype, device=self.device)


def as_plain(tensor):
    """Types that cannot be compared as they are."""
    if "float8" in str(tensor.dtype):
        return tensor.float()
    return torch.view_as_real(tensor) if tensor.is_complex() else tensor
