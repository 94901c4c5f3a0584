"""Data-parallel training of a small transformer: DDP in bf16, and FSDP2 with float32 weights computed in bf16."""
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

from parts import model

BLOCKS, STEPS, WARM_UP = 7, 3, 2
# Losses of two libraries: two ranks add two numbers whatever the algorithm, so that they are equal; more ranks add in other orders,
# and rounding to bfloat16 (2^-8) then moves the weights.
LOSS_BOUND = 2.0**-8
# A gradient against the mean of the ranks' own: one rounding of each, one a sum.
GRADIENT_BOUND = 2.0**-7


def same_bits_each_time():
    """Sums of kernels in a fixed order, so that losses of two runs differ by what the libraries do, and by nothing else."""
    torch.use_deterministic_algorithms(True, warn_only=True)
    torch.utils.deterministic.fill_uninitialized_memory = False


def fingerprint(tensors):
    """Differs when any bit of any element does, or when two change places (nearly always)."""
    total = 0
    for tensor in tensors:
        words = tensor.detach().flatten().view(torch.int16 if tensor.element_size() == 2 else torch.int32).long()
        weights = torch.arange(words.numel(), device=words.device) % 65521 + 1
        total = (total * 31 + int((words * weights).sum())) % (1 << 62)
    return total


def check_gradients(env, shape, trained):
    """DDP's first gradients beside those of one process that sees the batches of all ranks."""
    single = model.make(shape, env.device, torch.bfloat16)
    sums = [torch.zeros_like(parameter, dtype=torch.float32) for parameter in single.parameters()]
    for rank in range(env.world):
        single.zero_grad()
        model.loss_of(single, model.batch_of(shape, rank, 0, env.device)).backward()
        for total, parameter in zip(sums, single.parameters()):
            total += parameter.grad.float() / env.world
    model.loss_of(trained, model.batch_of(shape, env.rank, 0, env.device)).backward()
    for (name, parameter), expected in zip(trained.module.named_parameters(), sums):
        env.near("gradient of " + name, parameter.grad, expected, GRADIENT_BOUND)
    trained.zero_grad()


class Trainer:
    def __init__(self, env, shape, net):
        self.env, self.shape, self.net = env, shape, net
        self.optimizer = torch.optim.AdamW(net.parameters(), lr=1e-3)
        self.losses, self.done = [], 0
        self.batches = [model.batch_of(shape, env.rank, step, env.device) for step in range(2)]

    def step(self):
        self.optimizer.zero_grad()
        loss = model.loss_of(self.net, self.batches[self.done % 2])
        loss.backward()
        self.optimizer.step()
        self.losses.append(loss.detach())
        self.done += 1

    def finish(self, name):
        """Losses go to the other side; and training must have done something."""
        losses = [float(loss) for loss in self.losses]
        self.env.holds(losses[-1] < 0.9 * losses[0], "%s: the loss does not fall: %s" % (name, losses))
        self.env.must_agree(name + " losses of rank 0", losses, LOSS_BOUND)
        self.env.values[name + " loss, first and last"] = "%.4f %.4f" % (losses[0], losses[-1])
        return losses


def train(env, trainer, label, blocks=BLOCKS):
    """Blocks of steps in turns with the other side."""
    for _ in range(WARM_UP):
        trainer.step()
    for _ in env.blocks(blocks):
        trainer.step()  # after the other's turn the clocks and caches are its own
        us = env.dev.wall_microseconds(trainer.step, STEPS)
        env.record_time(label, us, tokens=trainer.shape.tokens() * env.world)


def ddp(env):
    same_bits_each_time()
    shape = model.Shape(env.is_gpu)
    net = DistributedDataParallel(model.make(shape, env.device, torch.bfloat16), gradient_as_bucket_view=True,
                                  device_ids=[env.local_rank] if env.is_gpu else None)
    check_gradients(env, shape, net)
    trainer = Trainer(env, shape, net)
    train(env, trainer, "DDP step")
    prints = env.gather(fingerprint(net.parameters()))
    env.holds(len(set(prints)) == 1, "DDP: the ranks' weights differ after training")
    trainer.finish("DDP")
    torch.use_deterministic_algorithms(False)


def shard(env, shape, reshard):
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard
    net = model.make(shape, env.device, torch.float32)
    options = {"mesh": init_device_mesh(env.device.type, (env.world,)),
               "mp_policy": MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32)}
    for block in net.blocks:
        fully_shard(block, reshard_after_forward=reshard, **options)
    return fully_shard(net, **options)  # what the root keeps is PyTorch's choice: its weights are needed at once again


def fsdp(env):
    same_bits_each_time()
    shape = model.Shape(env.is_gpu)
    losses = {}
    for reshard in (True, False):
        label = "FSDP2 step" + ("" if reshard else ", no reshard")
        trainer = Trainer(env, shape, shard(env, shape, reshard))
        train(env, trainer, label)
        losses[reshard] = trainer.finish(label.replace(" step", ""))
        check_full(env, trainer.net)
        del trainer
    # Gathered once or twice, the weights are the same.
    env.holds(losses[True] == losses[False], "FSDP2: losses with reshard %s, without %s" % (losses[True], losses[False]))
    torch.use_deterministic_algorithms(False)


def check_full(env, net):
    """Weights gathered by the library against shards that went by the store: their sums as words."""
    for name, parameter in list(net.named_parameters())[:4]:
        local = parameter.to_local()
        whole = parameter.full_tensor()
        words = env.gather(int(local.detach().view(torch.int32).long().sum()))
        env.holds(sum(words) == int(whole.detach().view(torch.int32).long().sum()), "FSDP2: %s gathered is not its shards" % name)
