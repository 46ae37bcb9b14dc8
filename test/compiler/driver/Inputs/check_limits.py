#!/usr/bin/env python3
"""Runs recipec on texts beyond its limits and checks how it rejects them.

  check_limits.py RECIPEC FOLDER KIND...

recipec must reject each with a diagnostic that names the limit and with exit
code 1, within the memory and the CPU time that docs/language.md states. With
sanitizers both limits are higher.
"""

import os
import resource
import subprocess
import sys

SLACK = 10 if "ASAN_OPTIONS" in os.environ else 1
MEGABYTES = 400 * SLACK
SECONDS = 3.0 * SLACK  # of what shall take one or two
DEEP = 100_000
JSON_TEXT = "import \"data.json\" as data\nlet x = data\nrecipe r {}\n"
YAML_TEXT = JSON_TEXT.replace("json", "yaml")


def nested(opening, inner, closing, count=DEEP):
    return opening * count + inner + closing * count


# The text of a recipe, the text of its data file, and the expected message.
KINDS = {
    # Nesting: 100,000 levels of each construct.
    "not": (f"let x = {'not ' * DEEP}true\n", "250 levels"),
    "minus": (f"let x = {'- ' * DEEP}1\n", "250 levels"),
    "mixed_prefixes": (f"let x = {'not - ' * DEEP}1\n", "250 levels"),
    "not_equal": (f"let x = true{' == not true' * (DEEP // 2)}\n", "250 levels"),
    "parentheses": (f"let x = {nested('(', '1', ')')}\n", "100 levels"),
    "lists": (f"let x = {nested('[', '1', ']')}\n", "100 levels"),
    "records": (f"let x = {nested('{ a = ', '1', ' }', DEEP // 2)}\n",
                "100 levels"),
    "open_brackets": (f"let x = {'[({' * (DEEP // 2)}\n", "100 levels"),
    "calls": (f"let x = {nested('f(', '1', ')', DEEP // 2)}\n", "100 levels"),
    "conditionals": (f"let x = {'if true then 1 else ' * (DEEP // 2)}1\n",
                     "100 levels"),
    "conditionals_on_lines": (
        f"let x = {('if true then 1' + chr(10) + ' else ') * (DEEP // 4)}1\n",
        "100 levels"),
    "else_if": ("model m {\n block forward(x) {\n  if true { x = x }" +
                " else if true { x = x }" * (DEEP // 4) + "\n }\n}\n",
                "100 levels"),
    "else_if_on_lines": ("model m {\n block forward(x) {\n  if true { x = x }" +
                         "\n  else if true { x = x }" * (DEEP // 4) +
                         "\n }\n}\n", "100 levels"),
    "types": (f"schema s {{\n a : {nested('[', 'int', ']')}\n}}\n",
              "100 levels"),
    "function_types": (f"schema s {{\n a : {'fun(): ' * (DEEP // 2)}int\n}}\n",
                       "100 levels"),
    "members": (f"let x = a{'.a' * DEEP}\n", "250 levels"),
    "indices": (f"let x = a{'[0]' * (DEEP // 2)}\n", "250 levels"),
    "amendments": (f"let x = a{' {}' * (DEEP // 2)}\n", "250 levels"),
    "interpolations": (
        "let x = " + nested('"{', "1", '}"') + "\n", "10 levels"),
    "open_interpolations": ("let x = " + '"{' * DEEP + "\n", "10 levels"),
    "interpolations_in_text": (
        'let x = """\n  {' + nested('"{', "1", '}"') + '}\n  """\n',
        "10 levels"),
    "amends": ("import std.models.llama\n" + "abstract recipe r0 {}\n" +
               "".join(f"abstract recipe r{i} amends r{i - 1} {{}}\n"
                       for i in range(1, 20_000)) +
               "recipe r amends r19999 {}\n", "in a chain"),
    "json": (JSON_TEXT, "100 levels", nested("[", "1", "]")),
    "json_records": (JSON_TEXT, "100 levels", nested('{"a":', "1", "}")),
    "yaml": (YAML_TEXT, "100 levels", nested("[", "1", "]", 999)),
    # Size.
    "list": ("let x = [" + "1," * 2_090_000 + "]\n", "300000 names"),
    "file": ("let x = [" + "1," * 2_500_000 + "]\n", "4 MiB"),
    "sum": ("let x = 1" + "+1" * 2_000_000 + "\n", "300000 names"),
    "short_sum": ("let x = 1" + "+1" * 140_000 + "\n", "250 levels"),
    "statements": ("let x = 1\n" * 400_000, "300000 names"),
    "comments": ("# a\n" * 1_000_000, "300000 names"),
    "holes": ('let x = "' + "{1}" * 1_300_000 + '"\n', "300000 names"),
    "name": ("let x = " + "a" * 4_000_000 + "\n", "nothing called"),
    "number": ("let x = " + "1" * 4_000_000 + "\n", "integer"),
    "long_string": ('let x = "' + "a" * 4_000_000 + '"\n', "1048576 bytes"),
    "open_text": ('let x = """\n' + "a\n" * 2_000_000, "not closed"),
    "stray_lines": ("let a = ;\n" * 400_000, "unexpected character"),
    "stray_line": ("let a = " + "; " * 2_000_000 + "\n",
                   "unexpected character"),
    "faulty_lines": ("let 1 = x\n" * 58_000, "expected"),
    "closings": ("let x = {(\n" + "] " * 250_000 + "\n", "does not close"),
    "list_values": ("let x = [y for y in 0..900000 for z in 0..900000]\n",
                    "2000000 steps"),
    "list_doubled": ("let x0 = [1]\n" +
                     "".join(f"let x{i} = x{i - 1} + x{i - 1}\n"
                             for i in range(1, 40)), "2000000 steps"),
    "string_doubled": ('let x0 = "a"\n' +
                       "".join(f"let x{i} = x{i - 1} + x{i - 1}\n"
                               for i in range(1, 40)), "1048576 bytes"),
    "records_made": ("let x = [lora { rank = i } for i in 0..400000]\n",
                     "256 MiB"),
    "maps_made": ("let x = [{ a = i } for i in 0..400000]\n", "2000000 steps"),
    "json_values": (JSON_TEXT, "500000 values", "[" + "1," * 2_000_000 + "1]"),
    "json_size": (JSON_TEXT, "8 MiB", "[" + "1," * 5_000_000 + "1]"),
    "yaml_values": (YAML_TEXT, "500000 values", "- 1\n" * 1_500_000),
    "aliases": (YAML_TEXT, "2000000 steps",
                "a0: &a0 [1, 1, 1, 1, 1, 1, 1, 1]\n" +
                "".join(f"a{i}: &a{i} [" + ", ".join([f"*a{i - 1}"] * 8) +
                        "]\n" for i in range(1, 20))),
}


def run(command):
    """The exit code, the output, and the memory and time of the process."""
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL,
                             stderr=subprocess.PIPE)
    errors = child.stderr.read().decode(errors="replace")
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    return (child.returncode, errors, usage.ru_maxrss / 1024,
            usage.ru_utime + usage.ru_stime)


def check(recipec, folder, kind):
    text, message, *data = KINDS[kind]
    folder = os.path.join(folder, kind)
    os.makedirs(folder, exist_ok=True)
    path = os.path.join(folder, "hostile.recipe")
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    for content in data:
        name = "data.yaml" if "yaml" in text else "data.json"
        with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
            file.write(content)
    code, errors, megabytes, seconds = run([recipec, "check", path])
    wrong = []
    if code != 1:
        wrong.append(f"exit code {code}")
    if message not in errors:
        wrong.append(f"no `{message}` in: {errors[:400]}")
    if megabytes > MEGABYTES:
        wrong.append("too much memory")
    if seconds > SECONDS:
        wrong.append("too much time")
    if len(errors) > 200_000:
        wrong.append(f"{len(errors)} bytes of messages")
    print(f"{kind}: {megabytes:.0f} MB, {seconds:.2f} s", "; ".join(wrong))
    return bool(wrong)


def main():
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    recipec, folder, *kinds = sys.argv[1:]
    if kinds == ["all"]:
        kinds = list(KINDS)
    sys.exit(any([check(recipec, folder, kind) for kind in kinds]))


main()
