"""The rule about scalar loads: their cache is coherent with nothing, so behind an acquire they may read only what cannot change.

Owns: following values from where they are loaded to the base of a scalar load. Allowed are the kernel's arguments: the address
that the dispatch set, and that address plus something, an index that was loaded too. Not allowed are addresses that were
themselves loaded, which is where payload, flags and credits lie.
"""

import re


NO_RESULT = re.compile(r"s_(cmp|bitcmp|cbranch|branch|waitcnt|wait_|barrier|store|nop|sleep|sendmsg$|delay)")
KEEPS_ITS_TARGET = re.compile(r"s_(cmov|addk|mulk|bitset)")  # what was there counts for what comes out
ADDS = re.compile(r"s_(add|addc|lshl\d_add)_")
REGISTERS = re.compile(r"s\[(\d+):(\d+)\]$")
REGISTER = re.compile(r"s(\d+)$")
NAMED = {"vcc": [106, 107], "vcc_lo": [106], "vcc_hi": [107]}


def registers(operand):
    """Numbers of the scalar registers that an operand names: s7, s[4:5], vcc."""
    match = REGISTERS.match(operand)
    if match:
        return list(range(int(match.group(1)), int(match.group(2)) + 1))
    match = REGISTER.match(operand)
    return [int(match.group(1))] if match else NAMED.get(operand, [])


def operands(i):
    return [part.split()[0] for part in i.operands.split(",") if part.strip()]


class Places:
    """Bits for what a value can lie in: scalar registers, and lanes of vector registers to which the compiler spills them."""

    def __init__(self):
        self.bits = {}

    def mask(self, places):
        found = 0
        for place in places:
            found |= 1 << self.bits.setdefault(place, len(self.bits))
        return found


class Step:
    """What one instruction does to the places that hold something loaded, and to those that hold anything but an address within
    the arguments."""

    def __init__(self, kill, loads, copies, adds=False):
        self.kill, self.loads, self.copies, self.adds = kill, loads, copies, adds  # copies: (of these places, these places)

    def loaded_after(self, loaded):
        new = (loaded & ~self.kill) | (self.kill if self.loads else 0)
        for sources, targets in self.copies:
            if loaded & sources:
                new |= targets
        return new

    def foreign_after(self, foreign):
        new = (foreign & ~self.kill) | (self.kill if self.loads or not self.copies else 0)
        for sources, targets in self.copies:
            common = foreign & sources
            if common == sources if self.adds else common or not sources:
                new |= targets
        return new


class Origins:
    """What lies ahead of each scalar load: values are followed forwards, block by block, until nothing is new."""

    def __init__(self, walks):
        self.code, self.meaning, self.places = walks.code, walks.meaning, Places()
        self.steps = [self.step(i) for i in self.code]
        self.ahead = {}  # scalar load: places that may hold something loaded, places that may hold a foreign address
        self.follow(walks.blocks)

    def step(self, i):
        """None for the many instructions that no scalar register comes out of."""
        name = i.mnemonic
        if name.startswith("v_writelane"):
            parts = operands(i)
            lane = self.places.mask([(parts[0], parts[2])])
            return Step(lane, False, [(self.places.mask(registers(parts[1])), lane)])
        if not ("s" in i.operands or "vcc" in i.operands) or NO_RESULT.match(name):
            return None
        parts = operands(i)
        targets = registers(parts[0])
        if not targets:
            return None
        kill = self.places.mask(targets)
        if self.meaning.is_scalar_load(i) or name.startswith("v_readfirstlane"):
            return Step(kill, True, [])
        if name.startswith("v_readlane"):
            return Step(kill, False, [(self.places.mask([(parts[1], parts[2])]), kill)])
        sources = [register for part in parts[1:] for register in registers(part)]
        if name == "s_mov_b64" and len(sources) == len(targets):  # each half for itself
            return Step(kill, False, [(self.places.mask([s]), self.places.mask([t])) for s, t in zip(sources, targets)])
        keeps = KEEPS_ITS_TARGET.match(name)
        return Step(0 if keeps else kill, False, [(self.places.mask(sources), kill)], bool(ADDS.match(name)) and not keeps)

    def arguments(self):
        """The registers in which the address of the arguments comes: nothing else is loaded from first."""
        first = next((at for at, i in enumerate(self.code) if self.meaning.is_scalar_load(i)), 0)
        if not self.meaning.is_scalar_load(self.code[first]):
            return 0
        pair = operands(self.code[first])[1]
        for i in reversed(self.code[:first]):
            if i.mnemonic == "s_mov_b64" and operands(i)[0] == pair:
                pair = operands(i)[1]
        return self.places.mask(registers(pair))

    def follow(self, blocks):
        entering = {block.start: (0, 0) for block in blocks}
        entering[blocks[0].start] = (0, ~self.arguments())
        at = {block.start: block for block in blocks}
        todo = dict.fromkeys(entering)  # in order, each once
        while todo:
            start = next(iter(todo))
            del todo[start]
            loaded, foreign = self.through(at[start], *entering[start])
            for after in at[start].next:
                joined = entering[after][0] | loaded, entering[after][1] | foreign
                if joined != entering[after]:
                    entering[after] = joined
                    todo[after] = None

    def through(self, block, loaded, foreign):
        for index in range(block.start, block.end):
            step = self.steps[index]
            if step:
                if self.meaning.is_scalar_load(self.code[index]):
                    self.ahead[index] = loaded, foreign
                loaded, foreign = step.loaded_after(loaded), step.foreign_after(foreign)
        return loaded, foreign

    def reads_loaded_address(self, at):
        base = self.places.mask(registers(operands(self.code[at])[1]))
        loaded, foreign = self.ahead[at]
        return loaded & base != 0 and foreign & base != 0


def scalar_load(walks, _):
    """M2, M6: behind an acquire, or a line that was waited for, only the kernel's arguments are read through the scalar cache."""
    m, origins = walks.meaning, Origins(walks)
    for at in sorted(walks.behind(walks.where(lambda i: m.is_acquire(i) or m.is_line_load(i)))):
        if m.is_scalar_load(walks.code[at]) and origins.reads_loaded_address(at):
            yield at, f"scalar load from an address that was loaded: {walks.code[at].text}"
