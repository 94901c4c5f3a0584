"""The rule about scalar loads: their cache is coherent with nothing, so behind an acquire they may read only what cannot change.

Owns: following values from where they are loaded to the base of a scalar load. Allowed are the kernel's arguments (registers
that the dispatch set); not allowed are addresses that were themselves loaded, which is where payload, flags and credits lie.
"""

import re


NO_RESULT = re.compile(r"s_(cmp|bitcmp|cbranch|branch|waitcnt|wait_|barrier|store|nop|sleep|sendmsg$|delay)")
KEEPS_ITS_TARGET = re.compile(r"s_(cmov|addk|mulk|bitset)")  # what was there counts for what comes out
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
    """What one instruction does to the set of places that hold something loaded."""

    def __init__(self, kill, always, copies):
        self.kill, self.always, self.copies = kill, always, copies  # copies: (any of these places, these places)

    def after(self, loaded):
        new = (loaded & ~self.kill) | self.always
        for sources, targets in self.copies:
            if loaded & sources:
                new |= targets
        return new


class Origins:
    """Which places may hold something loaded, ahead of each scalar load: values are followed forwards, block by block, until
    nothing is new."""

    def __init__(self, walks):
        self.code, self.meaning, self.places = walks.code, walks.meaning, Places()
        self.steps = [self.step(i) for i in self.code]
        self.ahead = {}  # scalar load: places that may hold something loaded
        self.follow(walks.blocks)

    def step(self, i):
        """None for the many instructions that no scalar register comes out of."""
        name = i.mnemonic
        if name.startswith("v_writelane"):
            parts = operands(i)
            lane = self.places.mask([(parts[0], parts[2])])
            return Step(lane, 0, [(self.places.mask(registers(parts[1])), lane)])
        if not ("s" in i.operands or "vcc" in i.operands) or NO_RESULT.match(name):
            return None
        parts = operands(i)
        targets = registers(parts[0])
        if not targets:
            return None
        kill = self.places.mask(targets)
        if self.meaning.is_scalar_load(i) or name.startswith("v_readfirstlane"):
            return Step(kill, kill, [])
        if name.startswith("v_readlane"):
            return Step(kill, 0, [(self.places.mask([(parts[1], parts[2])]), kill)])
        sources = [register for part in parts[1:] for register in registers(part)]
        if name == "s_mov_b64" and len(sources) == len(targets):  # each half for itself
            return Step(kill, 0, [(self.places.mask([s]), self.places.mask([t])) for s, t in zip(sources, targets)])
        return Step(0 if KEEPS_ITS_TARGET.match(name) else kill, 0, [(self.places.mask(sources), kill)])

    def follow(self, blocks):
        entering = {block.start: 0 for block in blocks}
        at = {block.start: block for block in blocks}
        todo = dict.fromkeys(entering)  # in order, each once
        while todo:
            start = next(iter(todo))
            del todo[start]
            leaving = self.through(at[start], entering[start])
            for after in at[start].next:
                if leaving & ~entering[after]:
                    entering[after] |= leaving
                    todo[after] = None

    def through(self, block, loaded):
        for index in range(block.start, block.end):
            step = self.steps[index]
            if step:
                if self.meaning.is_scalar_load(self.code[index]):
                    self.ahead[index] = loaded
                loaded = step.after(loaded)
        return loaded

    def reads_loaded_address(self, at):
        return self.ahead[at] & self.places.mask(registers(operands(self.code[at])[1])) != 0


def scalar_load(walks, _):
    """M2, M6: behind an acquire nothing but the kernel's arguments is read through the scalar cache."""
    m, origins = walks.meaning, Origins(walks)
    for at in sorted(walks.behind(walks.where(m.is_acquire))):
        if m.is_scalar_load(walks.code[at]) and origins.reads_loaded_address(at):
            yield at, f"scalar load from an address that was loaded: {walks.code[at].text}"
