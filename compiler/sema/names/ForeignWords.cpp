// Words that other languages have, and what to write instead.

#include "compiler/sema/names/ForeignWords.h"

#include <string>
#include <string_view>

namespace recipec::sema {
namespace {

/// A word that other languages have, and ours or what to write instead.
struct ForeignWord {
  std::string_view foreign, own;
};

constexpr ForeignWord foreignWords[] = {
    {"True", "true"},      {"TRUE", "true"},   {"yes", "true"},
    {"Yes", "true"},       {"on", "true"},     {"On", "true"},
    {"False", "false"},    {"FALSE", "false"}, {"no", "false"},
    {"No", "false"},       {"off", "false"},   {"Off", "false"},
    {"None", "none"},      {"NONE", "none"},   {"null", "none"},
    {"Null", "none"},      {"NULL", "none"},   {"nil", "none"},
    {"undefined", "none"}, {"Auto", "auto"},   {"AUTO", "auto"},
};

constexpr std::string_view noPermutation =
    "no op permutes dimensions: `linear(x, hidden -> [heads, head_dim], name = "
    "\"q\")` makes those that `attention` takes";

constexpr std::string_view softmaxIsInside =
    "`attention(q, k, v)` has the product, the mask and the softmax in it, and "
    "`router` that of experts";

constexpr std::string_view softmaxOfLogits =
    "leave it out: the loss has the softmax of the logits in it, `attention(q, "
    "k, v)` that of the scores, and `router` that of experts";

constexpr std::string_view lossIsOutside =
    "`forward` returns the logits, and training computes their loss: leave it "
    "out";

constexpr std::string_view maskIsInside =
    "leave it out: `causal` of `attention` and the documents of a row are the "
    "mask";

constexpr std::string_view sizesAreFields =
    "the sizes of tensors are fields of the model, such as `hidden` or "
    "`layers`: write the field";

constexpr ForeignWord foreignFunctions[] = {
    {"shape", sizesAreFields},
    {"ndim", sizesAreFields},
    {"dict", "a record is written `{ name = value }`"},
    {"list", "a list is written `[a, b]`"},
    {"tuple", "a list is written `[a, b]`"},
    {"set", "a list is written `[a, b]`, and `unique(list)` has each element "
            "once"},
    {"print", "`recipec explain FILE PATH` prints a value"},
    {"lambda", "a function is declared `fun name(a: int): int = value`"},
    {"math", "functions such as `sqrt` and `exp` need no import: leave `math.` "
             "out"},
    {"np", "functions such as `sqrt` and `exp` need no import: leave `np.` "
           "out"},
    {"hf", "files are named by paths: download the repository, and name its "
           "`tokenizer.json` or, as `weights`, its folder"},
    {"mix", "several sources are `blend([a, b], weights = [0.5, 0.5])`"},
    {"interleave_datasets",
     "several sources are `blend([a, b], weights = [0.5, 0.5])`"},
    {"concatenate_datasets", "several sources are `blend([a, b])`"},
    {"rotary", "rotary positions are `rope(x)`"},
    {"softmax", softmaxOfLogits},
    {"Softmax", softmaxOfLogits},
    {"log_softmax", softmaxOfLogits},
    {"LogSoftmax", softmaxOfLogits},
    {"cross_entropy", lossIsOutside},
    {"CrossEntropyLoss", lossIsOutside},
    {"nll_loss", lossIsOutside},
    {"masked_fill", maskIsInside},
    {"tril", maskIsInside},
    {"triu", maskIsInside},
    {"causal_mask", maskIsInside},
    {"sdpa", softmaxIsInside},
    {"scaled_dot_product_attention", softmaxIsInside},
    {"flash_attention", softmaxIsInside},
    {"flash_attn_func", softmaxIsInside},
    {"relu", "there is no op `relu`: `relu2` is its square, `silu` and `gelu` "
             "are smooth alternatives"},
    {"transpose", noPermutation},
    {"permute", noPermutation},
    {"view", noPermutation},
    {"reshape", noPermutation},
    {"rearrange", noPermutation},
    {"token_file", "files of token ids are written `tokens(path)`"},
    {"swiglu", "write `silu(gate) * up`"},
    {"geglu", "write `gelu(gate) * up`"},
    {"matmul", "a matrix product is `linear(x, from -> to, name = \"...\")`"},
    {"AutoTokenizer", "a tokenizer is named by the path of `tokenizer.json`"},
    {"AutoModelForCausalLM",
     "weights are named by the path of a folder of Hugging Face's"},
    {"load_dataset", "data are files: `jsonl(\"train.jsonl\", ...)`, "
                     "`text(\"*.txt\")` or `tokens(...)`"},
    {"os",
     "a recipe sees no environment: pass a value with `--set PATH=VALUE`"},
    {"env", "a recipe sees no environment: pass a value with "
            "`--set PATH=VALUE`"},
    {"torch", "types are texts, as in `precision.compute = \"bf16\"`"},
    {"inf", "numbers are finite; `none` sets no bound"},
    {"nan", "numbers are finite"},
    {"self", "fields of the same record are named without it; `outer` is the "
             "record around"},
    {"this", "fields of the same record are named without it; `outer` is the "
             "record around"},
    {"ceil_div", "write `ceil(a / b)`"},
    {"cdiv", "write `ceil(a / b)`"},
    {"div_up", "write `ceil(a / b)`"},
    {"floor_div", "write `floor(a / b)`"},
    {"int", "write `floor(x)`, `round(x)` or `ceil(x)`"},
    {"float", "write `x * 1.0`"},
    {"str", "a value stands in a text between braces: `\"{x}\"`"},
    {"format", "a value stands in a text between braces: `\"{x}\"`"},
    {"range", "write `0..n`"},
    {"map", "write `[f(x) for x in xs]`"},
    {"filter", "write `[x for x in xs if condition]`"},
    {"var",
     "values have no prefix: leave `var.` out; a named value is declared "
     "`let name = value`"},
    {"local", "values have no prefix: leave `local.` out; a named value is "
              "declared `let name = value`"},
    {"config", "fields of the same recipe are named by their paths: leave "
               "`config.` out"},
    {"cfg", "fields of the same recipe are named by their paths: leave `cfg.` "
            "out"},
    {"args",
     "fields of the same recipe are named by their paths: leave `args.` "
     "out"},
    {"builtins", "built-in functions have no prefix: leave `builtins.` out"},
    {"import", "files are imported at the top of a file: `import "
               "\"FILE.recipe\" { name }`"},
    {"clamp", "of numbers write `max(low, min(x, high))`"},
    {"clip", "of numbers write `max(low, min(x, high))`"},
    {"log2", "write `log(x, 2)`"},
    {"log10", "write `log(x, 10)`"},
    {"contains", "write `x in xs`"},
    {"getenv", "a recipe sees no environment: pass a value with `--set "
               "PATH=VALUE`"},
    {"isinstance", "a type is tested with `x is int`"},
    {"type", "a type is tested with `x is int`"},
    {"enumerate", "write `for i, x in xs`, which gives index and element"},
    {"super", "a field that is not set anew keeps the parent's value"},
};

} // namespace

bool helpWithForeignWord(diag::Builder& builder, const ast::Name& name) {
  for (const ForeignWord& word : foreignWords)
    if (word.foreign == name.text) {
      std::string own(word.own);
      builder.help("write `" + own + "`")
          .fixIt(name.range, own, diag::Applicability::safe);
      return true;
    }
  for (const ForeignWord& word : foreignFunctions)
    if (word.foreign == name.text) {
      builder.help(std::string(word.own));
      return true;
    }
  return false;
}

} // namespace recipec::sema
