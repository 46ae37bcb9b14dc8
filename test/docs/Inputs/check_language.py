#!/usr/bin/env python3
"""Compiles the examples of the language reference.

usage: check_language.py LANGUAGE.md RECIPEC FOLDER

The word behind the fence of an example says what is done with it in FOLDER:

  recipe   it passes `recipec check` and `recipec fmt --check`
             file=NAME   other examples may import it
             in=recipe   it stands in the braces of a recipe that is complete
             fails=KIND  its only errors are of that kind; a `text` that
                         follows is the beginning of what is printed
             lowers=no   its only errors are `NotSupported`
  values   each line is an expression and, behind `#`, what it equals
  yaml     it is written to its file=NAME
  shell    each line exits with 0
"""

import re
import subprocess
import sys
from pathlib import Path

COMPLETE = 'import "first.recipe" {{ first }}\n\nrecipe example amends first {{\n{}\n}}\n'


def examples(text):
    """Yields (line, language, attributes, body) of each fenced example."""
    fence = re.compile(r"^```(\w+)([^\n]*)\n(.*?)^```$", re.M | re.S)
    for match in fence.finditer(text):
        attributes = dict(word.split("=", 1) for word in match[2].split())
        line = text.count("\n", 0, match.start()) + 1
        yield line, match[1], attributes, match[3]


class Checker:
    def __init__(self, recipec, folder):
        self.recipec = recipec
        self.folder = Path(folder)
        self.failures = []
        self.last_error = ""

    def run(self, *arguments):
        return subprocess.run([self.recipec, *arguments], cwd=self.folder,
                              capture_output=True, text=True)

    def fail(self, line, message):
        self.failures.append(f"language.md:{line}: {message}")

    def check(self, line, name, kind):
        """`kind` is the one kind of error to expect, or None."""
        result = self.run("check", name)
        self.last_error = result.stderr
        kinds = set(re.findall(r"^error: .*?\[(\w+)\]", result.stderr,
                               re.M | re.S))
        if kinds == {"RecipeNotFound"} and kind is None:
            return  # an example of declarations alone
        if kinds != ({kind} if kind else set()) or (result.returncode == 0) != (not kind):
            self.fail(line, f"expected {kind or 'no error'}, got\n{result.stderr}")

    def recipe(self, line, attributes, body):
        name = attributes.get("file", f"line{line}.recipe")
        is_inner = attributes.get("in") == "recipe"
        text = COMPLETE.format(body.rstrip("\n")) if is_inner else body
        (self.folder / name).write_text(text)
        kind = attributes.get("fails")
        if attributes.get("lowers") == "no":
            kind = "NotSupported"
        self.check(line, name, kind)
        if not is_inner and self.run("fmt", "--check", name).returncode:
            formatted = subprocess.run([self.recipec, "fmt", "-"], input=text,
                                       capture_output=True, text=True).stdout
            self.fail(line, f"the style is\n{formatted}")

    def values(self, line, attributes, body):
        conditions = []
        for text in body.splitlines():
            expression, result = re.split(r"\s+# ", text, maxsplit=1)
            conditions.append(f'require ({expression}) == ({result}) : '
                              f'"is {{{expression}}}, not {{{result}}}"'
                              if "{" not in text and '"' not in text else
                              f"require ({expression}) == ({result})")
        name = f"line{line}.recipe"
        (self.folder / name).write_text(COMPLETE.format("\n".join(conditions)))
        self.check(line, name, None)

    def yaml(self, line, attributes, body):
        (self.folder / attributes["file"]).write_text(body)

    def shell(self, line, attributes, body):
        for command in body.splitlines():
            script = command.replace("recipec ", f"{self.recipec} ", 1)
            result = subprocess.run(script, shell=True, cwd=self.folder,
                                    capture_output=True, text=True)
            if result.returncode:
                self.fail(line, f"{command}\n{result.stderr}")

    def text(self, line, attributes, body):
        if not self.last_error.startswith(body):
            self.fail(line, f"printed instead:\n{self.last_error}")


def main():
    reference, recipec, folder = sys.argv[1:]
    checker = Checker(recipec, folder)
    count = 0
    for line, language, attributes, body in examples(Path(reference).read_text()):
        getattr(checker, language)(line, attributes, body)
        count += 1
    print(*checker.failures, sep="\n")
    print(f"{count} examples, {len(checker.failures)} failures")
    sys.exit(1 if checker.failures or count == 0 else 0)


if __name__ == "__main__":
    main()
