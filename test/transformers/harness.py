"""What the comparisons share: our programs, Hugging Face's models, verdicts."""

import json
import pathlib
import shlex
import shutil
import subprocess
import sys

import torch
from transformers import AutoConfig, AutoModelForCausalLM
from transformers.utils import logging

logging.disable_progress_bar()

HERE = pathlib.Path(__file__).resolve().parent
EXAMPLE = HERE.parents[1] / "examples" / "01-support-triage"
SAMPLES = 8
# Models that transformers and we must agree on; `adapted` is apart.
CASES = ["plain", "grouped", "tied", "llama3"]
# Ways to spread a model over ranks.
LAYOUTS = {
    "1 rank": {},
    "tp 2": {"cluster.ranks": "2", "parallel.tp": "2"},
}


class Verdicts:
    """Prints one line a check and counts the failures."""

    def __init__(self):
        self.passed = 0
        self.failed = 0

    def check(self, name, difference, tolerance):
        """A difference that must not exceed its tolerance; NaN fails."""
        good = difference <= tolerance
        self.passed += good
        self.failed += not good
        print(f"{name:48} {difference:.2e} (at most {tolerance:.0e}) "
              f"{'ok' if good else 'FAILED'}", flush=True)

    def equal(self, name, ours, theirs):
        good = ours == theirs
        self.passed += good
        self.failed += not good
        print(f"{name:48} {'equal ok' if good else 'FAILED'}", flush=True)
        if not good:
            print(f"  ours   {ours}\n  theirs {theirs}")


class Bench:
    """A folder with data, in which our programs run."""

    def __init__(self, folder, recipec, reciperun, mpirun):
        self.folder = pathlib.Path(folder).resolve()
        self.recipec = recipec
        self.reciperun = reciperun
        self.mpirun = shlex.split(mpirun)
        self.folder.mkdir(parents=True, exist_ok=True)
        shutil.copy(EXAMPLE / "tokenizer.json", self.folder)
        with open(EXAMPLE / "train.jsonl") as file:
            self.samples = [json.loads(next(file)) for _ in range(SAMPLES)]
        with open(self.folder / "train.jsonl", "w") as file:
            file.writelines(json.dumps(each) + "\n" for each in self.samples)

    def run(self, *command):
        done = subprocess.run([str(part) for part in command], text=True,
                              cwd=self.folder, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT)
        if done.returncode:
            sys.exit(f"{shlex.join(map(str, command))}\n{done.stdout}")
        return done.stdout

    def compile(self, case, out, **settings):
        """Compiles a recipe; a setting's `.` is written `__`."""
        self.compile_with(case, out, {name.replace("__", "."): value
                                      for name, value in settings.items()})

    def compile_with(self, case, out, settings):
        """A case is a recipe of Inputs/llama.recipe, or FILE:RECIPE."""
        recipe = case if ":" in case else f"{HERE}/Inputs/llama.recipe:{case}"
        command = [self.recipec, "plan", recipe, "--folder=.", "-o", out]
        for path, value in settings.items():
            command += ["--set", f"{path}={value}"]
        self.run(*command)

    def plan(self, path):
        with open(self.folder / path) as file:
            return json.load(file)

    def train(self, case, name, settings, *options):
        """Compiles and trains `case`; returns the records of its steps."""
        plan = f"{name}.json"
        self.compile_with(case, plan, {**settings,
                                       "train.dir": f'"{name}.run"'})
        ranks = settings.get("cluster.ranks", "1")
        command = [self.reciperun, "train", plan, *options]
        if ranks != "1":
            command = [*self.mpirun, "-np", ranks, *command]
        self.run(*command)
        with open(self.folder / f"{name}.run" / "metrics.jsonl") as file:
            return [json.loads(line) for line in file]

    def logits(self, directory, ids):
        """Ours, behind each of `ids`."""
        out = self.folder / "logits.safetensors"
        self.run(self.reciperun, "generate", directory, "--token-ids",
                 ",".join(map(str, ids)), "--logits", out)
        return load_safetensors(out)["logits"]


def load_safetensors(path):
    from safetensors.torch import load_file
    return load_file(path)


def config_of(bench, case):
    """The config.json of a case's model, out of a plan that exports."""
    bench.compile(case, "config.plan.json", export__hf='"unused"')
    return json.loads(bench.plan("config.plan.json")["exchange"]["config"])


def random_model(bench, case, directory, seed):
    """Transformers' model of a case with lively weights, saved to a folder.

    The folder keeps our config.json, which is written as models are published.
    """
    directory = bench.folder / directory
    directory.mkdir(exist_ok=True)
    published = json.dumps(config_of(bench, case))
    (directory / "config.json").write_text(published)
    config = AutoConfig.from_pretrained(directory)
    torch.manual_seed(seed)
    model = AutoModelForCausalLM.from_config(config).float().eval()
    with torch.no_grad():
        for parameter in model.parameters():
            # Norms near 1, matrices such that logits are of the order of 1.
            if parameter.dim() == 1:
                parameter.normal_(1.0, 0.2)
            else:
                parameter.normal_(0.0, 0.12)
        for name, buffer in model.named_buffers():
            if name.endswith("e_score_correction_bias"):
                buffer.normal_(0.0, 0.1)
    model.save_pretrained(directory)
    (directory / "config.json").write_text(published)
    return model


def load_model(directory):
    return AutoModelForCausalLM.from_pretrained(
        directory, dtype=torch.float32).eval()


def logits_of(model, ids):
    """Theirs, behind each of `ids`."""
    with torch.no_grad():
        return model(torch.tensor([ids])).logits[0].float()
