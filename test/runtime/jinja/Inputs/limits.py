"""Prints hostile templates as JSON, a line each: those that render (`texts`),
those that exceed a limit of all templates (`failures`), and those that exceed a
lower limit of bytes or steps (`bytes`, `steps`)."""

import json
import sys


def nested(levels, element, innermost="[1]"):
    """Sets `x.a`, whose list is `element` at each level."""
    return ("{% set x = namespace(a=" + innermost + ") %}"
            "{% for i in range(" + str(levels) + ") %}"
            "{% set x.a = " + element + " %}{% endfor %}")


# Values of 2^100 parts: each level holds the one below twice.
DOUBLING = nested(100, "[x.a, x.a]")
TWINS = (DOUBLING + "{% set y = x %}" + DOUBLING + "{% set z = x %}" +
         nested(100, "[x.a, x.a]", "[2]"))
CYCLES = ("{% set a = [1] %}{% set _ = a.append(a) %}"
          "{% set b = [1] %}{% set _ = b.append(b) %}")
SPACE = "{% set s = namespace() %}{% set s.a = s %}{% set s.b = s %}"
LONG = "{% set s = 'a' * 1000000 %}"

TEXTS = {
    "doubling values are compared":
        TWINS + "{{ y.a == z.a }} {{ y.a != x.a }} {{ y.a in [x.a, z.a] }} "
        "{{ [y.a, z.a, x.a] | unique | list | length }} {{ y.a < x.a }} "
        "{{ [y.a, z.a].count(z.a) }} {{ [x.a, y.a].index(z.a) }} "
        "{{ [x.a, y.a] | sort | first == y.a }} {{ [y.a] | max == z.a }}",
    "doubling dictionaries are compared":
        nested(100, "{'l': x.a, 'r': x.a}") + "{% set y = x %}" +
        nested(100, "{'r': x.a, 'l': x.a}") + "{{ x.a == y.a }}",
    "a value that contains itself is compared":
        CYCLES + "{{ a == a }} {{ a == b }} {{ a in [b] }} {{ a == [1, b] }} "
        "{{ a == [2, a] }} {{ a < [2] }}" + SPACE + " {{ s == s.a.b }}",
    "a value that contains itself has a text":
        CYCLES + SPACE + "{{ a }} {{ [a, b] }} {{ s }}",
    "values are compared at any depth":
        nested(10000, "[x.a]") + "{% set y = x %}" + nested(10000, "[x.a]") +
        "{{ x.a == y.a }}",
    "values are written to a depth of 200":
        nested(199, "[x.a]") +
        "{{ (x.a | string) == (x.a | tojson) == '[' * 200 ~ '1' ~ ']' * 200 }}",
    "nested values are freed": nested(50000, "[x.a, {'a': x.a}]") + "freed",
    "words are split in linear time":
        "{% set s = 'word ' * 200000 %}"
        "{{ s.split() | length }} {{ s | wordcount }}",
    "a string is searched in linear time":
        LONG + "{% set w = 'a' * 500000 %}{{ (w ~ 'b') in s }} "
        "{{ s.rfind('b' ~ w) }} {{ s.count(w) }} {{ s.split(w) | length }} "
        "{{ s.rsplit(w, 1) | length }} {{ s.replace(w, 'b') }}",
    "comments are skipped in linear time":
        "{% set t %}a" + " " * 100000 + "{##}" * 100000 + "{% endset %}{{ t | length }}",
    "a raw block is read in linear time":
        "{% set t %}{% raw %}" + "{%" * 200000 + "{% endraw %}{% endset %}{{ t | length }}",
    "a string is stripped in linear time":
        LONG + "{{ (s ~ 'b').strip('c' * 1000000 ~ 'a') }}",
}


def repeated(setup, expression):
    return (setup + "{% for i in range(1000) %}{% set _ = " + expression +
            " %}{% endfor %}")


DICT = ("{% set d = {} %}{% for i in range(1000) %}"
        "{% set _ = d.update({'key' ~ i: i}) %}{% endfor %}")

# Each exceeds the limits of all templates.
FAILURES = {
    "text of a doubling value": DOUBLING + "{{ x.a }}",
    "tojson of a doubling value": DOUBLING + "{{ x.a | tojson }}",
    "text of a doubling value of long strings":
        nested(100, "[x.a, x.a]", "'a' * 10000") + "{{ x.a }}",
    "tojson of a doubling value of long strings":
        nested(100, "[x.a, x.a]", "'a' * 10000") + "{{ x.a | tojson }}",
    "text of a deep value": nested(200, "[x.a]") + "{{ x.a }}",
    "tojson of a deep value": nested(200, "{'a': x.a}") + "{{ x.a | tojson }}",
    "tojson of a value that contains itself": SPACE + "{{ s | tojson }}",
    "order of values that contain themselves":
        "{% set a = [] %}{% set _ = a.append(a) %}{% set _ = a.append(1) %}"
        "{% set b = [] %}{% set _ = b.append(b) %}{% set _ = b.append(2) %}"
        "{{ a < b }}",
    "brackets in brackets": "{{ " + "(" * 200 + "1" + ")" * 200 + " }}",
    "a chain of operators": "{{ 1" + " + 1" * 9000 + " }}",
    "a long chain of operators": "{{ 1" + " + 1" * 10000 + " }}",
    "macros in loops in macros":
        "{% macro f() %}{% for n in [1] recursive %}"
        "{{ loop([1]) if loop.depth < 99 else f() }}"
        "{% endfor %}{% endmacro %}{{ f() }}",
    "a macro that calls itself": "{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}",
    "a map of maps": "{{ 'a' | map(" + "'map', " * 2000 + "'upper') }}",
    "a long name": "{{ " + "a" * 257 + " }}",
}
# Each makes more than 100,000 bytes.
MANY_BYTES = {
    "text": "{{ [1] * 50000 }}",
    "tojson": "{{ ([1] * 4000) | tojson(indent=64) }}",
    "replace": "{{ ('a' * 1000) | replace('a', 'b' * 1000) }}",
    "replace nothing": "{{ ('a' * 1000).replace('', 'b' * 1000) }}",
    "indent": "{{ ('\\na' * 1000) | indent('b' * 1000) }}",
    "join": "{{ ([1] * 1000) | join('b' * 1000) }}",
    "*": "{{ 'a' * 1000000000 }}",
    "* of lists": "{{ [1] * 1000000000 }}",
    "+": "{% set s = 'a' * 50000 %}{{ (s + s) | length }}",
    "~": "{% set s = 'a' * 50000 %}{{ (s ~ s) | length }}",
    "+ of lists": repeated("", "[1] * 100 + [2]"),
    "range": "{{ range(1000000000) | length }}",
    "slice": repeated("{% set s = 'a' * 1000 %}", "s[::-1]"),
    "slice of a list": repeated("{% set l = [1] * 1000 %}", "l[1:]"),
    "list": "{{ ('a' * 10000) | list | length }}",
    "split": "{{ ('a ' * 10000).split(' ') | length }}",
    "split at spaces": "{{ ('a ' * 10000).split() | length }}",
    "splitlines": "{{ ('a\\n' * 10000).splitlines() | length }}",
    "upper": repeated("{% set s = 'a' * 1000 %}", "s | upper"),
    "strip": repeated("{% set s = 'a' * 1000 %}", "s.strip()"),
    "escape": "{{ ('&' * 20000) | e | length }}",
    "extend": repeated("{% set l = [] %}", "l.extend(range(10))"),
    "copy": repeated(DICT, "d.copy()"),
    "items": repeated(DICT, "d.items()"),
    "undefined": repeated("{% set s = 'a' * 1000 %}", "{}[s]"),
}
# Each takes more than 20,000 steps.
MANY_STEPS = {
    "string": DOUBLING + "{{ x.a | string }}",
    "~": DOUBLING + "{{ 'a' ~ x.a }}",
    "join": DOUBLING + "{{ [x.a] | join }}",
    "raise_exception": DOUBLING + "{{ raise_exception(x.a) }}",
    "index of no element": DOUBLING + "{{ [].index(x.a) }}",
    "in": repeated("{% set s = 'a' * 10000 %}", "'b' in s"),
    "length": repeated("{% set s = 'a' * 10000 %}", "s | length"),
    "index": repeated("{% set s = 'a' * 10000 %}", "s[5]"),
    "int": repeated("{% set s = '1' * 10000 %}", "s | int"),
    "startswith": repeated("{% set s = 'a' * 10000 %}", "s.startswith([s] * 10)"),
    "==": repeated("{% set a = 'a' * 10000 %}{% set b = 'a' * 10000 %}", "a == b"),
    "in a list": repeated("{% set l = range(1000) %}", "-1 in l"),
    "sort": "{{ range(10000, 0, -1) | sort | length }}",
    "unique": "{{ range(1000) | unique | length }}",
    "pop": repeated("{% set l = range(3000) | list %}", "l.pop(0)"),
    "attribute": repeated(DICT, "d.key"),
    "map": "{{ range(20000) | map('abs') | length }}",
    "select": "{{ range(20000) | select('odd') | length }}",
    "for": "{% for i in range(20000) %}{% endfor %}",
}
ROWS = {
    "texts": (TEXTS, {}),
    "failures": (FAILURES, {}),
    "bytes": (MANY_BYTES, {"bytes": 100_000}),
    "steps": (MANY_STEPS, {"steps": 20_000}),
}

if __name__ == "__main__":
    templates, limits = ROWS[sys.argv[1]]
    for name, template in templates.items():
        print(json.dumps({"name": name, "template": template, "variables": {}, **limits}))
