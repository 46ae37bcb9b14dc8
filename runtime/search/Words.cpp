// 1. Split the text into lower-case pieces.
// 2. Drop pieces that say nothing.
// 3. Write an abbreviation out, or else cut the ending off.

#include "runtime/search/Words.h"

#include <algorithm>
#include <cctype>

namespace reciperun::search {
namespace {

/// Words without a subject: of grammar, and the verbs and nouns around the
/// subject of a setting's name.
constexpr std::string_view emptyWords[] = {
    "a",      "all",     "also",     "an",     "and",      "are",    "args",
    "as",     "at",      "be",       "by",     "can",      "config", "do",
    "does",   "each",    "enable",   "for",    "from",     "has",    "have",
    "here",   "how",     "if",       "in",     "into",     "is",     "it",
    "its",    "kwargs",  "leave",    "many",   "may",      "n",      "name",
    "no",     "not",     "num",      "number", "of",       "on",     "one",
    "option", "or",      "other",    "out",    "override", "per",    "say",
    "set",    "setting", "settings", "so",     "than",     "that",   "the",
    "their",  "them",    "there",    "they",   "this",     "to",     "total",
    "use",    "used",    "value",    "what",   "when",     "where",  "which",
    "with",   "without"};

/// A form of a word in the names of settings, and what it stands for.
struct Form {
  std::string_view form;
  std::string_view words; // with a blank between them, without endings
};

/// Abbreviations of the field, and words that name one thing.
constexpr Form forms[] = {
    {"ac", "activ checkpoint"},
    {"accum", "accumul"},
    {"act", "activ"},
    {"algo", "algorithm"},
    {"attn", "attent"},
    {"bs", "batch size"},
    {"ckpt", "checkpoint"},
    {"ckpts", "checkpoint"},
    {"cp", "context parallel"},
    {"ctx", "context"},
    {"degree", "size"},
    {"dev", "valid"},
    {"devices", "device"},
    {"directory", "dir"},
    {"dp", "data parallel"},
    {"dtype", "type"},
    {"ep", "expert parallel"},
    {"eval", "valid"},
    {"evals", "valid"},
    {"evaluate", "valid"},
    {"evaluation", "valid"},
    {"ffn", "mlp"},
    {"fixes", "fix"},
    {"folder", "dir"},
    {"freq", "every"},
    {"frequency", "every"},
    {"gen", "generat"},
    {"gpu", "device"},
    {"gpus", "device"},
    {"grad", "gradient"},
    {"grads", "gradient"},
    {"interval", "every"},
    {"iter", "step"},
    {"iteration", "step"},
    {"iterations", "step"},
    {"iters", "step"},
    {"latest", "last"},
    {"len", "length"},
    {"lr", "learn rate"},
    {"maximum", "max"},
    {"mbs", "micro batch size"},
    {"mem", "memory"},
    {"minimum", "min"},
    {"msg", "message"},
    {"opt", "optimizer"},
    {"optim", "optimizer"},
    {"parallelism", "parallel"},
    {"parallelization", "parallel"},
    {"param", "parameter"},
    {"params", "parameter"},
    {"pp", "pipelin parallel"},
    {"proc", "process"},
    {"procs", "process"},
    {"quant", "quantiz"},
    {"quantization", "quantiz"},
    {"quantize", "quantiz"},
    {"quantized", "quantiz"},
    {"rand", "random"},
    {"reqs", "request"},
    {"requests", "request"},
    {"saves", "save"},
    {"seq", "sequence"},
    {"seqs", "sequence"},
    {"sequences", "sequence"},
    {"temp", "temperature"},
    {"tok", "token"},
    {"toks", "token"},
    {"tp", "tensor parallel"},
    {"val", "valid"},
    {"validate", "valid"},
    {"validates", "valid"},
    {"validation", "valid"},
    {"vp", "virtual pipelin"},
    {"wd", "weight decay"},
    {"xfmr", "transformer"},
};

/// Endings, longest first.
constexpr std::string_view endings[] = {
    "ations", "ation", "izing", "ings", "ions", "ing", "ion",
    "ers",    "ies",   "ed",    "er",   "es",   "s",   "e"};
/// What is left of a word without its ending has at least these letters.
constexpr size_t shortestStem = 4;

bool isEmptyWord(std::string_view word) {
  return std::ranges::binary_search(emptyWords, word);
}

const Form* formOf(std::string_view word) {
  const auto at = std::ranges::lower_bound(forms, word, {}, &Form::form);
  return at != std::end(forms) && at->form == word ? &*at : nullptr;
}

std::string stemOf(std::string_view word) {
  if (word.ends_with("ss"))
    return std::string(word);
  for (std::string_view ending : endings)
    if (word.size() >= ending.size() + shortestStem && word.ends_with(ending))
      return std::string(word.substr(0, word.size() - ending.size()));
  return std::string(word);
}

void addWords(std::string_view piece, std::vector<std::string>& words) {
  if (piece.empty() || isEmptyWord(piece))
    return;
  const Form* form = formOf(piece);
  if (!form) {
    words.push_back(stemOf(piece));
    return;
  }
  std::string_view rest = form->words;
  while (!rest.empty()) {
    const size_t end = std::min(rest.find(' '), rest.size());
    words.push_back(stemOf(rest.substr(0, end)));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
}

/// Whether a new piece begins at a character: at `E` of `evalEvery`, at `I` of
/// `NIters`. `before` and `after` are blanks at the ends.
bool isBeginning(unsigned char before, unsigned char c, unsigned char after) {
  return std::isupper(c) && (std::islower(before) ||
                             (std::isupper(before) && std::islower(after)));
}

} // namespace

std::vector<std::string> wordsOf(std::string_view text) {
  std::vector<std::string> words;
  std::string piece;
  for (size_t i = 0; i < text.size(); ++i) {
    const char before = i == 0 ? ' ' : text[i - 1];
    const char after = i + 1 == text.size() ? ' ' : text[i + 1];
    const bool isPart = std::isalnum(static_cast<unsigned char>(text[i]));
    if (!isPart || isBeginning(before, text[i], after)) {
      addWords(piece, words);
      piece.clear();
    }
    if (isPart)
      piece += char(std::tolower(static_cast<unsigned char>(text[i])));
  }
  addWords(piece, words);
  return words;
}

} // namespace reciperun::search
