// The long text behind each kind, printed by `recipec explain KIND`: what the
// compiler expects, why, and what to do. Lines of at most 79 columns.

#include "compiler/diag/Diagnostic.h"

#include <cassert>

namespace recipec::diag {

// A kind without its paragraph fails the build.
#pragma GCC diagnostic error "-Wswitch"

static std::string_view text(Kind kind) {
  switch (kind) {
  case Kind::NotUtf8:
    return R"(
Recipes are UTF-8 text. The message gives the offset of the first byte that
is not part of a valid sequence. Convert the file, for instance with
`iconv -f LATIN1 -t UTF-8`. A byte order mark at the top is allowed.)";
  case Kind::UnexpectedCharacter:
    return R"(
The language has no use for this character outside strings and comments.
Strings are written with double quotes, comments begin with `#`, items end at
the line's end or with a comma.)";
  case Kind::UnclosedString:
    return R"(
A string ends on the line where it begins. Write a line break as `\n`, a
quote as `\"`, a backslash as `\\` and a literal brace as `\{`: an open brace
begins an interpolation, as in `"layers.{i}"`, which needs its `}`.)";
  case Kind::InvalidEscape:
    return R"(
Strings know the escapes `\n`, `\t`, `\r`, `\"`, `\\`, `\{`, `\}` and
`\u{1F600}` (a Unicode code point in hexadecimal). A backslash itself is
written `\\`.)";
  case Kind::InvalidNumber:
    return R"(
Integers are decimal, up to 9223372036854775807, with `_` between digits where
that helps: `1_000_000`. Other numbers have digits on both sides of the point
and perhaps an exponent: `0.5`, `2e-5`, `1.0e9`.)";
  case Kind::UnknownUnit:
    return R"(
A name behind a number is its unit. The units are

  bytes      B KB MB GB TB (powers of 1000), KiB MiB GiB TiB (of 1024)
  time       ms s min h d
  counts     step steps epoch epochs token tokens

as in `80GiB`, `30min`, `500 steps`. If no unit was meant, a comma or a line
break between two items is missing.)";
  case Kind::UnclosedBlock:
    return R"(
A `{` has no `}` of its own. The message points at the brace that was left
open, judged by the indentation of the lines; the closing brace belongs before
the place that the note shows.)";
  case Kind::UnclosedBracket:
    return R"(
A `(` or `[` has no `)` or `]` of its own before the enclosing block ends.
Between round and square brackets line breaks are free, so the bracket may have
been meant to end many lines above the place where that shows.)";
  case Kind::UnexpectedClosing:
    return R"(
This closing bracket has no opening one: remove it, or look above it for a
bracket that closed too much.)";
  case Kind::NestingTooDeep:
    return R"(
Brackets, blocks and expressions nest at most 100 levels deep, so that no
input can exhaust the stack of the compiler. Give inner parts names with `let`
or build lists with a comprehension.)";
  case Kind::ExpectedToken:
    return R"(
The text up to here is the beginning of a valid construct that must go on with
the token that the message names: for instance `=` behind the name of a field,
`)` behind the arguments of a call, `then` behind the condition of an `if`
expression. An item ends at the line's end unless the line ends in an operator,
a comma or `=`, or a round or square bracket is open.)";
  case Kind::ExpectedName:
    return R"(
A name stands here: letters, digits and `_`, not beginning with a digit. The
words `and auto block else false fixed for fun if in let none not or require
return then true` are part of the language and cannot be names.)";
  case Kind::ExpectedExpression:
    return R"(
A value stands here: a number, a string, a name, a list `[...]`, a record
`{ ... }`, a call, or an operation on them.)";
  case Kind::ExpectedType:
    return R"(
A type stands here: `int`, `float`, `bool`, `string`, `dim`, `bytes`,
`duration`, `steps`, `epochs`, `tokens`, `tensor`, `any`, a literal string, the
name of a schema or model, `none`, `auto`, a list `[T]`, a map
`map[string, T]`, or several of them joined with `|`.)";
  case Kind::ChainedOperators:
    return R"(
Comparisons, ranges and `->` have two sides and no third: `a < b < c` would
compare a truth value with a number. Write `a < b and b < c`, or brackets.)";
  case Kind::ExpectedItem:
    return R"(
Between braces stand items, one a line or parted by commas:

  path = value           path { ... }           let name = value
  name : type = default  fixed name : type = e  require condition : "message"
  fun name(a): int = e   block name(x) { ... }

and in blocks of a model also `for`, `if` and `return`.)";
  case Kind::ExpectedDeclaration:
    return R"(
A file is a sequence of declarations: `import`, `recipe`, `schema`, `model`,
`let`, `fun` and `block`. Settings belong into a recipe's braces.)";
  case Kind::InvalidItem:
    return R"(
The item is well formed but does not belong here or is not complete: a field's
name with dots in a schema, a block without a body outside the standard
library, statements such as `return` outside a block.)";
  case Kind::FileNotReadable:
    return R"(
The file does not exist, is a folder, or its permissions forbid reading it.
The system's reason stands in the message.)";
  case Kind::ImportNotFound:
    return R"(
`import std.models.llama` names a file of the standard library,
`import "../team/base.recipe" as base` one relative to the importing file.
Nothing else is searched: no environment variable changes what an import
means.)";
  case Kind::ImportCycle:
    return R"(
Files that import one another in a circle have no order in which they could be
evaluated. Move what both need into a third file.)";
  case Kind::RecipeNotFound:
    return R"(
The file holds no recipe of that name, or holds several and none was named.
Name one as `FILE:NAME`.)";
  case Kind::UnknownName:
    return R"(
The name is not declared here: not a field, a `let`, a parameter, an import or
a declaration of this file. Names are visible below their declaration in a
block and throughout in recipes, schemas and files.)";
  case Kind::UnknownKey:
    return R"(
Schemas are closed: a record has the fields that its schema declares and no
others, so that a misspelt setting is never silently ignored. `recipec doc`
lists the fields.)";
  case Kind::UnknownArgument:
    return R"(
The called function, op, block or schema declares no parameter of this name, or
fewer parameters than there are arguments.)";
  case Kind::DuplicateName:
    return R"(
A name is declared or assigned twice in one place. To override an inherited
value, assign it once in the recipe that amends the other.)";
  case Kind::WrongType:
    return R"(
The value's type is not the one that the field, parameter or operator takes.
There are no silent conversions other than from `int` to `float`.)";
  case Kind::WrongUnit:
    return R"(
The value has a unit of another sort than the place takes, or has one where a
plain number is due, or lacks one: `80GiB` is a number of bytes, `500 steps` a
number of steps, `30min` a duration.)";
  case Kind::MissingField:
    return R"(
The schema declares this field without a default, so every record has to set
it.)";
  case Kind::MissingArgument:
    return R"(
The parameter has no default, so every call has to give it.)";
  case Kind::FixedField:
    return R"(
A `fixed` field follows from others by its definition and cannot be set. Set
the fields that it is computed from; the note shows the definition.)";
  case Kind::RequireFailed:
    return R"(
A schema ties fields together with `require`; the condition does not hold for
this recipe. The notes show the value of every operand and where it came
from.)";
  case Kind::Recursion:
    return R"(
A value needs itself to be computed, or a function calls itself. Evaluation
must end, so neither is allowed.)";
  case Kind::InvalidValue:
    return R"(
The value has the right type but lies outside what can be meant: a division by
zero, an overflow, an index outside a list.)";
  case Kind::ShapeMismatch:
    return R"(
The named dimensions of a tensor are not those that the op takes. Dimensions
are matched by name, never by size alone.)";
  case Kind::Indivisible:
    return R"(
A dimension is cut into equal parts, one for each rank of a mesh axis; the size
is not a multiple of the degree. The help names degrees that divide it.)";
  case Kind::OutOfMemory:
    return R"(
All device memory is planned before the launch. The plan needs more than the
hardware has; the notes list the largest parts, the help what would make it
fit.)";
  }
  assert(false && "not a kind");
  return {};
}

std::string_view explanation(Kind kind) {
  // Each text begins on a line of its own.
  return text(kind).substr(1);
}

} // namespace recipec::diag
