#!/usr/bin/env python3
"""Runs the snippets of a Markdown page and compares what they print.

usage: run_snippets.py PAGE FOLDER [--update] [--tolerance=T]

FOLDER is emptied and becomes a small copy of the repository: it has a copy of
examples/ and a folder named after the page. The commands of a README.md of an
example run in the copy of that example, those of another page in the page's
folder. `recipec` and `reciperun` are found by PATH.

The fence of a block says what is done with it, in the order of the page:

  ```LANGUAGE file=NAME     writes the block to NAME
  ```LANGUAGE append=NAME   appends the block to NAME, behind an empty line
  ```console                runs each line that begins with `$ `; the lines up
                            to the next one are what the command prints on
                            standard output and standard error

In what a command prints, a line `...` stands for any number of lines, and
`...` within a line for any text. MEASURED and COMPUTED below list the numbers
that differ between machines, UNORDERED the lines whose place does. A command must
exit with 0 unless the page shows an `error:`. Each block of `recipe` must have the
style of `recipec fmt`.

--update writes what the commands print into PAGE where it differs; the author
then cuts it with `...` and reads the diff.
"""

import argparse
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
BLOCK = re.compile(r"^```(\w+)([^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
NUMBER = r"[-+]?\d[\d.]*(?:e[-+]?\d+)?"
SIZE = NUMBER + r" (?:B|KiB|MiB|GiB)"
LIMIT_SECONDS = 300

# Depends on the speed, the memory or the clock of the machine: anything of the
# same form is accepted. The first group of each is what may differ.
MEASURED = [re.compile(text) for text in (
    rf"train_step_timing in s: ({NUMBER})",
    rf"tokens/s: ({NUMBER})",
    rf"TFLOP/s: ({NUMBER})",
    # The predicted memory of a run includes the memory for reading its data.
    rf"memory: ({SIZE}) predicted for a rank",
    rf"memory of the data: ({SIZE}) on the host",
    rf"; ({SIZE}) while it was read",
    rf"peak of a rank ({SIZE}), ",
    rf", predicted ({SIZE}) \(",
    rf", predicted .* \(({NUMBER}) %\)$",
    rf'"(?:step_seconds|tokens_per_second|tflops_per_rank)":({NUMBER})',
    rf'"(?:device_bytes|saving|host_seconds)":({NUMBER})',
    rf'"(?:data|forward|backward|communication|optimizer|other)":({NUMBER})',
    rf"^saved `.*` in ({NUMBER}) s$",
    # A time in `checkpoint list`, the rate of `verify`.
    r" (\d+-\d+-\d+ \d+:\d+:\d+) ",
    rf"with their checksums in ({NUMBER}) s",
    rf"\(({NUMBER}) GB/s\)",
    # The table of a sweep: point, loss, val_loss, tokens/s, time, folder.
    rf"^\S+@\S+ +{NUMBER} +{NUMBER} +({NUMBER}) ",
    rf"^\S+@\S+ .* ({NUMBER}) s  runs/",
)]

# Computed in floating point by kernels that differ between processors: the
# number may differ by TOLERANCE of its value. Training multiplies differences
# in the last bit of fp32 and bf16; tens of steps stay far below 2 %, and a test
# of hundreds of steps gives --tolerance.
TOLERANCE = 0.02
COMPUTED = [re.compile(text) for text in (
    rf"reduced_train_loss: ({NUMBER})",
    rf"val_loss: ({NUMBER})",
    rf"^loss ({NUMBER})",
    rf"perplexity ({NUMBER})",
    rf"^\S+@\S+ +({NUMBER}) +{NUMBER} ",
    rf"^\S+@\S+ +{NUMBER} +({NUMBER}) ",
    rf'"(?:loss|valid_loss|grad_norm|perplexity)":({NUMBER})',
)]


# A checkpoint is written while training goes on: its lines come when it is
# done, before or behind those of the next steps.
UNORDERED = re.compile(r"^(?:saved `|note: `.*`, which was not whole, is now)")


def marks(line):
    """The spans of a line that may differ: (begin, end, is_computed)."""
    spans = []
    for patterns, is_computed in ((MEASURED, False), (COMPUTED, True)):
        for pattern in patterns:
            for match in pattern.finditer(line):
                spans.append((*match.span(1), is_computed))
    return sorted(spans)


def form_of(text):
    """A regular expression for a measured text: its numbers are any numbers."""
    form = re.sub(NUMBER, "\0", text)
    form = re.sub(r"\b(B|KiB|MiB|GiB)\b", "\1", form)
    return (re.escape(form).replace("\0", NUMBER)
            .replace("\1", "(?:B|KiB|MiB|GiB)"))


def literal(text, has_columns):
    """`...` is any text; columns move with the width of a measured number."""
    escaped = ".*".join(re.escape(piece) for piece in text.split("..."))
    return re.sub(r"(?:\\ ){2,}", r"\\ +", escaped) if has_columns else escaped


class ShownLine:
    """A line of a page, which agrees with lines that differ in measured texts
    and little in computed numbers."""

    def __init__(self, line, tolerance):
        self.tolerance = tolerance
        self.numbers = []
        parts, end, spans = [], 0, marks(line)
        for begin, stop, is_computed in spans:
            if begin < end:
                continue
            parts.append(literal(line[end:begin], True))
            if is_computed:
                parts.append(f"({NUMBER})")
                self.numbers.append(float(line[begin:stop]))
            else:
                parts.append(form_of(line[begin:stop]))
            end = stop
        parts.append(literal(line[end:], bool(spans)) + " *")
        self.pattern = re.compile("".join(parts))

    def agrees(self, line):
        match = self.pattern.fullmatch(line)
        return bool(match) and all(
            abs(float(text) - number) <= self.tolerance * abs(number)
            for text, number in zip(match.groups(), self.numbers))


def runs_of(shown, tolerance):
    """The runs of lines between lines `...`."""
    runs = [[]]
    for line in shown.splitlines():
        if line.strip() == "...":
            runs.append([])
        else:
            runs[-1].append(ShownLine(line, tolerance))
    return runs


def split(text):
    """The lines in order, and those that may come anywhere."""
    lines = text.splitlines(keepends=True)
    return ("".join(line for line in lines if not UNORDERED.match(line)),
            [line for line in lines if UNORDERED.match(line)])


def agrees(shown, printed, tolerance):
    shown, shown_anywhere = split(shown)
    printed, printed_anywhere = split(printed)
    return agrees_in_order(shown, printed, tolerance) and all(
        any(agrees_in_order(line, other, tolerance)
            for other in printed_anywhere)
        for line in shown_anywhere)


def agrees_in_order(shown, printed, tolerance):
    lines = printed.splitlines()
    runs = runs_of(shown, tolerance)

    def agrees_at(run, begin):
        return begin + len(run) <= len(lines) and all(
            each.agrees(line) for each, line in zip(run, lines[begin:]))

    first, last = runs[0], runs[-1]
    if len(runs) == 1:
        return len(first) == len(lines) and agrees_at(first, 0)
    end = len(first)
    if not agrees_at(first, 0):
        return False
    # The first place of a run leaves most lines to those behind it.
    for run in runs[1:-1]:
        while not agrees_at(run, end):
            end += 1
            if end > len(lines):
                return False
        end += len(run)
    begin = len(lines) - len(last)
    return begin >= end and agrees_at(last, begin)


def is_own(folder):
    """Whether a folder is empty or was made by an earlier call."""
    names = {each.name for each in folder.iterdir()}
    return not names or "examples" in names and len(names) <= 2


def end_session(process):
    """Ends a shell with all programs that it has started, also those of mpirun,
    which mpirun ends."""
    os.killpg(process.pid, signal.SIGTERM)
    time.sleep(5)
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass


class Page:
    def __init__(self, path, folder, tolerance):
        self.tolerance = tolerance
        self.path = path.resolve()
        self.failures = []
        self.count = 0
        if folder.exists() and not is_own(folder):
            sys.exit(f"{folder} has other files than those of an earlier call")
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(ROOT / "examples", folder / "examples",
                        ignore=shutil.ignore_patterns("runs", "out"))
        examples = ROOT / "examples"
        if examples in self.path.parents:
            self.place = folder / self.path.parent.relative_to(ROOT)
        else:
            self.place = folder / self.path.stem
            self.place.mkdir()
        # Each rank has one thread on every machine. Open MPI needs two settings
        # to run as root, and one to run more ranks than cores.
        self.environment = os.environ | {
            "OMP_NUM_THREADS": "1",
            "OMPI_ALLOW_RUN_AS_ROOT": "1",
            "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
            "OMPI_MCA_rmaps_base_oversubscribe": "1"}

    def fail(self, line, message):
        self.failures.append(f"{self.path.relative_to(ROOT)}:{line}: {message}")

    def run(self, command):
        process = subprocess.Popen(command, shell=True, cwd=self.place,
                                   text=True, stdin=subprocess.DEVNULL,
                                   env=self.environment,
                                   stdout=subprocess.PIPE,
                                   stderr=subprocess.STDOUT,
                                   start_new_session=True)
        try:
            printed = process.communicate(timeout=LIMIT_SECONDS)[0]
        except subprocess.TimeoutExpired:
            end_session(process)
            printed = (process.communicate()[0] +
                       f"(no end after {LIMIT_SECONDS} s)")
        return process.returncode, printed + "\n" * (printed[-1:] not in "\n")

    def console(self, line, text):
        """Runs the commands of a block; returns it with what they print."""
        result = []
        for entry in re.split(r"^(?=\$ )", text, flags=re.MULTILINE):
            if not entry:
                continue
            first, _, shown = entry.partition("\n")
            if not first.startswith("$ "):
                self.fail(line, "a block of `console` begins with `$ `")
                continue
            self.count += 1
            code, printed = self.run(first[2:])
            if code and "error:" not in shown or not agrees(
                    shown, printed, self.tolerance):
                self.fail(line, f"{first}\nexits with {code} and prints\n"
                                f"{printed}---- the page shows\n{shown}")
                shown = printed
            result.append(f"{first}\n{shown}")
            line += entry.count("\n")
        return "".join(result)

    def write(self, line, language, attributes, text):
        name = attributes.get("file") or attributes["append"]
        target = self.place / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if "append" in attributes:
            text = f"{target.read_text()}\n{text}"
        target.write_text(text)
        self.count += 1
        if language == "recipe":
            code, printed = self.run(f"recipec fmt --check {name}")
            if code:
                done = self.run(f"recipec fmt - < {name}")[1]
                self.fail(line, f"{printed}---- the style is\n{done}")

    def block(self, match):
        language, rest, text = match.groups()
        attributes = dict(word.split("=", 1) for word in rest.split())
        line = match.string.count("\n", 0, match.start()) + 2
        if attributes:
            self.write(line, language, attributes, text)
        elif language == "console":
            return f"```console\n{self.console(line, text)}```"
        return match.group()


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("page", type=pathlib.Path)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--update", action="store_true")
    parser.add_argument("--tolerance", type=float, default=TOLERANCE)
    options = parser.parse_args()
    page = Page(options.page, options.folder.resolve(), options.tolerance)
    text = options.page.read_text()
    updated = BLOCK.sub(page.block, text)
    if options.update and updated != text:
        options.page.write_text(updated)
    print(*page.failures, sep="\n\n")
    print(f"{page.count} snippets, {len(page.failures)} failures")
    sys.exit(1 if page.failures or page.count == 0 else 0)


if __name__ == "__main__":
    main()
