"""Groups besides the default one: new_group, split_group, meshes; two groups in flight and in one graph; made and destroyed."""
import torch
import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh

from parts.data import numbers

COUNT, ROUNDS, CYCLES = 10007, 10, 6
destroyed = []


def use(env, name, group, ranks, turn=0):
    """An all_reduce and an all_gather among `ranks`; others pass by."""
    if env.rank not in ranks:
        return
    value = numbers(env, env.rank, turn, COUNT, torch.float32, 1000)
    own = value.clone()
    dist.all_reduce(value, group=group)
    env.equal(name + ", all_reduce", value, sum(numbers(env, rank, turn, COUNT, torch.float32, 1000) for rank in ranks))
    out = env.zeros(COUNT * len(ranks), torch.float32)
    parts = list(out.chunk(len(ranks)))
    dist.all_gather(parts, own, group=group)
    for part, rank in zip(parts, ranks):
        env.equal(name + ", all_gather", part, numbers(env, rank, turn, COUNT, torch.float32, 1000))


def destroy(group):
    dist.destroy_process_group(group)
    # Not the object: the one of gloo waits for its peers when it goes, who may be at the next group already.
    destroyed.append(group)


def use_once(env, name, group, ranks):
    """Uses and destroys it. PyTorch names some groups by how many a rank has: it must be as many on all ranks."""
    use(env, name, group, ranks)
    if env.rank in ranks:
        destroy(group)


def made(env):
    everyone = list(range(env.world))
    use_once(env, "new_group of all", dist.new_group(everyone), everyone)
    use_once(env, "new_group, local synchronization", dist.new_group(everyone, use_local_synchronization=True), everyone)
    for rank in everyone:
        use_once(env, "new_group of rank %d" % rank, dist.new_group([rank]), [rank])
    use_once(env, "new_group of all but one", dist.new_group(everyone[:-1]), everyone[:-1])


def split(env):
    everyone = list(range(env.world))
    use_once(env, "split_group, all in one", dist.split_group(split_ranks=[everyone]), everyone)
    use_once(env, "split_group, each alone", dist.split_group(split_ranks=[[rank] for rank in everyone]), [env.rank])
    some = dist.split_group(split_ranks=[everyone[:-1]])
    env.holds((some is None) == (env.rank == env.world - 1), "split_group: who is in no part got %s" % some)
    use_once(env, "split_group, all but one", some, everyone[:-1])
    # PyTorch counts groups to name them, and who got none does not count: now the others get none.
    use_once(env, "split_group, the last one", dist.split_group(split_ranks=[everyone[-1:]]), everyone[-1:])


def meshes(env):
    for sizes in ((1, env.world), (env.world, 1)):
        mesh = init_device_mesh(env.device.type, sizes, mesh_dim_names=("outer", "inner"))
        for i, name in enumerate(("outer", "inner")):
            ranks = list(range(env.world)) if sizes[i] == env.world else [env.rank]
            use(env, "mesh %d x %d, %s" % (*sizes, name), mesh.get_group(name), ranks)


def both(env, groups, values):
    """One call in each of two groups, then waits in reverse."""
    works = [dist.all_reduce(value, group=group, async_op=True) for group, value in zip(groups, values)]
    for work in reversed(works):
        work.wait()


def side_by_side(env):
    groups = [dist.new_group(list(range(env.world))) for _ in range(2)]
    values = [env.zeros(COUNT * 10, torch.float32) for _ in groups]

    def fill(turn):
        for i, value in enumerate(values):
            value.copy_(numbers(env, env.rank, turn + i, COUNT * 10, torch.float32, 1000))

    def check(name, turn):
        for i, value in enumerate(values):
            env.equal("%s, group %d" % (name, i), value,
                      sum(numbers(env, rank, turn + i, COUNT * 10, torch.float32, 1000) for rank in range(env.world)))
    for turn in range(ROUNDS):
        fill(turn)
        both(env, groups, values)
        check("two groups in flight", turn)
    if env.is_gpu:
        replay = env.dev.capture(lambda: both(env, groups, values))
        for turn in range(ROUNDS):
            fill(turn)
            replay()
            check("two groups in a graph", turn)
        del replay  # a group waits for the graphs that use it
        torch.cuda.synchronize()
    for group in groups:
        destroy(group)


def again_and_again(env):
    everyone = list(range(env.world))
    for turn in range(CYCLES):
        group = dist.new_group(everyone)
        use(env, "cycle %d" % turn, group, everyone, turn)
        destroy(group)


def run(env):
    made(env)
    if env.is_gpu:
        split(env)
    meshes(env)
    side_by_side(env)
    again_and_again(env)
    use(env, "the default group afterwards", None, list(range(env.world)))
