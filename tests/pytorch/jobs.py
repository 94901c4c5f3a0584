"""Starts torchrun for each side of each job, watches them, and ends what hangs. A side that failed is started again with the parts it
has left. No process outlives run()."""
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time

from plan import COMMON_ENV, find_part
from turns import HOLDING, LEFT, MOVING, STARTING, Turns

FOLDER = os.path.dirname(os.path.abspath(__file__))
# Seconds that a side may need to import torch and meet, to come from one part to the next, and to end.
LIMITS = {STARTING: 120, MOVING: 60}
MOST_STARTS = 6
SECONDS_TO_SAY = 1.0  # where a hanging rank is
EXCEPTION = re.compile(r"^[\w.]*(Error|Exception|Interrupt)\b|\bWARN\b|terminate called|Fatal Python error")


def descendants(pid):
    """Processes below pid, found by their parents: torchrun's workers are in sessions of their own."""
    children = {}
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                with open("/proc/%s/stat" % entry, encoding="ascii", errors="replace") as file:
                    parent = int(file.read().rsplit(")", 1)[1].split()[1])
                children.setdefault(parent, []).append(int(entry))
            except (OSError, IndexError, ValueError):
                pass  # it has ended meanwhile
    found, queue = [], [pid]
    while queue:
        below = children.get(queue.pop(), [])
        found += below
        queue += below
    return found


def end(process):
    """Kills it and all below it, and waits for it."""
    for pid in [process.pid] + descendants(process.pid):
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
    process.wait()


def catches(pid, number):
    """Whether a process has a handler of its own for a signal."""
    try:
        with open("/proc/%d/status" % pid, encoding="ascii", errors="replace") as file:
            masks = [line.split()[1] for line in file if line.startswith("SigCgt:")]
    except OSError:
        return False
    return bool(masks) and bool(int(masks[0], 16) >> (number - 1) & 1)


def ask_where(process):
    """Ranks write into the log where in Python they are."""
    for pid in descendants(process.pid):
        if catches(pid, signal.SIGUSR1):
            os.kill(pid, signal.SIGUSR1)
    try:
        process.wait(SECONDS_TO_SAY)
    except subprocess.TimeoutExpired:
        pass


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Side:
    """One library's part of a job."""

    def __init__(self, job, side, group, options):
        self.job, self.side, self.group, self.options = job, side, group, options
        self.name = "%s-%s" % (job.name, side)
        self.parts = [part.name for part in job.parts]
        self.log = os.path.join(options.out, self.name + ".log")
        self.process, self.starts = None, 0
        self.failed_last = False  # it reported that a part failed, which may be why it ends

    def command(self, turns):
        options = self.options
        worker = options.worker or [options.python, "-m", "torch.distributed.run", "--nproc-per-node", str(options.ranks),
                                    "--master-addr", "127.0.0.1", "--master-port", str(free_port()),
                                    os.path.join(FOLDER, "worker.py")]
        return worker + ["--turns", turns, "--name", self.name, "--backend", options.backend, "--library", options.lib or ""] + self.parts

    def environment(self):
        settings = {**self.options.settings, **COMMON_ENV, **self.job.env}
        preload = os.environ.get("LD_PRELOAD", "")
        if self.side == "ours" and self.options.lib:
            settings["LD_PRELOAD"] = " ".join(filter(None, [self.options.lib, preload]))
        return {**os.environ, **settings}

    def start(self, turns):
        self.starts += 1
        with open(self.log, "a" if self.starts > 1 else "w", encoding="utf-8") as file:
            command = self.command(turns.path)
            file.write("# %s\n" % " ".join(command))
            file.flush()
            self.process = subprocess.Popen(command, stdout=file, stderr=subprocess.STDOUT, env=self.environment(),
                                            start_new_session=True)
        turns.add(self.name, self.group, self.parts)

    def last_line(self):
        """The last exception or warning of the log, apart from torchrun's own report; else its last line."""
        with open(self.log, encoding="utf-8", errors="replace") as file:
            lines = [line.strip() for line in file]
        telling = [line for line in lines if EXCEPTION.search(line) and "ChildFailedError" not in line]
        return next((line[:160] for line in reversed(telling or lines) if line), "")


class Watch:
    """All sides from their start to their end. results: (job, part, side) to what came of it."""

    def __init__(self, options, sides, folder):
        self.options, self.sides, self.results = options, sides, {}
        self.deadline = time.monotonic() + options.budget
        self.turns = Turns(os.path.join(folder, "turns"), lambda: self.deadline - time.monotonic())

    def side(self, name):
        return next(side for side in self.sides if side.name == name)

    def note(self, side, part, result, detail, report=None):
        self.results[(side.job.name, part, side.side)] = {"result": result, "detail": detail, **(report or {})}
        print("%-8s %-12s %-12s %-6s %s" % (result, side.job.name, part, side.side, detail), flush=True)
        if part in side.parts:
            side.parts.remove(part)

    def take_reports(self):
        for name, report in self.turns.reports:
            side = self.side(name)
            side.failed_last = bool(report["problems"])
            if report.get("skipped"):
                self.note(side, report["part"], "skipped", report["skipped"])
            elif report["problems"]:
                self.note(side, report["part"], "FAIL", report["problems"][0], report)
            else:
                self.note(side, report["part"], "ok", "%d checks, %.1f s" % (report["checks"], report["seconds"]), report)
        self.turns.reports.clear()

    def hung(self, player):
        """A text when it is over a limit, else None."""
        if player.state == HOLDING:
            limit = find_part(player.name.rsplit("-", 1)[0], player.part).limit * self.options.patience
            what = "not done after %d s" % limit
        else:
            limit = LIMITS[player.state] * max(1, self.options.patience) if player.state in LIMITS else None
            what = "no sign of it for long (%s)" % player.state
        return what if limit is not None and player.seconds() > limit else None

    def lost(self, side, result, detail):
        """A side hung or died: its part has failed, the others are tried by a new start."""
        player = self.turns.player(side.name)
        culprit = player.part or (side.parts[0] if side.parts and not side.failed_last else None)
        if culprit:
            self.note(side, culprit, result, detail, {"seconds": player.seconds() if player.state == HOLDING else 0})
        elif not side.parts:
            self.results[(side.job.name, "end", side.side)] = {"result": result, "detail": detail}
        side.failed_last = False
        self.turns.leave(side.name)
        hopeless = self.results.get((side.job.name, "init", side.side), {}).get("result") != "ok"
        if side.parts and not hopeless and self.deadline > time.monotonic() and side.starts < MOST_STARTS:
            side.parts = ["init"] + side.parts  # a new process begins with its group
            side.start(self.turns)
            return
        for part in list(side.parts):
            self.note(side, part, "skipped", "its process could not be used")

    def look(self, side):
        player = self.turns.player(side.name)
        if player.state == LEFT:
            return
        status = side.process.poll()
        if status is not None:
            self.turns.poll(0)  # what it reported before
            self.take_reports()
            if status == 0 and not side.parts:
                self.turns.leave(side.name)
            else:
                end(side.process)
                self.lost(side, "FAIL", "exit %d: %s" % (status, side.last_line()))
        elif self.hung(player):
            why = self.hung(player)
            ask_where(side.process)
            end(side.process)
            self.lost(side, "LIMIT", why)

    def run(self):
        try:
            for side in self.sides:
                side.start(self.turns)
            while any(self.turns.player(side.name).state != LEFT for side in self.sides):
                self.turns.poll(0.05)
                self.take_reports()
                for side in self.sides:
                    self.look(side)
        finally:
            for side in self.sides:
                if side.process is not None:
                    end(side.process)
            self.turns.close()
        return self.results


def run(options, chosen):
    """Results of all parts of the jobs, both sides."""
    sides = []
    for group, job in enumerate(chosen):
        names = ["ours"] if job.alone or options.alone else ["ours", "theirs"]
        sides += [Side(job, name, group, options) for name in names]
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that `finally` ends what was started
    with tempfile.TemporaryDirectory() as folder:
        return Watch(options, sides, folder).run()
