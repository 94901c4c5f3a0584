"""Pipeline parallelism: a stage a rank, micro-batches forward and gradients back by send and recv, first all forward then all
backward, then the same with batches of sends and receives; gradients must be those of one process, bit by bit: nothing is added."""
import torch
import torch.distributed as dist
from torch import nn

MICRO_BATCHES, BLOCKS, STEPS = 6, 7, 2


def make_stage(env, number, width):
    torch.manual_seed(40 + number)
    return nn.Sequential(nn.Linear(width, 2 * width), nn.GELU(), nn.Linear(2 * width, width)).to(env.device, torch.bfloat16)


class Pipeline:
    def __init__(self, env):
        self.env = env
        self.width, self.rows = (2048, 512) if env.is_gpu else (32, 4)
        self.stage = make_stage(env, env.rank, self.width)
        self.first, self.last = env.rank == 0, env.rank == env.world - 1
        self.inputs = [self.random(100 + number) for number in range(MICRO_BATCHES)]

    def random(self, seed):
        generator = torch.Generator().manual_seed(seed)
        return torch.randn(self.rows, self.width, generator=generator).to(self.env.device, torch.bfloat16)

    def empty(self):
        return torch.full((self.rows, self.width), float("nan"), dtype=torch.bfloat16, device=self.env.device)

    def receive_forward(self, number):
        if self.first:
            return self.inputs[number]
        x = self.empty()
        dist.recv(x, self.env.rank - 1)
        return x.requires_grad_()

    def send_backward(self, x):
        if not self.first:
            dist.send(x.grad, self.env.rank - 1)

    def all_then_all(self):
        """Every micro-batch forward, then every one backward, by blocking sends and receives."""
        held = []
        for number in range(MICRO_BATCHES):
            x = self.receive_forward(number)
            y = self.stage(x)
            if not self.last:
                dist.send(y.detach(), self.env.rank + 1)
            held.append((x, y))
        for x, y in held:
            if self.last:
                gradient = torch.ones_like(y)
            else:
                gradient = self.empty()
                dist.recv(gradient, self.env.rank + 1)
            y.backward(gradient)
            self.send_backward(x)

    def exchange(self, operations):
        works = dist.batch_isend_irecv(operations) if operations else []
        for work in works:
            work.wait()

    def batched(self):
        """One forward of a micro-batch and one backward of an earlier one a turn, each exchange one batch."""
        env, held, depth = self.env, {}, 2 * (self.env.world - 1 - self.env.rank)
        arrived, back = {}, {}
        for turn in range(MICRO_BATCHES + 2 * env.world - 1):
            forward, backward = turn - env.rank, turn - env.rank - depth - 1
            operations = []
            if 0 <= forward < MICRO_BATCHES:
                x = self.inputs[forward] if self.first else arrived.pop(forward).requires_grad_()
                held[forward] = (x, self.stage(x))
                if not self.last:
                    operations.append(dist.P2POp(dist.isend, held[forward][1].detach(), env.rank + 1))
            if 0 <= backward < MICRO_BATCHES:
                x, y = held.pop(backward)
                y.backward(torch.ones_like(y) if self.last else back.pop(backward))
                if not self.first:
                    operations.append(dist.P2POp(dist.isend, x.grad, env.rank - 1))
            # What the neighbours send in this turn: the one before its forward of this turn, the one after its backward.
            coming, returning = turn - (env.rank - 1), turn - (env.rank + 1) - (depth - 2) - 1
            if not self.first and 0 <= coming < MICRO_BATCHES:
                arrived[coming] = self.empty()
                operations.append(dist.P2POp(dist.irecv, arrived[coming], env.rank - 1))
            if not self.last and 0 <= returning < MICRO_BATCHES:
                back[returning] = self.empty()
                operations.append(dist.P2POp(dist.irecv, back[returning], env.rank + 1))
            self.exchange(operations)

    def expected(self):
        """Gradients of this rank's stage when all stages run here."""
        stages = [make_stage(self.env, number, self.width) for number in range(self.env.world)]
        held = []
        for x in self.inputs:
            for stage in stages:
                x = stage(x)
            held.append(x)
        for y in held:
            y.backward(torch.ones_like(y))
        return [parameter.grad for parameter in stages[self.env.rank].parameters()]


def run(env):
    pipeline = Pipeline(env)
    expected = pipeline.expected()
    schedules = (("GPipe step, send and recv", pipeline.all_then_all), ("1F1B step, batched", pipeline.batched))
    for label, schedule in schedules:
        pipeline.stage.zero_grad()
        schedule()
        for (name, parameter), gradient in zip(pipeline.stage.named_parameters(), expected):
            env.equal("%s, gradient of %s" % (label, name), parameter.grad, gradient)
    for _ in env.blocks(BLOCKS):
        for label, schedule in schedules:
            schedule()
            env.record_time(label, env.dev.wall_microseconds(schedule, STEPS))
