"""The checker's own parts, without GPU and torch: statistics, tables, turns, and what becomes of a side that hangs, dies or fails."""
import contextlib
import io
import os
import sys
import tempfile
import types
import unittest

import check
import figures
import jobs
import plan

FOLDER = os.path.dirname(os.path.abspath(__file__))


class Statistics(unittest.TestCase):
    def test_median(self):
        self.assertEqual(figures.median([3, 1, 2]), 2)
        self.assertEqual(figures.median([4, 1, 2, 3]), 2.5)

    def test_interval_is_of_order_statistics(self):
        # With 9 samples, leaving out one on either side keeps 1 - 2 * 10/512 = 96.1 %; two would be 82 %.
        low, high, coverage = figures.median_interval([9, 1, 8, 2, 7, 3, 6, 4, 5])
        self.assertEqual((low, high), (2, 8))
        self.assertAlmostEqual(coverage, 1 - 20 / 512)

    def test_few_samples_say_what_they_cover(self):
        low, high, coverage = figures.median_interval([1, 2, 3, 4, 5])
        self.assertEqual((low, high), (1, 5))
        self.assertLess(coverage, figures.CONFIDENCE)

    def test_compare_pairs_blocks(self):
        # A drift that both sides share leaves the ratio alone.
        ours = [10.0 * (1 + i) for i in range(9)]
        result = figures.compare(ours, [1.5 * one for one in ours])
        self.assertAlmostEqual(result["speed"], 1.5)
        self.assertAlmostEqual(result["low"], 1.5)
        self.assertFalse(result["slower"])

    def test_slower_needs_an_interval_below_one(self):
        self.assertTrue(figures.compare([1.0] * 9, [0.9] * 9)["slower"])
        self.assertFalse(figures.compare([1.0] * 9, [0.9] * 6 + [1.2] * 3)["slower"])

    def test_disagreements(self):
        one = {"values": [1.0, 2.0], "bound": 0.01}
        self.assertEqual(figures.disagreements("a", one, {"values": [1.005, 2.0]}), [])
        self.assertEqual(len(figures.disagreements("a", one, {"values": [1.0, 2.1]})), 1)
        self.assertEqual(len(figures.disagreements("a", one, {"values": [1.0]})), 1)
        self.assertEqual(len(figures.disagreements("a", one, {"values": [1.0, float("nan")]})), 1)
        self.assertEqual(len(figures.disagreements("a", {"values": [float("nan")], "bound": 1}, {"values": [1.0]})), 1)

    def test_time_lines(self):
        lines = figures.time_lines("x", {"step": {"us": [100.0] * 9, "tokens": 50}}, {"step": {"us": [120.0] * 9, "tokens": 50}})
        self.assertIn("1.200", lines[-1])
        self.assertIn("500000 tokens/s", lines[-1])
        self.assertIn("416667 NCCL", lines[-1])


class Plan(unittest.TestCase):
    def test_every_part_has_its_module(self):
        for job in plan.JOBS:
            self.assertEqual(job.parts[0].name, "init")
            for part in job.parts:
                module, function = part.run.split(":")
                with open(os.path.join(FOLDER, "parts", module + ".py"), encoding="utf-8") as file:
                    self.assertIn("def %s(env)" % function, file.read())


class Turns(unittest.TestCase):
    """Whole runs with fake workers."""

    def play(self, fake, parts=("collectives", "ddp", "zero"), budget=200, patience=1, jobs_wanted=("main",)):
        with tempfile.TemporaryDirectory() as folder:
            log = os.path.join(folder, "log")
            options = types.SimpleNamespace(out=folder, lib=None, python=sys.executable, ranks=1, backend="gloo", budget=budget,
                                            alone=False, patience=patience, part=list(parts), job=list(jobs_wanted),
                                            worker=[sys.executable, "-B", os.path.join(FOLDER, "fake_worker.py")],
                                            settings={"FAKE": fake, "FAKE_LOG": log})
            with contextlib.redirect_stdout(io.StringIO()):
                results = jobs.run(options, check.chosen_jobs(options))
                check.compare_sides(results)
                check.report(results, {}, folder)
            turns = []
            if os.path.exists(log):
                with open(log, encoding="utf-8") as file:
                    turns = [line.split() for line in file]
        return {key: result["result"] for key, result in results.items()}, turns, results

    def check_no_overlap(self, turns):
        holder = None
        for what, name, part, _ in turns:
            if what == "begin":
                holder = (name, part)
            else:
                self.assertEqual(holder, (name, part), turns)

    def test_blocks_alternate(self):
        results, turns, full = self.play("")
        self.assertEqual(set(results.values()), {"ok"})
        self.assertEqual(len(results), 8)
        self.check_no_overlap(turns)
        names = [name for what, name, _, _ in turns if what == "begin"]
        self.assertEqual(names, ["main-ours", "main-theirs"] * (len(names) // 2))
        self.assertTrue(check.good(full))

    def test_a_hang_is_ended_and_the_rest_runs(self):
        results, turns, full = self.play("main-ours:ddp=hang", patience=0.1)
        self.assertEqual(results.pop(("main", "ddp", "ours")), "LIMIT")
        self.assertEqual(set(results.values()), {"ok"})
        self.assertIn(["end", "main-ours", "zero", "3"], turns)
        self.assertFalse(check.good(full))

    def test_a_death_is_a_failure_and_the_rest_runs(self):
        results, turns, full = self.play("main-theirs:ddp=die")
        self.assertEqual(results.pop(("main", "ddp", "theirs")), "FAIL")
        self.assertEqual(set(results.values()), {"ok"})
        self.assertIn("exit 7", full[("main", "ddp", "theirs")]["detail"])
        self.check_no_overlap([turn for turn in turns if turn[2] != "ddp"])

    def test_a_death_in_init_is_not_tried_again(self):
        results, _, _ = self.play("main-ours:init=die")
        self.assertEqual(results[("main", "init", "ours")], "FAIL")
        self.assertEqual(results[("main", "zero", "ours")], "skipped")
        self.assertEqual(results[("main", "zero", "theirs")], "ok")

    def test_problems_and_other_losses_fail(self):
        results, _, full = self.play("main-ours:zero=fail,main-ours:ddp=wrong loss")
        self.assertEqual(results.pop(("main", "zero", "ours")), "FAIL")
        self.assertEqual(results.pop(("main", "ddp", "ours")), "FAIL")
        self.assertIn("loss: value 1", full[("main", "ddp", "ours")]["detail"])
        self.assertEqual(set(results.values()), {"ok"})

    def test_no_part_begins_when_the_time_is_used_up(self):
        results, turns, full = self.play("", budget=0)
        self.assertEqual(set(results.values()), {"skipped"})
        self.assertEqual(turns, [])
        self.assertFalse(check.good(full))

    def test_jobs_follow_one_another(self):
        _, turns, _ = self.play("", parts=("ddp", "abort"), jobs_wanted=("main", "abort"))
        names = [name.split("-")[0] for _, name, _, _ in turns]
        self.assertEqual(names, sorted(names, key=["main", "abort"].index))
        self.assertEqual({name for _, name, _, _ in turns}, {"main-ours", "main-theirs", "abort-ours"})


def run():
    program = unittest.main(module="self_test", argv=["pytorch-check --self-test"], exit=False, verbosity=1)
    return 0 if program.result.wasSuccessful() else 1
