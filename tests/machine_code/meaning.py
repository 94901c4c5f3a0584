"""What an instruction does to memory order, for each architecture.

Owns: the names of instructions. The table in docs/memory-model.md (drain, release, acquire) is the source. Does not own: what
must hold (rules.py).
"""

import functools
import re


LINE_BYTES = 16  # of load_line and store_line (device_platform.h)


def remembered(predicate):
    """Walks ask the same of an instruction again and again."""

    @functools.wraps(predicate)
    def ask(self, i):
        answers = i.answers
        if predicate.__name__ not in answers:
            answers[predicate.__name__] = predicate(self, i)
        return answers[predicate.__name__]

    return ask


class Meaning:
    def __init__(self, architecture):
        self.gfx9 = architecture.startswith("gfx9")
        self.gfx12 = architecture.startswith("gfx12")
        self.architecture = architecture
        # sc0 and sc1 came with gfx940.
        self.has_scope_bits = architecture[:5] in ("gfx94", "gfx95")
        # Elsewhere nothing in the machine code tells a release from other waits.
        self.has_write_back = self.gfx9 or self.gfx12
        # gfx11 acquires at device scope by the same instructions.
        self.tells_system_acquire = self.gfx9 or self.gfx12

    # ---- Accesses ----

    @remembered
    def is_vector_load(self, i):
        return bool(re.match(r"(global|flat|buffer|scratch)_load", i.mnemonic)) and "lds" not in i.operands.split()

    @remembered
    def is_vector_store(self, i):
        return bool(re.match(r"(global|flat|buffer|scratch)_store", i.mnemonic))

    @remembered
    def is_vector_write(self, i):
        return self.is_vector_store(i) or self.is_vector_atomic(i)

    @remembered
    def is_vector_atomic(self, i):
        return bool(re.match(r"(global|flat|buffer)_atomic", i.mnemonic))

    @remembered
    def is_scalar_load(self, i):
        return bool(re.match(r"s_(buffer_)?load", i.mnemonic))

    @remembered
    def is_scratch(self, i):
        return i.mnemonic.startswith("scratch_")

    @remembered
    def bytes_of(self, i):
        match = re.search(r"(dwordx?|[bu])(\d*)$", i.mnemonic.replace("_e64", ""))
        if not match:
            return 1
        unit, count = match.groups()
        return 4 * int(count or 1) if unit.startswith("dword") else int(count or 8) // 8

    @remembered
    def is_system_load(self, i):
        """A load that no cache of this device answers. (gfx90a and gfx11 do not tell system from agent scope.)"""
        if not self.is_vector_load(i):
            return False
        words = i.operands.split()
        if self.gfx12:
            return "scope:SCOPE_SYS" in words
        return {"sc0", "sc1"} <= set(words) if self.has_scope_bits else "glc" in words

    @remembered
    def is_system_store(self, i):
        """False where stores do not carry a scope: gfx90a and gfx11 write through."""
        if not self.is_vector_store(i):
            return False
        words = i.operands.split()
        if self.gfx12:
            return "scope:SCOPE_SYS" in words
        return self.has_scope_bits and {"sc0", "sc1"} <= set(words)

    @remembered
    def is_line_load(self, i):
        return self.is_system_load(i) and self.bytes_of(i) == LINE_BYTES

    @remembered
    def is_line_store(self, i):
        """gfx11 marks a volatile store by dlc; gfx90a tells it from no other, as all write through."""
        if not self.is_vector_store(i) or self.bytes_of(i) != LINE_BYTES:
            return False
        if self.stores_carry_scope():
            return self.is_system_store(i)
        return self.gfx9 or "dlc" in i.operands.split()

    def stores_carry_scope(self):
        return self.gfx12 or self.has_scope_bits

    # ---- Order ----

    @remembered
    def is_barrier(self, i):
        """gfx12 splits it; the signal is where earlier work must be done."""
        return i.mnemonic in ("s_barrier", "s_barrier_signal")

    @remembered
    def waits(self, i):
        """Which of "loads", "stores" are complete behind it."""
        name, operands = i.mnemonic, i.operands
        if name == "s_waitcnt" and "vmcnt(0)" in operands:
            return {"loads", "stores"} if self.gfx9 else {"loads"}
        if name == "s_waitcnt_vscnt" and re.match(r"null, (0x)?0$", operands):
            return {"stores"}
        match = re.match(r"s_wait_(load|store)cnt(_dscnt)?$", name)
        if match:
            count = int(operands, 0) >> (8 if match.group(2) else 0)
            return {match.group(1) + "s"} if count == 0 else set()
        return set()

    @remembered
    def is_write_back(self, i):
        """Of a release at system scope."""
        if self.has_scope_bits:
            return i.mnemonic == "buffer_wbl2" and "sc0 sc1" in i.operands
        return i.mnemonic == "buffer_wbl2" or (i.mnemonic == "global_wb" and "SCOPE_SYS" in i.operands)

    @remembered
    def is_acquire(self, i):
        """Of an acquire at system scope: its first instruction."""
        if self.has_scope_bits:
            return i.mnemonic == "buffer_inv" and "sc0 sc1" in i.operands
        if self.gfx12:
            return i.mnemonic == "global_inv" and "SCOPE_SYS" in i.operands
        return i.mnemonic == ("buffer_invl2" if self.gfx9 else "buffer_gl1_inv")

    @remembered
    def is_any_write_back(self, i):
        return i.mnemonic == "buffer_wbl2" or (i.mnemonic == "global_wb" and not i.operands.endswith("SCOPE_SE"))

    @remembered
    def is_device_acquire(self, i):
        """Of an acquire at device scope or wider."""
        if self.has_scope_bits:
            return i.mnemonic == "buffer_inv" and "sc1" in i.operands
        if self.gfx12:
            return i.mnemonic == "global_inv" and not i.operands.endswith("SCOPE_SE")
        return i.mnemonic == ("buffer_wbinvl1_vol" if self.gfx9 else "buffer_gl1_inv")

    @remembered
    def first_level_invalidate(self, i):
        return i.mnemonic in ("buffer_gl0_inv", "buffer_wbinvl1_vol", "global_inv", "buffer_inv")
