// The long text of each kind, printed by `recipec explain KIND`: what the kind
// means and why, a small example that errs (indented by four), and the fix.
// Lines have at most 80 columns.

#include "compiler/diag/AdviceExplanations.h"
#include "compiler/diag/ClusterExplanations.h"
#include "compiler/diag/Diagnostic.h"

#include <cassert>

namespace recipec::diag {

// A kind without a paragraph fails the build.
#pragma GCC diagnostic error "-Wswitch"

static std::string_view text(Kind kind) {
  switch (kind) {
  case Kind::NotUtf8:
    return R"(
Recipes are UTF-8 text, with or without a byte order mark at the top. The
message points at the first byte that is not part of a valid sequence. It is
mostly a letter of another encoding, as in a comment that a Latin-1 editor
wrote:

    # Modèle de base

with `è` stored as the one byte E8. Convert the file, for instance with
`iconv -f LATIN1 -t UTF-8`.)";
  case Kind::UnexpectedCharacter:
    return R"(
The language has no use for this character outside strings and comments.
Strings are written with double quotes, comments begin with `#`, items end at
the line's end or with a comma. In

    task = 'sft';

both the single quotes and the semicolon are of other languages: write
`task = "sft"`.)";
  case Kind::UnclosedString:
    return R"(
A string ends on the line where it begins, at the next double quote that no
backslash escapes. In

    weights = "models/llama

the closing quote is missing: write `"models/llama"`. A line break inside a
string is `\n`, or the text stands between `"""` on lines of their own. An
open brace begins an interpolation, as in `"layers.{i}"`, which needs its `}`;
a literal brace is `\{`.)";
  case Kind::InvalidEscape:
    return R"(
Strings know the escapes `\n`, `\t`, `\r`, `\"`, `\\`, `\{`, `\}` and
`\u{1F600}`, a Unicode code point in hexadecimal. Another letter behind a
backslash has no meaning:

    dir = "C:\data\sft"

A backslash itself is written `\\`: `"C:\\data\\sft"`.)";
  case Kind::InvalidText:
    return R"(
A text of several lines stands between three quotation marks each, and both
stand apart from it: the text begins on the line below the first ones, and the
last ones are on a line of their own. What these are indented by is taken off
every line of the text, so none of them may be indented less. In

    prompt = """Dear {name},
      your order is on its way."""

the text stands beside the quotation marks: write

    prompt = """
      Dear {name},
      your order is on its way.
      """)";
  case Kind::InvalidNumber:
    return R"(
Integers are decimal, up to 9223372036854775807, with `_` between digits where
that helps, as in `1_000_000`. Other numbers have digits on both sides of the
point and perhaps an exponent: `0.5`, `2e-5`, `1.0e9`. In

    seed = 12345678901234567890

the integer does not fit into 64 bits: write a smaller one.)";
  case Kind::UnknownUnit:
    return R"(
A name behind a number is its unit. The units are

  bytes      B KB MB GB TB (powers of 1000), KiB MiB GiB TiB (of 1024)
  time       ms s min h d
  counts     step steps epoch epochs token tokens

as in `80GiB`, `30min`, `500 steps`. In

    warmup = 50 setps

the unit is misspelt: write `50 steps`. If no unit was meant, a comma or a line
break between two items is missing.)";
  case Kind::UnclosedBlock:
    return R"(
A `{` has no `}` of its own. The message points at the brace that was left
open, judged by the indentation of the lines; the closing brace belongs before
the place that the note shows. In

    recipe sft {
      parallel { tp = 2
      batch { global = 32 }
    }

the braces of `parallel` stay open: write `parallel { tp = 2 }`.)";
  case Kind::UnclosedBracket:
    return R"(
A `(` or `[` has no `)` or `]` of its own before the enclosing block ends.
Between round and square brackets line breaks are free, so the bracket may have
been meant to end many lines above the place where that shows. In

    betas = [0.9, 0.98
    clip = 1.0

the list stays open: write `betas = [0.9, 0.98]`.)";
  case Kind::UnexpectedClosing:
    return R"(
This closing bracket has no opening one, or the bracket that is open is of
another kind. In

    parallel { tp = 2 } }

one brace is too many: remove it, or look above it for a bracket that closed
too much.)";
  case Kind::NestingTooDeep:
    return R"(
Brackets, blocks and expressions nest at most 100 levels deep, so that no
input can exhaust the stack of the compiler. Only generated text gets there:

    x = ((((((((((((((((((((((((((((((((((((((((((((( ...

Give inner parts names with `let`, or build lists with a comprehension.)";
  case Kind::ExpectedToken:
    return R"(
The text up to here is the beginning of a valid construct that must go on with
the token that the message names: for instance `=` behind the name of a field,
`)` behind the arguments of a call, `then` behind the condition of an `if`
expression. In

    parallel { tp 2 }

write `tp = 2`. An item ends at the line's end unless the line ends in an
operator, a comma or `=`, or a round or square bracket is open.)";
  case Kind::ExpectedName:
    return R"(
A name stands here: letters, digits and `_`, not beginning with a digit. The
words `and auto block else false fixed for fun if in let none not or require
return then true` are part of the language and cannot be names. In

    recipe 8b { }

the name begins with a digit: write, say, `recipe llama_8b`.)";
  case Kind::ExpectedExpression:
    return R"(
A value stands here: a number, a string, a name, a list `[...]`, a record
`{ ... }`, a call, or an operation on them. In

    tp = 2 *

the second factor is missing: write it, or remove the operator.)";
  case Kind::ExpectedType:
    return R"(
A type stands here: `int`, `float`, `bool`, `string`, `dim`, `bytes`,
`duration`, `steps`, `epochs`, `tokens`, `tensor`, `any`, a literal such as
`"adamw"` or `4`, the name of a schema or model, `none`, `auto`, a list `[T]`, a
map `map[string, T]`, a function `fun(T): T`, or several of them joined with
`|`. In

    schema part {
      size : = 4
    }

the type is missing: write `size : int = 4`.)";
  case Kind::ChainedOperators:
    return R"(
Comparisons, ranges and `->` have two sides and no third: `a < b < c` would
compare a truth value with a number. In

    require 1 <= tp <= 8

write `1 <= tp and tp <= 8`, or brackets where one side is meant as a value.)";
  case Kind::ExpectedItem:
    return R"(
Between braces stand items, one a line or parted by commas:

  path = value           path { ... }           let name = value
  name : type = default  fixed name : type = e  require condition : "message"
  fun name(a): int = e   block name(x) { ... }

and in blocks of a model also `for`, `if` and `return`. In

    parallel { 2 }

the number has no name: write `tp = 2`.)";
  case Kind::ExpectedDeclaration:
    return R"(
A file is a sequence of declarations: `import`, `recipe`, `mixin`, `schema`,
`model`, `let`, `fun` and `block`. Settings belong into a recipe's braces. In

    parallel { tp = 2 }

on its own, no recipe is said to have the setting: write
`recipe sft { parallel { tp = 2 } }`.)";
  case Kind::InvalidItem:
    return R"(
The item is well formed but does not belong here or is not complete: a field's
name with dots in a schema, a block without a body outside the standard
library, statements such as `return` outside a block. In

    recipe sft {
      degree : int = 4
    }

a recipe declares a field: declare it in a `schema`, or set one with
`name = value`.)";
  case Kind::FileNotReadable:
    return R"(
The file does not exist, is a folder, or its permissions forbid reading it. The
system's reason stands in the message. In

    recipec check sft.recip

the name is misspelt: write `recipec check sft.recipe`. Paths of a command line
are relative to the folder where `recipec` is called; `std/...` names the
standard library.

Data, tokenizer and weights of a recipe are looked for where the run would look:
their relative paths start in the folder of the recipe's file, or in that of
`--folder`. What is missing is an error where the recipe is for this machine,
and a warning where `cluster.hardware` is another's or a plan is written.
`--no-files` does not look.)";
  case Kind::ImportNotFound:
    return R"(
`import std.models.llama` names a file of the standard library,
`import "../team/base.recipe" as base` one relative to the importing file.
Nothing else is searched, and no environment variable changes what an import
means. In

    import std.models.lama

the file is misspelt: write `std.models.llama`.)";
  case Kind::ImportCycle:
    return R"(
Files that import one another in a circle have no order in which they could be
evaluated. If `a.recipe` holds

    import "b.recipe"

and `b.recipe` imports `a.recipe`, move what both need into a third file that
both import.)";
  case Kind::RecipeNotFound:
    return R"(
The file holds no recipe of that name, or none at all. In

    recipec plan sft.recipe:support_bt

the name is misspelt: name one that the file declares, as `FILE:NAME`, or leave
the name away where the file has but one. A file without recipes is a library;
`recipec check` takes it, no other command does.)";
  case Kind::AmbiguousRecipe:
    return R"(
The command takes one recipe, and FILE alone names several: the recipes of the
file that are not abstract, or the points of a recipe's `sweep`. For

    recipec run sft.recipe

with two recipes in the file, name one, `FILE:NAME` or
`FILE:NAME@optimizer.lr=1e-5`; the message lists them. `recipec check FILE`
takes all at once, and `recipec plan FILE:NAME -o DIR/` writes the plan of every
point.)";
  case Kind::AbstractRecipe:
    return R"(
An `abstract recipe` is there to be amended. It may lack what only its children
know, and no command launches it. For

    abstract recipe base { ... }
    recipe sft amends base { ... }

`recipec run FILE:base` is wrong: name a recipe that amends it, here
`FILE:sft`, or add one.)";
  case Kind::InvalidData:
    return R"(
A data file that is imported (`.yaml`, `.yml`, `.json`) cannot be read. YAML is
read by the core schema of YAML 1.2: one document, keys that are strings and
stand once in their mapping, no tags, no merge keys (`<<`), numbers that are
finite. JSON is read strictly: no comments, no trailing commas. In

    {"lr": 2e-5,}

the last comma is too much: remove it.

Or the data, the tokenizer or the weights that a recipe names are there and not
what the recipe takes them for: text or a `.gz` under `tokens`, a field that the
lines of `jsonl` lack, ids at or above the model's `vocab`, a directory without
weights. The beginnings of files are read for it, 1 MiB at most. It is a warning
for a chat template whose control tokens the tokenizer lacks.)";
  case Kind::TooLarge:
    return R"(
A value is larger than any recipe needs: a string, a list, a record, or the
product of the axes of a `sweep`. The limits keep a slip of the keyboard from
filling the memory of the machine that compiles; the message names the one that
was met. In

    let rule = pad("", 100_000_000)

write the number that was meant, or split a sweep into several recipes.)";
  case Kind::TooDeep:
    return R"(
A value depends on another, which depends on another, and so on, 600 times. No
recipe needs such a chain, and a longer one could exhaust the stack of the
compiler. The labels show its last links. In a generated file of

    let a0 = a1 + 1
    let a1 = a2 + 1

and so on, compute the values with a list: `[1 + i for i in 0..1000]`.)";
  case Kind::TooManySteps:
    return R"(
Evaluation takes at most 2,000,000 steps, a hundred times what large recipes
take, so that a recipe cannot hang the compiler. A step is an expression that is
evaluated, a turn of a loop, or an element that a function goes over. In

    betas = [0.5 for i in 0..1000000000]

write the range that was meant.)";
  case Kind::UnknownName:
    return R"(
The name is not declared here: not a field, a `let`, a parameter, an import or
a declaration of this file. Names are visible below their declaration in a
block and throughout in recipes, schemas and files. In

    model = llama.llama3_8b

without an import, `llama` is not known: add `import std.models.llama` at the
top of the file.)";
  case Kind::UnknownKey:
    return R"(
Schemas are closed: a record has the fields that its schema declares and no
others, so that a misspelt setting is never silently ignored. In

    paralel { tp = 2 }

the section is misspelt: write `parallel`. `recipec doc` lists the fields, and
`recipec check --fix` corrects what is surely a slip.)";
  case Kind::UnknownArgument:
    return R"(
The called function, op, block or schema declares no parameter of this name, or
fewer parameters than there are arguments. In

    lr = cosine(peak = 2e-5, warm_up = 50 steps)

the parameter is called `warmup`: write `warmup = 50 steps`.)";
  case Kind::DuplicateName:
    return R"(
A name is declared or assigned twice in one place, so that one of the two would
be lost. In

    parallel { tp = 2 }
    parallel { tp = 4, pp = 2 }

remove one of them; braces behind the same name that set different fields amend
one another. To override an inherited value, assign it once in the
recipe that amends the other.)";
  case Kind::WrongType:
    return R"(
The value's type is not the one that the field, parameter or operator takes.
There are no silent conversions other than from `int` to `float`. In

    batch { global = "32" }

the text is not a number: write `global = 32`.)";
  case Kind::WrongUnit:
    return R"(
The value has a unit of another sort than the place takes, or has one where a
plain number is due, or lacks one: `80GiB` is a number of bytes, `500 steps` a
number of steps, `30min` a duration. In

    train { validate_every = 500 }

the unit is missing: write `500 steps`.)";
  case Kind::MissingField:
    return R"(
The schema declares this field without a default, so every record has to set
it. In

    batch { micro = 1 }

the global batch is missing: write `batch { global = 32, micro = 1 }`. A recipe
that is only there to be amended may leave it to its children: declare it as
`abstract recipe`.)";
  case Kind::MissingArgument:
    return R"(
The parameter has no default, so every call has to give it. In

    fun scaled(lr: float, ranks: int): float = lr * sqrt(ranks)
    let rate = scaled(2e-5)

the second argument is missing: write `scaled(2e-5, 8)`, or declare a default,
`ranks: int = 1`.)";
  case Kind::FixedField:
    return R"(
A `fixed` field follows from others by its definition and cannot be set. In

    batch { global = 32, micro = 1, accumulation = 4 }

the accumulation is what the other numbers and `dp` leave: set the fields that
it is computed from; the note shows the definition.)";
  case Kind::RequireFailed:
    return R"(
A schema ties fields together with `require`; the condition does not hold for
this recipe. The labels and notes show the value of every operand and where it
came from. In

    cluster  { ranks = 8 }
    parallel { tp = 3 }

the degree does not divide the ranks: change one of them as the help says.)";
  case Kind::Recursion:
    return R"(
A value needs itself to be computed, or a function calls itself. Evaluation
must end, so neither is allowed. In

    let width = 4 * heads
    let heads = width / 4

each needs the other: give one of them a value of its own. A list over a range
takes the place of a function that calls itself.)";
  case Kind::InvalidValue:
    return R"(
The value has the right type but lies outside what can be meant: a division by
zero, an overflow, an index outside a list. In

    let sizes = [1, 2]
    let third = sizes[2]

elements are counted from 0, so that the last is `sizes[1]`: name that, or add
an element.)";
  case Kind::NotSupported:
    return R"(
The language and the standard library describe more than this version of the
compiler turns into a plan. Such a recipe is sound: `recipec plan --emit=recipe`
prints it and `recipec explain FILE PATH` explains its values, but no plan can
be made of it yet. Every setting and every op of the model that is not supported
is reported at once. For

    precision { moments = "fp8" }

the help says what this version takes instead: change the value to that. Kernels
of GPUs have sizes that they are not made for, such as heads of more than 256
elements, where those of CPU ranks take any.)";
  case Kind::ShapeMismatch:
    return R"(
The named dimensions of a tensor are not those that the op takes. Dimensions
are matched by name, never by size alone, so that two dimensions that happen to
be of one size are not confused. In

    block forward(x) {
      h = linear(x, hidden -> ffn)
      return x + h
    }

the sum is of `hidden` and `ffn`: bring `h` back with
`linear(h, ffn -> hidden)`.)";
  case Kind::Indivisible:
    return R"(
A dimension is cut into equal parts, one for each rank of a mesh axis; the size
is not a multiple of the degree. In

    model    = llama.llama { heads = 32, ... }
    parallel { tp = 3 }

32 heads do not divide into 3 equal parts: change `tp` to one of the degrees
that the help names.)";
  case Kind::UnfitForFp8:
    return R"(
Matmuls in fp8 take matrices whose sizes, on each rank, are multiples of 16, or
of 32 where `precision.fp8` is "mxfp8": the inputs and the outputs of a linear
layer, and the tokens of a micro-batch. Where it is "blockwise", tokens, and
inputs and outputs that an axis splits, are multiples of 128. In

    precision { compute = "fp8" }
    parallel  { tp = 4 }

a linear from 4096 to 1056 makes 264 of its outputs on each of 4 ranks, which is
not a multiple of 16: change the size or the degree that splits it, or write
`compute = "bf16"`.)";
  case Kind::OutOfMemory:
    return R"(
All device memory is planned before the launch. The plan needs more than the
hardware has; the notes list the largest parts, the help what would make it
fit. In

    cluster { hardware = h100, ranks = 1 }
    model   = llama.llama3_70b

the weights alone exceed the 80 GB of a device: use more ranks with a higher
`parallel.tp`, a smaller `batch.micro`, or what else the help names.)";
  case Kind::UnlikelySetting:
    return R"(
The recipe compiles and runs, but a setting of it is probably not meant: it is
a warning. In

    optimizer = adamw { lr = cosine(peak = 1e-4, warmup = 2000 steps) }
    train { steps = 500 }

the learning rate would rise for the whole run and never reach its peak: shorten
`warmup`. With `task = "sft"` the loss is on the answers alone, which `text` and
`tokens` do not tell from the rest: name a `jsonl` with its prompts, or write
`task = "pretrain"`.)";
  case Kind::BenchWrongElements:
    return R"(
nccl-tests compares the result of each collective with the exact one. `#wrong`
is the number of elements that differ, on all ranks:

    1048576  262144  float  sum  -1  25.1  41.8  78.3  3  25.0  41.9  78.6  0

A sum of the test is exact in every order, so a wrong element is no rounding: a
GPU, a link or the library corrupts data, and the bandwidth means nothing. Run
again with each host left out to find the one at fault. `NCCL_PROTO=LL128` can
be the cause where NCCL would not choose LL128: leave the variable out.)";
  case Kind::BenchContradiction:
    return R"(
Two numbers of a log of nccl-tests do not agree, so that one of them is of
another run, or was edited. All follow from each other:

    algbw = size / time
    busbw = algbw * 2 (n - 1) / n      of an all-reduce on n ranks
    busbw = algbw * (n - 1) / n        of an all-gather, reduce-scatter, ...
    average = the mean of all bus bandwidths, out of place and in place

The second line gives the number of ranks: a table "of 64 GPUs" whose busbw is
1.97917 times its algbw was measured on 96. Bounds account for the rounding of
the printed numbers. Rows above the `maxBytes` of the line with the settings are
of another run, too.)";
  case Kind::BenchAboveLink:
    return R"(
The bus bandwidth is above what the NVLink of a GPU carries in one direction.

    8 x H100: busbw 480 GB/s, and its NVLink has 450 GB/s

With NVLS, NVLink's switches add and multicast: a GPU sends its data once
instead of nearly twice, and nccl-tests still counts 2 (n - 1) / n. The figure
compares with other runs of nccl-tests. The rate of the link is lower: about
algbw * (n + 1) / n. Without NVLS, by `NCCL_NVLS_ENABLE=0`, busbw stays below
the link.)";
  case Kind::ManifestSchema:
  case Kind::ManifestVersion:
  case Kind::ManifestRanks:
  case Kind::ManifestReference:
  case Kind::ManifestPod:
  case Kind::ManifestPolicy:
  case Kind::ManifestSecret:
  case Kind::EnvironmentUnused:
  case Kind::EnvironmentOutdated:
  case Kind::EnvironmentValue:
  case Kind::EnvironmentHarmful:
  case Kind::EnvironmentContradiction:
    return clusterText(kind);
  case Kind::TensorParallelOverNetwork:
  case Kind::ExpertParallelOverNetwork:
  case Kind::SplitNvlinkDomain:
  case Kind::NarrowTensorParallel:
  case Kind::ShortContextParallel:
  case Kind::ExpertTensorParallel:
  case Kind::PipelineNotInterleaved:
  case Kind::UnbalancedStages:
  case Kind::SmallFp8Matmuls:
  case Kind::LossyGradientReduction:
  case Kind::SmallBuckets:
  case Kind::NeedlessRecompute:
  case Kind::SlowOffload:
    return adviceText(kind);
  }
  assert(false && "not a kind");
  return {};
}

std::string_view explanation(Kind kind) {
  // The raw strings begin with a line break.
  return text(kind).substr(1);
}

} // namespace recipec::diag
