"""Programs with one change in them, out of a build tree that has none.

Only the objects that the change is in are compiled, from a copy of src; the rest is that of the build tree, which stays as it
is. Owns: the commands of a build tree and what they are turned into. Does not own: what is run then (killers.py).
"""

import os
import re
import shlex
import shutil
import subprocess

ARCHIVE = "src/libweft_core.a"
OPTIONS = ["-DCMAKE_UNITY_BUILD=OFF",     # one object a source
           "-DWEFT_HOST_INLINE_ALL=ON"]   # a changed function is not shared with an object that is not compiled anew


class BuildError(Exception):
    pass


def run_tool(command, cwd):
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise BuildError("%s\n%s" % (" ".join(command)[:300], (done.stdout + done.stderr)[-2000:]))


class Build:
    """A build tree of one preset."""

    def __init__(self, root, preset, folder):
        self.root, self.preset, self.folder = root, preset, folder
        self.known = {}

    def make(self, targets, jobs):
        if not os.path.exists(os.path.join(self.folder, "build.ninja")):
            launcher = ["-DCMAKE_CXX_COMPILER_LAUNCHER=ccache"] if shutil.which("ccache") else []
            run_tool(["cmake", "--preset", self.preset, "-B", self.folder, *OPTIONS, *launcher], self.root)
        with open(os.path.join(self.folder, "CMakeCache.txt"), encoding="utf-8") as file:
            self.root = re.search(r"^CMAKE_HOME_DIRECTORY:INTERNAL=(.*)$", file.read(), re.MULTILINE).group(1)
        if targets:
            run_tool(["ninja", "-j", str(jobs), *targets], self.folder)

    def commands(self, target):
        """Every command that `target` needs, by its output."""
        if target not in self.known:
            done = subprocess.run(["ninja", "-t", "commands", target], cwd=self.folder, capture_output=True, text=True, check=True)
            lines = done.stdout.splitlines()
            by_output = {output_of(line): line for line in lines}
            by_output[target] = lines[-1]
            self.known[target] = by_output
        return self.known[target]

    def compile(self, output, tree, result, flags=(), source=None):
        """The command for `output` with the sources of `tree`, or with `source`; makes `result`."""
        words = shlex.split(part_with(self.commands(output)[output], " -c "))
        if source is not None:
            words[words.index("-c") + 1] = source
        words = [word.replace(os.path.join(self.root, "src"), os.path.join(tree, "src")) for word in words]
        for option in ("-MF", "-MT"):
            if option in words:
                del words[words.index(option):words.index(option) + 2]
        if "-MD" in words:
            words.remove("-MD")
        words[words.index("-o") + 1] = result
        run_tool([*words, *flags, "-Wno-error"], self.folder)

    def library_objects(self, target):
        return [word for word in shlex.split(self.commands(target)[ARCHIVE]) if word.endswith(".o")]

    def link(self, target, changed, result, flags=()):
        """`target` with the files `changed` {output: file} in the place of its own."""
        objects = self.library_objects(target)
        archive = result + ".a"
        if os.path.exists(archive):
            os.remove(archive)
        run_tool(["ar", "qcsTP", archive, *(os.path.join(self.folder, changed.get(each, each)) for each in objects)], self.folder)
        words = shlex.split(part_with(self.commands(target)[target], " -o "))
        words = [archive if word == ARCHIVE else changed.get(word, word) for word in words]
        words[words.index("-o") + 1] = result
        run_tool([*words, *flags], self.folder)


def part_with(line, option):
    return next(part for part in line.split("&&") if option in part)


def output_of(line):
    archive = re.search(r"ar qc (\S+)", line)
    found = archive or re.search(r" -o (\S+)", line)
    return found.group(1) if found else line


def object_of_kernel(name):
    source = {"pairwise": "device/pairwise.cc"}.get(name, "device/instance.cc")
    return "src/CMakeFiles/weft_kernels_%s.dir/%s.o" % (name, source)


def objects_of(mutation, kernels):
    """What to compile anew: kernels for a header of the device side, the file itself else."""
    if mutation.file.endswith(".cc"):
        return ["src/CMakeFiles/weft_core.dir/%s.o" % os.path.relpath(mutation.file, "src")]
    return [object_of_kernel(name) for name in kernels]


def copy_sources(root, tree):
    shutil.rmtree(tree, ignore_errors=True)
    shutil.copytree(os.path.join(root, "src"), os.path.join(tree, "src"))
