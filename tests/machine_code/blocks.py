"""Basic blocks: runs of instructions that are entered at their first and left at their last. Kernels have many thousand
instructions and some hundred blocks, so what asks about paths in general asks blocks."""

from dataclasses import dataclass


@dataclass
class BasicBlock:
    start: int  # index of its first instruction
    end: int  # behind its last
    next: list  # starts of the blocks that may run after it


def basic_blocks(code):
    starts = {0}
    for index, i in enumerate(code):
        if i.next != [index + 1]:
            starts.update(i.next)
            starts.add(index + 1)
    starts = sorted(start for start in starts if start < len(code))
    return [BasicBlock(start, end, code[end - 1].next) for start, end in zip(starts, starts[1:] + [len(code)])]


def finishing_order(after):
    """The nodes of a graph in the order in which a depth-first walk leaves them for good."""
    order, met = [], set()
    for root in after:
        path = [] if root in met else [(root, iter(after[root]))]
        met.add(root)
        while path:
            node, following = path[-1]
            new = next((n for n in following if n not in met), None)
            if new is None:
                order.append(node)
                path.pop()
            else:
                met.add(new)
                path.append((new, iter(after[new])))
    return order


def instructions_in_loops(blocks):
    """Indices of the instructions that may run again after themselves: their block follows itself, or it and another can reach
    each other (Kosaraju's strongly connected components)."""
    after = {block.start: block.next for block in blocks}
    before = {start: [] for start in after}
    for start, following in after.items():
        for block in following:
            before[block].append(start)
    loops = {start for start in after if start in after[start]}
    assigned = set()
    for root in reversed(finishing_order(after)):
        component, todo = set(), [root]
        while todo:
            block = todo.pop()
            if block not in assigned:
                assigned.add(block)
                component.add(block)
                todo.extend(before[block])
        if len(component) > 1:
            loops |= component
    return {index for block in blocks if block.start in loops for index in range(block.start, block.end)}
