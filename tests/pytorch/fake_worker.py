"""Stands in for a rank 0 in the self-test: needs no torch, does in each part what FAKE says ("side:part=hang", "die", "fail",
"wrong loss"; several by commas), and writes down when it had its turns."""
import os
import sys
import time

from turns import Client

BLOCKS = 4


def wanted(side, part):
    for rule in os.environ["FAKE"].split(","):
        place, _, what = rule.partition("=")
        if place == "%s:%s" % (side, part):
            return what
    return ""


def main():
    values = dict(zip(sys.argv[1::2], sys.argv[2::2]))
    first_part = sys.argv.index("--library") + 2
    name = values["--name"]
    client = Client(values["--turns"], name)
    with open(os.environ["FAKE_LOG"], "a", encoding="utf-8", buffering=1) as log:
        for part in sys.argv[first_part:]:
            answer = client.want(part)
            if not answer["go"]:
                client.done(part, skipped=answer["why"], problems=[], checks=0, times={}, same={}, values={})
                continue
            what, blocks = wanted(name, part), []
            for block in range(BLOCKS):
                if block > 0:
                    client.hand_on(part)
                log.write("begin %s %s %d\n" % (name, part, block))
                if what == "die" and block == 1:
                    os._exit(7)
                if what == "hang" and block == 1:
                    time.sleep(1000)  # what the test wants to see ended
                blocks.append(100.0 if name.endswith("ours") else 150.0)
                log.write("end %s %s %d\n" % (name, part, block))
            client.done(part, problems=["broken"] if what == "fail" else [], checks=3, times={"step": {"us": blocks}},
                        same={"loss": {"values": [1.0, 1.5 if what == "wrong loss" else 2.0], "bound": 0.01}}, values={})


main()
