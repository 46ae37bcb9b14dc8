#!/usr/bin/env python3
"""Generates C++ from the descriptions of the ops (*.ops beside this file).

usage: generate.py OUTPUT_FOLDER FAMILY.ops...

Writes OpKind.h, one header for each family, OpTable.inc, OpAttributes.inc and
Kernels.inc. A file whose contents would not change is not written, so that an
edit rebuilds no more than what depends on it.

A description has one `family NAME ENUM` line and a block for each op:

    op ENUMERATOR json_name
      in NAME: MEANING      operands and results, in order; `NAME?` may be
      out NAME: MEANING     absent, `NAME+` is added to
      like ENUMERATOR       the attributes of an earlier op of the family;
                            several add up
      attr NAME: TYPE [= DEFAULT][, MEANING]
      graph NAME: TYPE[, MEANING]   an attribute that plans do not have
      group NAME[, MEANING]         in plans: the name of the op's group, which
                                    the compiler knows by its axes
      reuse OPERAND         the operand whose buffer the first result may take
      is TRAIT, ...

TYPE is flag, integer, real (an integer will do), string or strings. Without a
default an absent attribute is false, 0 or empty. The comments above an op are
its specification.
"""

import pathlib
import re
import sys

TYPES = {  # C++ type, value where nothing else is said
    "flag": ("bool", "false"),
    "integer": ("int64_t", "0"),
    "real": ("double", "0"),
    "string": ("std::string", ""),
    "strings": ("std::vector<std::string>", ""),
}
TRAITS = {  # fields of ops::Traits
    "forward": "isForward",
    "collective": "isCollective",
    "beside_kernels": "runsBesideKernels",
    "shifts": "shifts",
    "exchanges": "exchanges",
    "starts": "starts",
    "finishes": "finishes",
    "elementwise": "isElementwise",
    "activation": "isActivation",
    "alias": "isAlias",
    "program_only": "isProgramOnly",
}
# Any op of the compiler's may have them: in which runs of its function it takes
# part (`first`, `later`, `last`; in all without it), and how many elements of
# workspace it needs.
COMMON = [("when", "string", "", "graph"), ("workspace", "integer", "", "graph")]


class Op:
    def __init__(self, enumerator, name):
        self.enumerator = enumerator
        self.name = name
        self.operands = []  # (name, optional, accumulated)
        self.results = []
        self.bases = []  # of `like`
        self.own = []  # attributes: (name, type, default, keyword)
        self.reuse = None
        self.traits = []

    def attributes(self):
        return [a for base in self.bases for a in base.attributes()] + self.own

    def struct(self):
        """Names the struct of its attributes, or None."""
        if self.has_own_struct():
            return self.enumerator + "Attributes"
        return self.bases[0].struct() if self.bases else None

    def has_own_struct(self):
        return bool(self.own) or len(self.bases) > 1

    def base_structs(self):
        return [base.struct() for base in self.bases if base.struct()]


class Family:
    def __init__(self, name, enum):
        self.name = name
        self.enum = enum
        self.ops = []

    def header(self):
        return self.enum + "s.h"

    def find(self, enumerator):
        return next((o for o in self.ops if o.enumerator == enumerator), None)


class Mistake(Exception):
    pass


OPERAND = re.compile(r"(in|out) (\w+)(\+?)(\??): (\S.*)$")
ATTRIBUTE = re.compile(
    r"(attr|graph) (\w+): (\w+)(?: = ([^\s,]+))?(?:, (\S.*))?$")
GROUP = re.compile(r"group (\w+)(?:, (\S.*))?$")


def add_attribute(op, name, kind, default, keyword):
    if name in [known for known, *_ in op.attributes()]:
        raise Mistake(f"the attribute `{name}` stands twice")
    op.own.append((name, kind, default, keyword))


def read_line(family, op, line):
    """Reads one line of an op's block."""
    if match := OPERAND.match(line):
        entries = op.operands if match[1] == "in" else op.results
        entries.append((match[2], bool(match[4]), bool(match[3])))
    elif match := ATTRIBUTE.match(line):
        if match[3] not in TYPES:
            raise Mistake(f"unknown type `{match[3]}`")
        add_attribute(op, match[2], match[3], match[4], match[1])
    elif match := GROUP.match(line):
        add_attribute(op, match[1], "string", None, "group")
    elif match := re.match(r"like (\w+)$", line):
        base = family.find(match[1])
        if not base:
            raise Mistake(f"no earlier op `{match[1]}` in the family")
        if op.own:
            raise Mistake("`like` comes before attributes")
        known = {name for name, *_ in op.attributes()}
        if twice := known & {name for name, *_ in base.attributes()}:
            raise Mistake(f"the attribute `{min(twice)}` stands twice")
        op.bases.append(base)
    elif match := re.match(r"reuse (\w+)$", line):
        names = [name for name, *_ in op.operands]
        if match[1] not in names:
            raise Mistake(f"no operand `{match[1]}`")
        op.reuse = names.index(match[1])
    elif match := re.match(r"is (\w+(?:, \w+)*)$", line):
        op.traits = match[1].split(", ")
        for trait in op.traits:
            if trait not in TRAITS:
                raise Mistake(f"unknown trait `{trait}`")
    else:
        raise Mistake("expected in, out, like, attr, graph, group, reuse or is")


def read_family(path):
    family = None
    for number, line in enumerate(path.read_text().splitlines(), 1):
        text = line.strip()
        if not text or text.startswith("#"):
            continue
        try:
            if match := re.match(r"family (\w+) (\w+)$", line):
                family = Family(match[1], match[2])
            elif not family:
                raise Mistake("expected `family NAME ENUM`")
            elif match := re.match(r"op (\w+) (\w+)$", line):
                family.ops.append(Op(match[1], match[2]))
            elif line.startswith("  ") and family.ops:
                read_line(family, family.ops[-1], text)
            else:
                raise Mistake("expected `op ENUMERATOR name`")
        except Mistake as mistake:
            sys.exit(f"{path}:{number}: {mistake}: {text}")
    if not family:
        sys.exit(f"{path}: expected `family NAME ENUM`")
    return family


def check_together(families):
    """Names are unique; an attribute has one type in all ops."""
    names, types = set(), {}
    for op in (op for family in families for op in family.ops):
        for name in (op.enumerator, op.name):
            if name in names:
                sys.exit(f"two ops are called `{name}`")
            names.add(name)
        for name, kind, *_ in op.attributes() + COMMON:
            if types.setdefault(name, kind) != kind:
                sys.exit(f"{op.enumerator}: `{name}` is {types[name]} elsewhere")


def guarded(name, body):
    guard = f"RECIPERUN_OPS_{name.upper().replace('.', '_')}"
    return (f"// Generated from runtime/ops/*.ops.\n\n#ifndef {guard}\n"
            f"#define {guard}\n\n{body}\n#endif // {guard}\n")


# A family's ops are numbered from a multiple of this, so that a new op changes
# no other family's header.
OPS_PER_FAMILY = 64


def op_kind(families):
    kinds, firsts, count = "", [], 0
    for family in families:
        assert len(family.ops) <= OPS_PER_FAMILY
        firsts.append(str(count))
        count += len(family.ops)
        first = OPS_PER_FAMILY * families.index(family)
        kinds += "".join(f"  {op.enumerator} = {first + i},\n"
                         for i, op in enumerate(family.ops))
    names = "".join(f"  {camel(family.name)},\n" for family in families)
    return guarded("OpKind.h", f"""#include <cstddef>
#include <cstdint>

namespace reciperun::ops {{

enum class OpKind : uint16_t {{
{kinds}}};
inline constexpr size_t opKinds = {count};

/// The op's index, below opKinds, in tables of all ops.
constexpr size_t indexOf(OpKind kind) {{
  constexpr size_t firsts[] = {{{", ".join(firsts)}}};
  return firsts[size_t(kind) / {OPS_PER_FAMILY}] +
         size_t(kind) % {OPS_PER_FAMILY};
}}

enum class OpFamily : uint8_t {{
{names}}};

}} // namespace reciperun::ops
""")


def literal(kind, default):
    if kind == "string":
        return f'"{default}"' if default else ""
    return default or TYPES[kind][1]


def struct(op):
    base = f" : {', '.join(op.base_structs())}" if op.base_structs() else ""
    fields = ""
    for name, kind, default, _ in op.own:
        value = literal(kind, default)
        fields += (f"  {TYPES[kind][0]} {camel(name)}"
                   f"{' = ' + value if value else ''};\n")
    return (f"struct {op.struct()}{base} {{\n{fields}"
            f"  explicit {op.struct()}(const Attributes& attributes);\n}};\n")


def family_header(family, first):
    kinds = "".join(f"  {op.enumerator} = {first + i},\n"
                    for i, op in enumerate(family.ops))
    forward = "".join(f"  {op.enumerator} = {first + i},\n"
                      for i, op in enumerate(family.ops)
                      if "forward" in op.traits)
    if forward:
        forward = f"""/// Those of them that a model's forward pass is built of.
enum class Forward{family.enum} : uint16_t {{
{forward}}};

"""
    structs = "".join(struct(op) + "\n" for op in family.ops
                      if op.has_own_struct())
    aliases = "".join(
        f"using {op.enumerator}Attributes = {op.struct()};\n"
        for op in family.ops if op.struct() and not op.has_own_struct())
    return guarded(family.header(), f"""#include "runtime/ops/Attributes.h"

#include <cstdint>
#include <string>
#include <vector>

namespace reciperun::ops {{

/// The family's ops, with the values of OpKind: a switch over a {family.enum}
/// that forgets one does not compile.
enum class {family.enum} : uint16_t {{
{kinds}}};

{forward}{structs}{aliases}
}} // namespace reciperun::ops
""")


def camel(name):
    head, *rest = name.split("_")
    return head + "".join(part.capitalize() for part in rest)


def boolean(value):
    return "true" if value else "false"


def listed(name, entries):
    """An array, and a span of it; an empty span where there are none."""
    if not entries:
        return "", "{}"
    return (f"constexpr {name} = {{\n" + "".join(f"    {e},\n" for e in entries)
            + "};\n"), name.split()[-1].rstrip("[]")


def op_table(families):
    arrays, rows = "", ""
    for family in families:
        for op in family.ops:
            spans = []
            for suffix, entries in (("In", op.operands), ("Out", op.results)):
                array, span = listed(
                    f"OperandInfo {camel(op.name)}{suffix}[]",
                    [f'{{"{n}", {boolean(opt)}, {boolean(acc)}}}'
                     for n, opt, acc in entries])
                arrays += array
                spans.append(span)
            array, span = listed(
                f"AttributeInfo {camel(op.name)}Attributes[]",
                [f'{{"{n}", AttributeType::{t}, {boolean(k != "graph")}, '
                 f'{boolean(k == "group")}}}'
                 for n, t, _, k in op.attributes() + COMMON])
            arrays += array
            traits = ", ".join(f".{TRAITS[t]} = true"
                               for t in TRAITS if t in op.traits)
            reuse = -1 if op.reuse is None else op.reuse
            rows += (f'    {{OpKind::{op.enumerator}, "{op.name}", OpFamily::{camel(family.name)}, '
                     f"{spans[0]}, {spans[1]}, {span}, {reuse}, "
                     f"{{{traits}}}}},\n")
    return (f"// Generated from runtime/ops/*.ops.\n\n{arrays}\n"
            f"constexpr OpInfo table[] = {{\n{rows}}};\n")


def op_attributes(families):
    text = "// Generated from runtime/ops/*.ops.\n\n"
    for op in (op for family in families for op in family.ops):
        if not op.has_own_struct():
            continue
        made = [f"{base}(list)" for base in op.base_structs()]
        for name, kind, default, _ in op.own:
            value = literal(kind, default)
            made.append(f'{camel(name)}(list.{kind}("{name}"'
                        f"{', ' + value if value else ''}))")
        text += (f"{op.struct()}::{op.struct()}(const Attributes& list)\n    : "
                 + ",\n      ".join(made) + " {}\n\n")
    return text


def kernels(families):
    text = "// Generated from runtime/ops/*.ops: ops in the order of OpKind.\n\n"
    for op in (op for family in families for op in family.ops):
        has_none = "collective" in op.traits or "alias" in op.traits
        text += (f"NO_KERNEL({op.enumerator})\n" if has_none
                 else f"KERNEL({camel(op.name)})\n")
    return text


def write(path, text):
    if not path.exists() or path.read_text() != text:
        path.write_text(text)


def main():
    output = pathlib.Path(sys.argv[1])
    families = [read_family(pathlib.Path(name)) for name in sys.argv[2:]]
    check_together(families)
    output.mkdir(parents=True, exist_ok=True)
    write(output / "OpKind.h", op_kind(families))
    for number, family in enumerate(families):
        write(output / family.header(),
              family_header(family, OPS_PER_FAMILY * number))
    write(output / "OpTable.inc", op_table(families))
    write(output / "OpAttributes.inc", op_attributes(families))
    write(output / "Kernels.inc", kernels(families))


main()
