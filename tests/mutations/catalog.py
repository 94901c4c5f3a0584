"""The mutations and the tests of each subject, as the .toml files of this folder have them (README.md says what each key is)."""

import fnmatch
import glob
import hashlib
import os
import re
import tomllib

KILLERS = ("host", "tsan", "machine", "model", "gpu")
KEYS = {"name", "file", "old", "new", "breaks", "killed_by", "none", "model", "tests", "architecture", "gpu"}


class Subject:
    def __init__(self, path):
        with open(path, "rb") as file:
            text = tomllib.load(file)
        self.title = text["title"]
        self.kernels = text["kernels"]  # names of what is compiled anew when a device header changes
        self.read = text.get("read", [])  # kernels of kernels.cc whose machine code is read
        self.tests = text.get("tests", [])
        self.mutations = [Mutation(self, entry) for entry in text["mutation"]]


class Mutation:
    def __init__(self, subject, entry):
        unknown = set(entry) - KEYS
        if unknown:
            raise ValueError("%s: no such keys: %s" % (entry.get("name"), ", ".join(sorted(unknown))))
        self.subject = subject
        self.name, self.file, self.breaks = entry["name"], entry["file"], entry["breaks"]
        self.old, self.new = entry["old"], entry["new"]
        self.killed_by = entry["killed_by"]
        self.none = entry.get("none", "")      # why nothing kills it
        self.model = entry.get("model", "")    # "name SWITCH": the same fault in tests/models/name.pml
        self.tests = entry.get("tests", [])    # tried before those of the subject
        self.architecture = entry.get("architecture", "gfx942")
        self.gpu = entry.get("gpu", {})        # "env" for the program that runs it there, "seen" what came of it
        self.digest = hashlib.sha256(repr((self.file, self.old, self.new, self.gpu)).encode()).hexdigest()[:16]

    @property
    def of_host(self):
        return not re.match(r"src/platform/(amd|nvidia|gpu)/", self.file)

    @property
    def of_amd(self):
        return bool(re.match(r"src/(device|platform/(amd|gpu))/.*\.h$", self.file))

    @property
    def of_nvidia(self):
        return bool(re.match(r"src/(device|platform/(nvidia|gpu))/.*\.h$", self.file))


def read_subjects():
    here = os.path.dirname(os.path.abspath(__file__))
    return [Subject(path) for path in sorted(glob.glob(os.path.join(here, "*.toml")))]


def apply(mutation, tree):
    """Changes the file in `tree`; the old text must stand there once."""
    path = os.path.join(tree, mutation.file)
    with open(path, encoding="utf-8") as file:
        text = file.read()
    if text.count(mutation.old) != 1:
        raise ValueError("%s: its old text occurs %d times in %s" % (mutation.name, text.count(mutation.old), mutation.file))
    with open(path, "w", encoding="utf-8") as file:
        file.write(text.replace(mutation.old, mutation.new))


def problems(subjects, root, table):
    """What no longer holds of the list itself; `table` is the text of docs/mutations.md, None where nobody has made it."""
    mutations = [mutation for subject in subjects for mutation in subject.mutations]
    names = [mutation.name for mutation in mutations]
    for name in sorted({name for name in names if names.count(name) > 1}):
        yield "%s: the name is there twice" % name
    for mutation in mutations:
        yield from ("%s: %s" % (mutation.name, problem) for problem in problems_of(mutation, root))
    yield from filters_without_test(subjects, root)
    if table is None:
        return
    rows = re.findall(r"^\| `([^`]+)` \|", table, re.MULTILINE)
    for name in names:
        if rows.count(name) != 1:
            yield "%s: %d rows in docs/mutations.md (scripts/mutations --write makes them)" % (name, rows.count(name))
    for name in sorted(set(rows) - set(names)):
        yield "%s: a row in docs/mutations.md, but no such mutation" % name


def filters_without_test(subjects, root):
    known = set()
    for path in glob.glob(os.path.join(root, "tests", "**", "*_test.cc"), recursive=True):
        with open(path, encoding="utf-8") as file:
            known |= {".".join(names) for names in re.findall(r"^TEST(?:_[FP])?\((\w+), (\w+)\)", file.read(), re.MULTILINE)}
    tests = [test for subject in subjects for each in (subject, *subject.mutations) for test in each.tests]
    for part in sorted({part for test in tests for part in test["filter"].split(":")}):
        if not fnmatch.filter(known, part):
            yield "no test has the name %s" % part


def problems_of(mutation, root):
    path = os.path.join(root, mutation.file)
    if not os.path.exists(path):
        yield "there is no %s" % mutation.file
        return
    with open(path, encoding="utf-8") as file:
        count = file.read().count(mutation.old)
    if count != 1:
        yield "its old text occurs %d times in %s" % (count, mutation.file)
    if mutation.old == mutation.new:
        yield "it changes nothing"
    if set(mutation.killed_by) - set(KILLERS):
        yield "killed_by names %s" % ", ".join(sorted(set(mutation.killed_by) - set(KILLERS)))
    if bool(mutation.killed_by) == bool(mutation.none):
        yield "killed_by, or else none with the reason"
    if bool(mutation.model) != ("model" in mutation.killed_by):
        yield "model names a switch, and killed_by has it"
    if mutation.model:
        name, switch = mutation.model.split()
        with open(os.path.join(root, "tests/models", name + ".pml"), encoding="utf-8") as file:
            if not re.search(r"^ \* CHECK find .*%s( |$)" % switch, file.read(), re.MULTILINE):
                yield "tests/models/%s.pml finds no %s" % (name, switch)
