"""Sharded optimizer by hand, as DeepSpeed's ZeRO does it: gradients in buckets, each reduce-scattered on a side stream while the main
stream computes the next, the shard's weights updated there, the new weights all-gathered under the next step. All numbers are small
integers in float32, so that every weight of every step is known exactly."""
import torch
import torch.distributed as dist

from parts.data import numbers

BLOCKS, STEPS, BUCKETS = 7, 4, 4
COUNT = {True: 4 << 20, False: 1 << 10}  # elements of a bucket
BELOW = 64  # of a gradient; sums stay far below 2^24


class Sharded:
    def __init__(self, env):
        self.env = env
        count = COUNT[env.is_gpu]
        self.count = count - count % env.world
        self.side = env.dev.new_stream()
        self.weights = [env.zeros(self.count, torch.float32) for _ in range(BUCKETS)]
        self.gradients = [env.zeros(self.count, torch.float32) for _ in range(BUCKETS)]
        self.shards = [env.zeros(self.count // env.world, torch.float32) for _ in range(BUCKETS)]
        # What each step adds, made beforehand: own gradients, and the sum of all ranks' that all should see.
        self.own = [numbers(env, env.rank, bucket, self.count, torch.float32, BELOW) for bucket in range(BUCKETS)]
        self.sums = [sum(numbers(env, rank, bucket, self.count, torch.float32, BELOW) for rank in range(env.world))
                     for bucket in range(BUCKETS)]
        side = 2048 if env.is_gpu else 32
        self.left, self.right = torch.ones(side, side, device=env.device), torch.ones(side, side, device=env.device)
        self.wrong = env.zeros(1, torch.int64)
        self.steps = 0

    def compute(self, bucket):
        """The main stream's part: a matmul as long as a transfer, whose result the gradient depends on."""
        product = self.left @ self.right
        scale = product[0, 0] / self.left.shape[0]  # 1, known when the matmul is done
        torch.mul(self.own[bucket], scale, out=self.gradients[bucket])

    def use(self, bucket):
        """The next step's forward reads the weights: each must be what all steps so far make of it."""
        self.wrong += (self.weights[bucket] != self.sums[bucket] * self.steps).sum()

    def exchange(self, bucket):
        mine = self.weights[bucket].view(self.env.world, -1)[self.env.rank]
        dist.reduce_scatter_tensor(self.shards[bucket], self.gradients[bucket])
        mine += self.shards[bucket]
        dist.all_gather_into_tensor(self.weights[bucket], mine)

    def step(self):
        dev = self.env.dev
        for bucket in range(BUCKETS):
            if self.steps > 0 and bucket == 0:
                dev.order(self.side, None)  # weights of the last step
            if bucket == 0:
                for other in range(BUCKETS):
                    self.use(other)
            self.compute(bucket)
            dev.order(None, self.side)
            with dev.on(self.side):
                self.exchange(bucket)
        self.steps += 1

    def step_in_order(self):
        """The same without overlap, to see what overlap brings."""
        self.env.dev.order(self.side, None)
        for bucket in range(BUCKETS):
            self.use(bucket)
            self.compute(bucket)
            self.exchange(bucket)
        self.steps += 1


def run(env):
    sharded = Sharded(env)
    sharded.step()
    for _ in env.blocks(BLOCKS):
        for label, step in (("ZeRO step, overlapped", sharded.step), ("ZeRO step, one after another", sharded.step_in_order)):
            step()
            env.record_time(label, env.dev.wall_microseconds(step, STEPS))
    env.dev.synchronize()
    for bucket in range(BUCKETS):
        env.equal("bucket %d after %d steps" % (bucket, sharded.steps), sharded.weights[bucket], sharded.sums[bucket] * sharded.steps)
    env.holds(int(sharded.wrong) == 0, "weights were read %d times before they were right" % int(sharded.wrong))
