"""Scrapes two trainings with Prometheus, and asks it all queries of the
dashboard and the alerts of docs/monitoring.

The plan of `tiny` has a device with a known peak, and so a MFU, and looks for
stragglers.
"""

import json
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../../Inputs"))
from scraper import Prometheus  # noqa: E402
from training import Training, expect, free_port, plan  # noqa: E402

recipec, reciperun, tiny, recipe, monitoring = sys.argv[1:]

# etc/default-counters.csv of the exporter, as far as it is switched on.
DCGM = {"DCGM_FI_" + each for each in """
DEV_SM_CLOCK DEV_MEM_CLOCK DEV_GPU_TEMP DEV_MEMORY_TEMP DEV_POWER_USAGE
DEV_GPU_UTIL DEV_MEM_COPY_UTIL DEV_FB_USED DEV_FB_FREE DEV_FB_RESERVED
DEV_XID_ERRORS DEV_ROW_REMAP_FAILURE DEV_TOTAL_ENERGY_CONSUMPTION
DEV_PCIE_REPLAY_COUNTER DEV_NVLINK_BANDWIDTH_TOTAL
DEV_UNCORRECTABLE_REMAPPED_ROWS PROF_GR_ENGINE_ACTIVE PROF_PIPE_TENSOR_ACTIVE
PROF_DRAM_ACTIVE PROF_PCIE_TX_BYTES PROF_PCIE_RX_BYTES""".split()}
# Depends on `checkpoint.every`, which is in steps here.
BY_TIME = {"recipec_train_checkpoint_interval_seconds"}

dashboard = json.load(open(f"{monitoring}/training_grafana.json"))
alerts = open(f"{monitoring}/training_alerts.yml").read()


def queries():
    """All expressions of the dashboard, with values for its variables."""
    for panel in dashboard["panels"]:
        for target in panel.get("targets", []):
            yield (target["expr"].replace("$__rate_interval", "1m")
                   .replace("$recipe", ".*").replace("$host", ".*"))


def check_form():
    ids = [each["id"] for each in dashboard["panels"]]
    expect(len(set(ids)), len(ids), "ids of panels")
    taken = set()
    for panel in dashboard["panels"]:
        place = panel["gridPos"]
        cells = {(x, y) for x in range(place["x"], place["x"] + place["w"])
                 for y in range(place["y"], place["y"] + place["h"])}
        expect(bool(cells & taken) or place["x"] + place["w"] > 24, False,
               f"place of {panel['title']}")
        taken |= cells


def check_names(exported):
    """The dashboard and the alerts name only metrics that there are."""
    texts = [*queries(), alerts,
             *(each["query"] for each in dashboard["templating"]["list"])]
    found = set(re.findall(r"\b(?:DCGM_FI|recipec_train)_\w+", " ".join(texts)))
    expect(found - exported - DCGM - BY_TIME, set(), "unknown metrics")
    expect(len(found & DCGM) > 10 and len(found & exported) > 20, True,
           "metrics that are used")


def start(port, plan_file, log):
    return Training([reciperun, "train", plan_file], port, log)


port, other = free_port(), free_port()
plan(recipec, recipe, "plan.json", train__steps=1000000,
     train__metrics_port=port, train__validate_every="5 steps",
     train__spike=3.0, train__on_spike='"warn"', checkpoint__every="5 steps")
with open("tiny.json", "w") as out:
    subprocess.run([tiny, "1", "tiny", "100000000", "0.05", "cpu", str(other)],
                   stdout=out, check=True)
runs = [start(port, "plan.json", "first.log"),
        start(other, "tiny.json", "second.log")]
prometheus = Prometheus([f"127.0.0.1:{port}", f"127.0.0.1:{other}"],
                        f"{monitoring}/training_alerts.yml")
for run in runs:
    run.wait_for("a validation", lambda each:
                 "recipec_train_valid_loss" in each)
runs[0].wait_for("a checkpoint", lambda each:
                 "recipec_train_checkpoint_last_step" in each)

check_form()
exported = {re.sub(r"\{.*", "", each) for run in runs for each in run.values()}
check_names(exported)
prometheus.wait_for("scrapes of both runs", lambda: prometheus.value(
    "count(rate(recipec_train_steps_total[1m]) > 0)") == 2)
ours = [each for each in queries() if "recipec_train" in each]
expect(len(ours) > 20, True, "queries of our metrics")


def unanswered():
    return [each for each in ours
            if not prometheus.get("query", query=each)["result"]]


# Some are of the first validation or checkpoint, which the next scrape has.
prometheus.wait_for("data of every query", lambda: unanswered() == [])
for each in queries():
    prometheus.get("query", query=each)  # those of DCGM are valid
step = prometheus.value('recipec_train_step{recipe="small"}')
prometheus.wait_for("progress", lambda: prometheus.value(
    'recipec_train_step{recipe="small"}') > step)
prometheus.wait_for("an evaluation of all alerts", lambda: all(
    rule["health"] == "ok" for group in prometheus.get("rules")["groups"]
    for rule in group["rules"]))
for run in runs:
    run.stop()
print("all as expected")
