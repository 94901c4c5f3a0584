"""Code objects as text: kernels, their instructions as a flow graph, and the numbers of their metadata.

Owns: running llvm-objdump and llvm-readelf and reading what they print. Does not own: what an instruction means (meaning.py)
nor what must hold (rules.py).
"""

import re
import subprocess
from dataclasses import dataclass, field


@dataclass
class Instruction:
    address: int
    mnemonic: str
    operands: str
    next: list = field(default_factory=list)  # indices of what may run after it
    before: list = field(default_factory=list)
    answers: dict = field(default_factory=dict)  # meaning.py's

    @property
    def text(self):
        return f"{self.mnemonic} {self.operands}".strip()


@dataclass
class Kernel:
    name: str
    code: list
    numbers: dict  # .vgpr_count and so on
    argument_kinds: list  # hidden_... among them
    architecture: str


def run(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


LABEL = re.compile(r"^([0-9a-f]+) <(.*)>:$")
LINE = re.compile(r"^\s+(\w+)\s*(.*?)\s*//\s*([0-9A-F]+):")


def functions(objdump, path):
    """Instructions by symbol, in the order of addresses."""
    found = {}
    for line in run(objdump, "-d", path).splitlines():
        label = LABEL.match(line)
        if label:
            code = found.setdefault(label.group(2), [])
            continue
        match = LINE.match(line)
        if match:
            code.append(Instruction(int(match.group(3), 16), match.group(1), match.group(2)))
    return found


def metadata(readelf, path):
    """One dictionary a kernel, and the architecture."""
    kernels, architecture = [], ""
    for line in run(readelf, "--notes", path).splitlines():
        target = re.match(r"\s*amdhsa\.target:\s+'?\S*--(gfx\w+)", line)
        if target:
            architecture = target.group(1)
        if re.match(r"\s{2}- \.\w+:", line):  # the first key of a kernel
            kernels.append({"kinds": []})
        pair = re.match(r"\s+(?:- )?(\.\w+):\s+(\S+)", line)
        if not pair or not kernels:
            continue
        key, value = pair.groups()
        if key == ".value_kind":
            kernels[-1]["kinds"].append(value)
        elif key != ".name":  # arguments have names too; .symbol is the kernel's
            kernels[-1][key] = value
    return kernels, architecture


def link(code):
    """Fills in `next` and `before`. Branch distances count words of four bytes behind the branch."""
    at = {instruction.address: index for index, instruction in enumerate(code)}
    for index, instruction in enumerate(code):
        name = instruction.mnemonic
        if name == "s_branch" or name.startswith("s_cbranch"):
            distance = int(instruction.operands.split()[0])
            distance -= (distance & 0x8000) * 2
            instruction.next.append(at[instruction.address + 4 + 4 * distance])
        if name not in ("s_branch", "s_endpgm") and index + 1 < len(code):
            instruction.next.append(index + 1)
    for index, instruction in enumerate(code):
        for after in instruction.next:
            code[after].before.append(index)


def read_kernels(objdump, readelf, path):
    described, architecture = metadata(readelf, path)
    code = functions(objdump, path)
    kernels = []
    for numbers in described:
        symbol = numbers[".symbol"].strip("'").removesuffix(".kd")
        body = code[symbol]
        while body and body[-1].mnemonic in ("s_nop", "s_code_end"):  # filling behind the last one
            body.pop()
        link(body)
        kernels.append(Kernel(symbol, body, numbers, numbers["kinds"], architecture))
    return kernels
