"""Device memory that a group takes: when it is made, after its first small and its first large all_reduce, after messages; and
whether what it took comes back. The other side does nothing meanwhile, so all changes of free memory are this process's own."""
import torch
import torch.distributed as dist

GROUPS, CYCLES = 4, 2
LARGE = 32 << 20  # elements of bfloat16
LEAK = 8 << 20    # bytes a cycle may lose


def free_bytes(env):
    env.dev.synchronize()
    env.gather(None)
    return torch.cuda.mem_get_info()[0]


def cycle(env, small, large, note):
    """Makes, uses and destroys GROUPS groups."""
    before = free_bytes(env)
    peer = env.rank ^ 1

    def taken(what):
        note(what, (before - free_bytes(env)) / GROUPS / 2**20)
    groups = [dist.new_group(list(range(env.world))) for _ in range(GROUPS)]
    taken("made")
    for group in groups:
        dist.all_reduce(small, group=group)
    taken("after a small all_reduce")
    for group in groups:
        dist.all_reduce(large, group=group)
    taken("after an all_reduce of 64 MiB")
    if peer < env.world:
        for group in groups:
            works = dist.batch_isend_irecv([dist.P2POp(dist.isend, small, peer, group), dist.P2POp(dist.irecv, large[:8], peer, group)])
            for work in works:
                work.wait()
    taken("after messages")
    for group in groups:
        dist.destroy_process_group(group)
    taken("left behind")


def run(env):
    if not env.is_gpu:
        env.holds(True, "")
        return
    small, large = env.zeros(8, torch.bfloat16), env.zeros(LARGE, torch.bfloat16)
    dist.all_reduce(large)
    free = []
    for number in range(CYCLES):
        cycle(env, small, large,
              lambda what, mib, n=number: env.values.__setitem__("MiB a group, %s%s" % (what, ", second time" if n else ""), round(mib, 1)))
        free.append(free_bytes(env))
    lost = free[0] - free[-1]
    env.values["MiB lost by a cycle of %d groups" % GROUPS] = round(lost / 2**20, 1)
    env.holds(lost <= LEAK, "%d groups that were made, used and destroyed left %.1f MiB behind" % (GROUPS, lost / 2**20))
