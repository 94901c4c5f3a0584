"""Medians, intervals and lines of tables: what is made of the blocks that two sides timed in turns. Pure functions."""
import math

CONFIDENCE = 0.95
SLOWER = 0.97  # a speed below, with an interval that excludes 1, is called slower


def median(samples):
    ordered = sorted(samples)
    middle = len(ordered) // 2
    return ordered[middle] if len(ordered) % 2 else (ordered[middle - 1] + ordered[middle]) / 2


def median_interval(samples):
    """Of order statistics, without an assumption on the distribution: low, high, coverage. With fewer than 6 samples their whole
    range, which covers less than 95 %."""
    ordered = sorted(samples)
    count = len(ordered)

    def coverage(trim):  # of the interval that leaves out `trim` samples on either side
        return 1 - 2 * sum(math.comb(count, k) for k in range(trim + 1)) / 2**count

    trim = 0
    while 2 * (trim + 1) < count and coverage(trim + 1) >= CONFIDENCE:
        trim += 1
    return ordered[trim], ordered[count - 1 - trim], coverage(trim)


def compare(ours, theirs):
    """Of blocks timed in turns: block i of ours with block i of theirs. speed: theirs / ours, above 1 ours is faster."""
    ratios = [their / our for our, their in zip(ours, theirs)]
    low, high, coverage = median_interval(ratios)
    speed = median(ratios)
    return {"ours": median(ours), "theirs": median(theirs), "speed": speed, "low": low, "high": high, "coverage": coverage,
            "blocks": len(ratios), "slower": speed < SLOWER and high < 1}


def disagreements(name, ours, theirs):
    """ours, theirs: {"values": [...], "bound": relative}. Texts for what differs by more than the bound."""
    if len(ours["values"]) != len(theirs["values"]):
        return ["%s: %d values, the other side has %d" % (name, len(ours["values"]), len(theirs["values"]))]
    texts = []
    for i, (our, their) in enumerate(zip(ours["values"], theirs["values"])):
        # A comparison that a NaN fails, whichever side has it.
        if not abs(our - their) <= ours["bound"] * abs(their):
            texts.append("%s: value %d is %.9g, with the other library %.9g (bound %.2g)" % (name, i, our, their, ours["bound"]))
    return texts


def difference(ours, theirs):
    """The largest relative difference, as text."""
    most = max((abs(a - b) / abs(b) if b else abs(a - b) for a, b in zip(ours["values"], theirs["values"])), default=0.0)
    return "identical" if most == 0 else "at most %.1e apart" % most


def time_lines(name, ours, theirs):
    """Times of a part as a table: one side's alone, or speed and interval too. Each: {label: {"us": [of blocks], "tokens": n}}."""
    lines = ["", name]
    if not theirs:
        return lines + ["  %-34s %10.1f us%s" % (label, median(one["us"]), rate(one)) for label, one in ours.items()]
    lines.append("  %-34s %10s %10s  %6s  %-16s %6s" % ("", "ours us", "NCCL us", "speed", "95 %", "blocks"))
    for label in ours:
        if label not in theirs:
            continue
        result = compare(ours[label]["us"], theirs[label]["us"])
        tokens = rate(ours[label]) + (rate(theirs[label]).replace("tokens/s", "NCCL") if rate(ours[label]) else "")
        lines.append("  %-34s %10.1f %10.1f  %6.3f  [%.3f, %.3f]%s %4d%s%s"
                     % (label, result["ours"], result["theirs"], result["speed"], result["low"], result["high"],
                        " " if result["coverage"] >= CONFIDENCE else "*", result["blocks"], "  slower" if result["slower"] else "",
                        tokens))
        if result["coverage"] < CONFIDENCE:
            lines[1] = name + " (*: too few blocks for 95 %, their range)"
    return lines


def rate(one):
    return ", %.0f tokens/s" % (one["tokens"] / median(one["us"]) * 1e6) if one.get("tokens") else ""


def value_lines(name, ours, theirs):
    """Plain values of both sides, side by side."""
    lines = ["", name, "  %-46s %14s %14s" % ("", "ours", "NCCL" if theirs else "")]
    return lines + ["  %-46s %14s %14s" % (label, text(value), text(theirs.get(label, ""))) for label, value in ours.items()]


def text(value):
    return "%.2f" % value if isinstance(value, float) else str(value)
