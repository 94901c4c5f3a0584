"""What must hold in every kernel, whatever it computes. docs/memory-model.md numbers the assumptions (M1 ...).

Owns: the rules, as walks over the flow graph. A rule yields (address, text) for each place that breaks it. Vocabulary:
write-back: the first half of a release at system scope; post: the store behind it (a flag, a credit, a report);
poll: a 64-bit load at system scope in a loop; acquire: the invalidation behind a poll that was answered.
"""

import functools

from blocks import basic_blocks, instructions_in_loops

LIMIT_VGPRS = 128


class Walks:
    """Questions about paths of one kernel."""

    def __init__(self, kernel, meaning):
        self.kernel, self.code, self.meaning = kernel, kernel.code, meaning

    def where(self, predicate):
        return [index for index, i in enumerate(self.code) if predicate(i)]

    def reach(self, start, stop, backward=False):
        """Indices met on paths that leave `start`; a path ends at an instruction for which stop() holds (which is met).
        Backward, -1 stands for the kernel's entry."""
        met, todo = set(), [start]
        while todo:
            at = todo.pop()
            neighbours = self.code[at].before if backward else self.code[at].next
            if backward and at == 0:
                met.add(-1)
            for neighbour in neighbours:
                if neighbour not in met:
                    met.add(neighbour)
                    if not stop(self.code[neighbour]):
                        todo.append(neighbour)
        return met

    def behind(self, starts):
        """Indices of everything that may run after one of `starts`."""
        met, todo = set(), list(starts)
        while todo:
            for after in self.code[todo.pop()].next:
                if after not in met:
                    met.add(after)
                    todo.append(after)
        return met

    @functools.cached_property
    def blocks(self):
        return basic_blocks(self.code)

    @functools.cached_property
    def in_loop(self):
        """Indices of instructions that may run again after themselves."""
        return instructions_in_loops(self.blocks)

    def outstanding(self, index, kind):
        """Accesses of `kind` ("loads", "stores") that may be incomplete when `index` runs."""
        m = self.meaning
        is_access = m.is_vector_load if kind == "loads" else m.is_vector_write
        met = self.reach(index, lambda i: kind in m.waits(i) or is_access(i), backward=True)
        return [at for at in met if at >= 0 and is_access(self.code[at])]

    def nearest(self, start, wanted, end):
        """The first instruction of a kind behind `start` and before the end, on the shortest path: a branch over code that no
        lane needs leads further, and the graph cannot tell that it is not taken."""
        met, row = {start}, [start]
        while row:
            following = []
            for at in row:
                for after in self.code[at].next:
                    if after not in met:
                        if wanted(self.code[after]):
                            return after
                        met.add(after)
                        if not end(self.code[after]):
                            following.append(after)
            row = following
        return None

    @functools.cached_property
    def posts(self):
        """{write-back: the store behind it, by the same lane}. Never an atomic: nothing is added to across devices (M7).
        A word of 64 bits if one comes before the next barrier or write-back: the shortest path may be one on which nothing is posted."""
        m, found = self.meaning, {}
        for back in self.where(m.is_write_back):
            word = self.nearest(back, self.is_word, lambda i: m.is_barrier(i) or m.is_any_write_back(i))
            at = self.nearest(back, m.is_vector_store, m.is_barrier) if word is None else word
            if at is not None:
                found[back] = at
        return found

    def is_word(self, i):
        """A store of 64 bits, at system scope where stores say so."""
        m = self.meaning
        return m.is_vector_store(i) and m.bytes_of(i) == 8 and (m.is_system_store(i) or not m.stores_carry_scope())

    @functools.cached_property
    def flags(self):
        """Write-backs of posts of 64 bits, by which the whole block speaks. Reports of one lane are narrower."""
        return [back for back, at in self.posts.items() if self.meaning.bytes_of(self.code[at]) == 8]

    @functools.cached_property
    def words(self):
        """Stores of 64 bits, at system scope where stores say so, that one of those write-backs covers: further on in the code
        and up to the next barrier. A step that gives a flag and a credit has one write-back and two words."""
        m, found = self.meaning, set()
        for back in self.flags:
            for at in self.reach(back, lambda i: m.is_barrier(i) or m.is_any_write_back(i)):
                if at > back and self.is_word(self.code[at]):
                    found.add(at)
        return found

    @functools.cached_property
    def publishing_barriers(self):
        """The last barriers before a flag: what other waves did is published behind them. Where there is no write-back to know
        flags by (gfx11), those that have everything complete."""
        m = self.meaning
        if not m.has_write_back:
            return [b for b in self.where(m.is_barrier) if not self.outstanding(b, "loads") and not self.outstanding(b, "stores")]
        barriers = set()
        for back in self.flags:
            barriers |= {at for at in self.reach(back, m.is_barrier, backward=True) if at >= 0 and m.is_barrier(self.code[at])}
        return sorted(barriers)

    @functools.cached_property
    def polls(self):
        m = self.meaning
        return [at for at in self.where(m.is_system_load) if m.bytes_of(self.code[at]) == 8 and at in self.in_loop]


def drain(walks, expected):
    """M4, M5: every wave's stores and loads are complete before the barrier behind which one lane publishes."""
    barriers = walks.publishing_barriers
    if len(barriers) < expected["drained_barriers"]:
        yield 0, f"{len(barriers)} barriers before a flag, {expected['drained_barriers']} expected"
    for barrier in barriers:
        for kind in ("stores", "loads"):
            for at in walks.outstanding(barrier, kind):
                yield barrier, f"may be incomplete at the barrier before a flag: {walks.code[at].text}"


def wait_after_write_back(walks, _):
    """M4, M11: the write-back is complete before the flag is stored or the counter added to."""
    m = walks.meaning
    for back in walks.where(m.is_any_write_back):
        for at in walks.reach(back, lambda i: "stores" in m.waits(i) or m.is_vector_write(i)):
            if m.is_vector_write(walks.code[at]):
                yield at, f"stored without a wait after the write-back at {walks.code[back].address:#x}: {walks.code[at].text}"


def post(walks, expected):
    """M1, M4: posts are single accesses of at most 8 bytes at system scope; as many as the source has."""
    m = walks.meaning
    if not m.has_write_back:
        return
    for at in set(walks.posts.values()):
        i = walks.code[at]
        if m.bytes_of(i) > 8 and not (expected.get("line_stores") and m.is_line_store(i)):
            yield at, f"the store behind a write-back is wider than 8 bytes and no line: {i.text}"
        elif m.stores_carry_scope() and not m.is_system_store(i):
            yield at, f"the store behind a write-back is not at system scope: {i.text}"
    if len(walks.words) < expected["posts"]:
        yield 0, f"{len(walks.words)} words are stored behind a write-back, {expected['posts']} expected"


def poll(walks, expected):
    """M2: what is waited for is read by vector loads at system scope, in a loop, before the acquire."""
    m = walks.meaning
    polls = walks.polls
    if len(polls) < expected["polls"]:
        yield 0, f"{len(polls)} words are polled by vector loads at system scope, {expected['polls']} expected"
    if not m.tells_system_acquire:  # one behind a stream's order needs no poll and looks the same
        return
    seen = lambda i: m.is_system_load(i) or m.is_vector_atomic(i)
    for acquire in walks.where(m.is_acquire):
        met = walks.reach(acquire, lambda i: seen(i) or m.is_acquire(i), backward=True)
        if -1 in met:
            yield acquire, "no load at system scope comes before this acquire on some path"


def acquire_after_poll(walks, expected):
    """M6: every poll has an acquire on a path to the next barrier."""
    m = walks.meaning
    if expected["polls"] == 0:
        return
    acquires = set(walks.where(m.is_device_acquire))
    ends = lambda i: m.is_device_acquire(i) or m.is_barrier(i)
    without = [at for at in walks.polls if not walks.reach(at, ends) & acquires]
    if "acquired_polls" in expected:
        if len(walks.polls) - len(without) < expected["acquired_polls"]:
            yield 0, f"{len(walks.polls) - len(without)} polls have an acquire, {expected['acquired_polls']} expected"
        return
    for at in without:
        yield at, f"no acquire between this poll and the next barrier: {walks.code[at].text}"


def line(walks, expected):
    """M1, M2: a line is one access of 16 bytes that no cache of this device answers, and is read again until its flags are there."""
    m = walks.meaning
    if not expected.get("line_loads"):
        return
    loads, stores = walks.where(m.is_line_load), walks.where(m.is_line_store)
    for what, found, wanted in (("loads", loads, expected["line_loads"]), ("stores", stores, expected["line_stores"])):
        if len(found) < wanted:
            yield 0, f"{len(found)} {what} of 16 bytes at system scope, {wanted} expected"
    for at in loads:
        if at not in walks.reach(at, lambda i: m.is_barrier(i) or m.is_vector_write(i)):
            yield at, f"a line that is read once: {walks.code[at].text}"


def first_level(walks, _):
    """M6: a workgroup that spans two first-level caches invalidates behind every barrier, before an ordinary load."""
    m = walks.meaning
    if m.gfx9 or walks.kernel.numbers.get(".workgroup_processor_mode") != "1":
        return
    plain = lambda i: m.is_vector_load(i) and not m.is_system_load(i)
    for barrier in walks.where(m.is_barrier):
        for at in walks.reach(barrier, lambda i: m.first_level_invalidate(i) or plain(i)):
            if plain(walks.code[at]):
                yield at, f"loaded behind the barrier at {walks.code[barrier].address:#x} without invalidating: {walks.code[at].text}"


def resources(walks, _):
    """No scratch, no spilled vector registers, no more registers than let four waves share a SIMD, no calls."""
    numbers = walks.kernel.numbers
    for key in (".private_segment_fixed_size", ".vgpr_spill_count"):
        if int(numbers[key]) != 0:
            yield 0, f"{key} is {numbers[key]}"
    if int(numbers[".vgpr_count"]) > LIMIT_VGPRS:
        yield 0, f".vgpr_count is {numbers['.vgpr_count']}, more than {LIMIT_VGPRS}"
    if numbers.get(".uses_dynamic_stack") == "true":
        yield 0, "uses a dynamic stack"
    for at in walks.where(walks.meaning.is_scratch):
        yield at, f"scratch: {walks.code[at].text}"
    for at in walks.where(lambda i: i.mnemonic in ("s_swappc_b64", "s_setpc_b64")):
        yield at, "calls a function"


def host_services(walks, _):
    """No printf, assert or device malloc: the runtime would start a helper thread and keep the kernel's arguments for it."""
    for kind in walks.kernel.argument_kinds:
        if kind in ("hidden_hostcall_buffer", "hidden_printf_buffer", "hidden_heap_v1"):
            yield 0, f"needs {kind}"


RULES = [drain, wait_after_write_back, post, poll, acquire_after_poll, line, first_level, resources, host_services]
