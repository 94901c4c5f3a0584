"""What may kill a mutation, one class a column of the table. A killer says for a mutation: a text that tells what it found, ""
when the mutation survives, or None when it does not look at such files."""

import os
import re
import shutil
import signal
import subprocess
import sys
import time

from builds import Build, BuildError, object_of_kernel, objects_of

LEAST_LIMIT_S = 40  # of one test; else several times what it takes without a mutation
SLOWER = 4
SEED = "20251"


class HostTests:
    """The named tests, on the host platform."""

    builds = True  # from a mutated copy of src
    column = "host"
    flags = ["-O1"]  # of what is compiled anew: a mutation is compiled more often than it runs
    env = {}
    prefix = []

    def __init__(self, root, folder):
        self.build = Build(root, "host", folder)
        self.took = {}

    def looks_at(self, mutation):
        return mutation.of_host

    def prepare(self, subjects, jobs, work):
        """Builds what is not mutated; its tests must pass, or nothing could be told from those that fail."""
        tests = [test for subject in subjects for test in tests_of(subject) if self.has(test)]
        programs = sorted({test["program"] for test in tests})
        self.build.make([target_of(program) for program in programs], jobs)
        self.make_parts(subjects, jobs)
        for program in programs:
            self.link(program, {}, os.path.join(work, "%s-%s" % (self.column, program)))
        for test in tests:
            if str(test) in self.took:
                continue
            start = time.monotonic()
            found = self.run(test, os.path.join(work, "%s-%s" % (self.column, test["program"])), 600)
            self.took[str(test)] = time.monotonic() - start
            if found:
                sys.exit("%s, without a mutation: %s" % (self.column, found))

    def make_parts(self, subjects, jobs):
        pass

    def compile(self, output, tree, result):
        self.build.compile(output, tree, result, self.flags)

    def link(self, program, changed, result):
        self.build.link(target_of(program), changed, result)

    def has(self, test):
        return test.get("in", self.column) == self.column

    def kill(self, mutation, tree):
        programs = {}
        for test in [test for test in mutation.tests + mutation.subject.tests if self.has(test)]:
            objects = objects_of(mutation, kernels_of(test, mutation.subject))
            program = programs.setdefault(str((test["program"], objects)), os.path.join(tree, "%s%d" % (self.column, len(programs))))
            if not os.path.exists(program):
                self.link(test["program"], {each: self.changed(each, tree) for each in objects}, program)
            found = self.run(test, program, max(LEAST_LIMIT_S, SLOWER * self.took[str(test)]))
            if found:
                return found
        return ""

    def changed(self, output, tree):
        result = os.path.join(tree, self.column, output)
        if not os.path.exists(result):
            os.makedirs(os.path.dirname(result), exist_ok=True)
            self.compile(output, tree, result)
        return result

    def run(self, test, program, limit):
        command = [*self.prefix, program, "--gtest_filter=" + test["filter"], "--gtest_fail_fast"]
        environment = {**os.environ, "WEFT_TEST_SEED": SEED, "WEFT_TIMEOUT": "20", **self.env, **test.get("env", {})}
        with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              errors="replace", start_new_session=True) as process:
            try:
                output, _ = process.communicate(timeout=limit)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                output, _ = process.communicate()
                return "%s (stuck)" % last_started(output)
        if process.returncode == 0:
            return "" if "[  PASSED  ]" in output else "no test of " + test["filter"]
        return "%s (%s)" % (last_started(output), how_it_ended(output, process.returncode))


class TsanTests(HostTests):
    """The same with four lanes a block and the kernels that are mutated instrumented by ThreadSanitizer. Nothing else is, which
    saves most of a build: host code orders kernels by streams, of which the runtime of the host platform tells
    ThreadSanitizer, and by locks, which it sees all the same."""

    column = "tsan"
    flags = []
    env = {"TSAN_OPTIONS": "halt_on_error=1:report_thread_leaks=0:suppressions=%s/tsan.supp" % os.path.dirname(os.path.abspath(__file__))}
    # ThreadSanitizer of gcc 12 does not start under every address layout.
    prefix = ["setarch", "-R"] if shutil.which("setarch") else []
    runtime = "src/platform/host/libhiphost.so.1"

    def __init__(self, root, plain_folder, folder):
        super().__init__(root, plain_folder)
        self.instrumented = Build(root, "host-tsan", folder)

    def looks_at(self, mutation):
        return mutation.of_host and mutation.file.endswith(".h")

    def make_parts(self, subjects, jobs):
        names = {name for subject in subjects for test in tests_of(subject) for name in kernels_of(test, subject)}
        outputs = [self.runtime, *sorted(object_of_kernel(name) for name in names)]
        self.instrumented.make(outputs, jobs)
        self.parts = {each: os.path.join(self.instrumented.folder, each) for each in outputs}
        rpath = "-Wl,-rpath,%s/" + os.path.dirname(self.runtime)
        self.parts[rpath % self.build.folder] = rpath % self.instrumented.folder

    def compile(self, output, tree, result):
        self.instrumented.compile(output, tree, result, self.flags)

    def link(self, program, changed, result):
        self.build.link(target_of(program), {**self.parts, **changed}, result, ["-fsanitize=thread"])


def tests_of(subject):
    return [*subject.tests, *(test for mutation in subject.mutations for test in mutation.tests)]


def kernels_of(test, subject):
    """Those that a test runs, and that are compiled anew when a device header changes."""
    return test.get("kernels", subject.kernels)


def target_of(program):
    folder = "api" if program.startswith("api_") else "net" if program.startswith("net_") else "ranks"
    return "tests/%s/%s" % (folder, program)


def last_started(output):
    names = re.findall(r"^\[ RUN      \] (\S+)", output, re.MULTILINE)
    return names[-1] if names else "no test began"


def how_it_ended(output, status):
    if "ThreadSanitizer: data race" in output:
        return "race"
    if "did not end" in output or "WEFT_TIMEOUT" in output:
        return "gave up waiting"
    return "crash" if status < 0 else "fails"


class MachineCode:
    """tests/machine_code/check, on the mutated code object of one architecture."""

    builds = True

    def __init__(self, root, folder):
        self.check = os.path.join(root, "tests/machine_code/check")
        self.source = os.path.join(root, "tests/mutations/kernels.cc")
        self.build = Build(root, "amd", folder)

    def looks_at(self, mutation):
        return mutation.of_amd

    def prepare(self, _subjects, jobs, _work):
        self.build.make([], jobs)

    def kill(self, mutation, tree):
        rules = set()
        for kernel in ("Float32", "pairwise"):
            read = mutation.subject.read if kernel == "Float32" else []
            if not read and kernel not in mutation.subject.kernels:
                continue
            result = os.path.join(tree, "%s.%s.elf" % (kernel, mutation.architecture))
            output = "src/kernels/%s.%s.elf" % (kernel, mutation.architecture)
            self.build.compile(output, tree, result, ["-DWEFT_MUTATED=" + ",".join(read)], self.source if read else None)
            done = subprocess.run([sys.executable, "-B", self.check, result], capture_output=True, text=True, check=False)
            found = set(re.findall(r"^gfx\S+ \S+ (\w+): ", done.stdout, re.MULTILINE))
            if done.returncode != 0 and not found:
                raise BuildError("machine code of %s: %s" % (mutation.name, (done.stdout + done.stderr)[-1000:]))
            rules |= found
        return ", ".join(sorted(rules))


class Models:
    """The same fault in a model: SPIN finds it. A model does not read the code, so this says that the rule is needed."""

    builds = False

    def __init__(self, root):
        self.run_model = os.path.join(root, "tests/models/run.sh")
        self.models = os.path.join(root, "tests/models")

    def looks_at(self, mutation):
        return bool(mutation.model)

    def prepare(self, _subjects, _jobs, _work):
        if not shutil.which("spin"):
            sys.exit("spin is not installed (scripts/install-deps)")

    def kill(self, mutation, tree):
        name, switch = mutation.model.split()
        done = subprocess.run([self.run_model, os.path.join(self.models, name + ".pml"), os.path.join(tree, "model"), switch + "( |$)"],
                              capture_output=True, text=True, check=False)
        return "%s, %s" % (name, switch) if done.returncode == 0 else ""


class Gpus:
    """What somebody saw on GPUs and wrote down (README.md)."""

    builds = False

    def looks_at(self, mutation):
        return mutation.of_nvidia

    def prepare(self, _subjects, _jobs, _work):
        pass

    def kill(self, mutation, _tree):
        return mutation.gpu.get("seen", "not run")

