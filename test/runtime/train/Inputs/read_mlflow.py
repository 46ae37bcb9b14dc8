"""Reads the only run of a folder of MLflow's file store, by the rules of MLflow's
mlflow/store/tracking/file_store.py, and compares it with metrics.jsonl:
`read_mlflow.py ROOT METRICS`."""

import os
import pathlib
import sys
import urllib.parse

import yaml

from scalars import expect, scalars

root, metrics = map(pathlib.Path, sys.argv[1:])
STATUS = {1: "RUNNING", 2: "SCHEDULED", 3: "FINISHED", 4: "FAILED", 5: "KILLED"}


def meta(folder, keys):
    found = yaml.safe_load((folder / "meta.yaml").read_text())
    expect(set(found), set(keys.split()), f"keys of {folder}")
    return found


def place(address):
    parts = urllib.parse.urlsplit(address)
    expect(parts.scheme, "file", address)
    return urllib.parse.unquote(parts.path)


experiment = meta(root / "0", "artifact_location creation_time experiment_id "
                  "last_update_time lifecycle_stage name")
expect((experiment["experiment_id"], experiment["name"]), ("0", "Default"),
       "the experiment")
expect(place(experiment["artifact_location"]), str((root / "0").resolve()),
       "its artifacts")
[folder] = [each for each in (root / "0").iterdir() if each.is_dir()]
run = meta(folder, "artifact_uri deleted_time end_time entry_point_name "
           "experiment_id lifecycle_stage run_id run_name run_uuid source_name "
           "source_type source_version start_time status tags user_id")
expect((run["run_id"], run["run_uuid"], run["experiment_id"]),
       (folder.name, folder.name, "0"), "ids")
int(folder.name, 16)
expect(len(folder.name), 32, "digits of the id")
expect(os.path.isdir(place(run["artifact_uri"])), True, "artifacts")
for key in ("name", "user"):
    tag = (folder / "tags" / ("mlflow.runName" if key == "name" else "mlflow.user"))
    expect(tag.read_text(), run["run_name" if key == "name" else "user_id"], key)

found = {}
for path in (folder / "metrics").rglob("*"):
    if path.is_dir():
        continue
    lines = path.read_text().splitlines()
    expect(bool(lines), True, f"{path} has lines")
    for line in lines:
        time, value, step = line.split(" ")
        key = (str(path.relative_to(folder / "metrics")), int(step))
        expect(key in found, False, f"{key} twice")
        found[key] = (int(time), float(value))
wanted = {key: (round(time * 1000), value)
          for key, (time, value) in scalars(metrics).items()}
expect(set(found), set(wanted), "metrics and steps")
for key, value in wanted.items():
    expect(found[key], value, key)

steps = [step for _, step in found]
print(f"{run['run_name']} is {STATUS[run['status']]}, steps {min(steps)} to "
      f"{max(steps)}")
for path in sorted((folder / "params").iterdir()):
    print(f"  {path.name} = {path.read_text()}")
if run["status"] == 1:
    expect(run["end_time"], None, "end of a run that goes on")
else:
    expect(run["start_time"] <= run["end_time"], True, "times")
