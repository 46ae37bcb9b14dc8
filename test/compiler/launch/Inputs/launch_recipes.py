#!/usr/bin/env python3
"""Writes the manifests of recipes for all targets of Kubernetes, and checks them.

usage: launch_recipes.py RECIPEC ROOT FOLDER

Each manifest is valid by the closed schemas of check_manifests.py, and `recipec
import-manifest` has no finding on it. Prints the number of manifests, or the faults
and exits 1.
"""
import concurrent.futures
import os
import pathlib
import subprocess
import sys

import check_manifests

TRAINED = """
test/compiler/launch/Inputs/nodes.recipe:two_nodes
test/compiler/launch/Inputs/nodes.recipe:swept
examples/01-support-triage/support.recipe
examples/02-any-layout/experts.recipe:stages
examples/02-any-layout/experts.recipe:elsewhere
examples/02-any-layout/experts.recipe:alone
examples/03-pretraining/stories.recipe
examples/04-lora/lora.recipe:base
examples/04-lora/lora.recipe:adapted
examples/05-own-block/own.recipe:own
examples/05-own-block/own.recipe:reference
examples/06-sweep/sweep.recipe:short
examples/07-hybrid/hybrid.recipe:hybrid
examples/07-hybrid/hybrid.recipe:hybrid_short
examples/08-resume/resume.recipe:first
examples/08-resume/resume.recipe:second
examples/08-resume/resume.recipe:third
examples/10-cluster/cluster.recipe:on_kubernetes
std/presets/llama3.recipe:llama3_8b_pretrain_8xh100_bf16
test/compiler/diag/kinds/UnlikelySetting.recipe
""".split()
# Served on one rank. An adapter is merged into the model that is served.
SERVED = [name for name in TRAINED if not name.endswith(":adapted")] + [
    "examples/09-serve/serve.recipe"]
TRAINING = ["mpijob", "trainjob", "k8s-job", "jobset", "pytorchjob"]
CLUSTER = ['launch.image="registry.example.com/team/recipec:0.1"',
           'launch.volumes=[volume("/data", claim = "sets", size = 100GiB)]',
           'launch.ssh_secret="keys"', 'launch.env={ NCCL_DEBUG = "WARN" }',
           'launch.resources={ ["rdma/ib"] = 1 }']
SERVER = ['task="serve"', 'weights="/data/model"', "cluster.ranks=1",
          "parallel={}", "launch.max_replicas=4"]


def launch(recipec, root, folder, recipe, target):
    """Returns the faults of the manifests of a recipe, and their number."""
    path = recipe if recipe.startswith("std/") else str(root / recipe)
    out = folder / (recipe.replace("/", "_") + "." + target)
    sets = CLUSTER + (SERVER if target == "deployment" else [])
    command = [recipec, "launch", path, f"--target={target}", "--no-files",
               f"--output={out}"]
    command += [word for each in sets for word in ("--set", each)]
    run = subprocess.run(command, capture_output=True, text=True)
    if run.returncode:
        return [f"{recipe} {target}: {run.stderr[:400]}"], 0
    faults, files = [], sorted(out.glob("*.yaml"))
    for file in files:
        faults += check_manifests.check(file, "v2.3")[1]
        found = subprocess.run([recipec, "import-manifest", str(file)],
                               capture_output=True, text=True)
        if found.returncode or found.stderr:
            faults.append(f"{recipe} {target}: {found.stderr[:400]}")
    return [f"{recipe} {target}: {each}" for each in faults], len(files)


def main():
    recipec, root, folder = sys.argv[1], *map(pathlib.Path, sys.argv[2:])
    work = [(recipe, target) for recipe in TRAINED for target in TRAINING]
    work += [(recipe, "deployment") for recipe in SERVED]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        results = list(pool.map(
            lambda each: launch(recipec, root, folder, *each), work))
    faults = [fault for found, _ in results for fault in found]
    print("\n".join(faults) if faults else
          f"{len(TRAINED)} recipes, {sum(count for _, count in results)} "
          "manifests, valid and without findings")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
