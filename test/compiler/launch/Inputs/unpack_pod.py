#!/usr/bin/env python3
"""Unpacks the ConfigMap of a Job for a run on this machine.

usage: unpack_pod.py FILE.yaml DIR

Writes the scripts to DIR/pod, with the folders of pods below DIR, and a hostfile
whose first host is this machine.
"""
import base64
import pathlib
import socket
import sys

import yaml

manifest, root = sys.argv[1], pathlib.Path(sys.argv[2])
with open(manifest, encoding="utf-8") as file:
    files = next(yaml.safe_load_all(file))
pod = root / "pod"
pod.mkdir(exist_ok=True)
for name, text in files["data"].items():
    for folder, place in (("/tmp/recipec", root / "unpacked"),
                          ("/recipec-ssh", root / "keys"), ("/recipec", pod)):
        text = text.replace(folder + "/", f"{place}/").replace(
            folder + "\n", f"{place}\n")
    if name == "hostfile":
        first = text.split(" ", 1)[0]
        text = text.replace(first, socket.gethostname(), 1)
    (pod / name).write_text(text)
(pod / "plan.json.gz").write_bytes(
    base64.b64decode(files["binaryData"]["plan.json.gz"]))
