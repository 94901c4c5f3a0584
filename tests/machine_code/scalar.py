"""The rule about scalar loads: their cache is coherent with nothing, so behind an acquire they may read only what cannot change.

Owns: following the base of a scalar load back to where it comes from. Allowed are the kernel's arguments (registers that the
dispatch set); not allowed are addresses that were themselves loaded, which is where payload, flags and credits lie.
"""

import re


NO_RESULT = re.compile(r"s_(cmp|bitcmp|cbranch|branch|waitcnt|wait_|barrier|store|nop|sleep|sendmsg$|delay)")


def pair(operand):
    """Scalar registers that an operand names: s7, s[4:5], vcc."""
    match = re.match(r"s\[(\d+):(\d+)\]$", operand)
    if match:
        return list(range(int(match.group(1)), int(match.group(2)) + 1))
    match = re.match(r"s(\d+)$", operand)
    return [int(match.group(1))] if match else []


def operands(i):
    return [part.split()[0] for part in i.operands.split(",") if part.strip()]


def lane(i):
    """The vector register and lane that v_writelane fills and v_readlane reads."""
    parts = operands(i)
    return (parts[0], parts[2]) if i.mnemonic.startswith("v_writelane") else (parts[1], parts[2])


class Origins:
    def __init__(self, walks):
        self.walks, self.code = walks, walks.code

    def defines(self, i, register):
        if "defines" not in i.answers:
            i.answers["defines"] = [] if NO_RESULT.match(i.mnemonic) else pair((operands(i) or [""])[0])
        return register in i.answers["defines"]

    def is_loaded(self, at, register, seen=None):
        """Whether `register`, as `at` finds it, may come from memory other than the kernel's arguments."""
        seen = set() if seen is None else seen
        if (at, register) in seen:
            return False
        seen.add((at, register))
        for definition in self.walks.reach(at, lambda i: self.defines(i, register), backward=True):
            if definition >= 0 and self.defines(self.code[definition], register):
                if self.definition_is_loaded(definition, register, seen):
                    return True
        return False

    def definition_is_loaded(self, definition, register, seen):
        i = self.code[definition]
        if self.walks.meaning.is_scalar_load(i):
            return True
        if i.mnemonic.startswith("v_readlane"):
            return self.spilled_is_loaded(definition, seen)
        if i.mnemonic.startswith("v_readfirstlane"):
            return True
        sources = [r for part in operands(i)[1:] for r in self.matching(i, part, register)]
        return any(self.is_loaded(definition, source, seen) for source in sources)

    def matching(self, i, part, register):
        """Of a 64-bit move the half that lands in `register`; of anything else all sources."""
        sources = pair(part)
        target = pair(operands(i)[0])
        if i.mnemonic == "s_mov_b64" and len(sources) == len(target) == 2:
            return [sources[target.index(register)]]
        return sources

    def spilled_is_loaded(self, at, seen):
        place = lane(self.code[at])
        writes = lambda i: i.mnemonic.startswith("v_writelane") and lane(i) == place
        for write in self.walks.reach(at, writes, backward=True):
            if write >= 0 and writes(self.code[write]):
                for source in pair(operands(self.code[write])[1]):
                    if self.is_loaded(write, source, seen):
                        return True
        return False


def scalar_load(walks, _):
    """M2, M6: behind an acquire nothing but the kernel's arguments is read through the scalar cache."""
    m, origins = walks.meaning, Origins(walks)
    behind = set()
    for acquire in walks.where(m.is_acquire):
        if acquire not in behind:
            behind |= walks.reach(acquire, lambda i: False)
    for at in sorted(behind):
        i = walks.code[at]
        if m.is_scalar_load(i) and any(origins.is_loaded(at, r) for r in pair(operands(i)[1])):
            yield at, f"scalar load from an address that was loaded: {i.text}"
