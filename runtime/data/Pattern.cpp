// Compiles and matches a translated expression with PCRE2 and its JIT.

#include "runtime/data/Pattern.h"

#include "runtime/base/StopSignal.h"
#include "runtime/data/Utf8.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <algorithm>

namespace reciperun::data {

namespace {

// Long runs that a pattern backtracks over need more stack than the 32 KiB of
// machine stack that the JIT uses.
constexpr size_t jitStackStart = 64 << 10;
constexpr size_t jitStackLimit = 64 << 20;
// The interpreter's heap limit in KiB, when it runs instead of the JIT.
constexpr uint32_t heapLimit = 1 << 18;

/// The step limit of a match at one offset: reasonable patterns scan a run of
/// bytes a few times at most. The largest limit takes about a second.
uint32_t matchLimit(size_t rest) {
  constexpr size_t least = 1'000'000, mostForByte = 16, most = 100'000'000;
  return static_cast<uint32_t>(
      std::min(least + mostForByte * std::min(rest, most), most));
}

/// The start of the last code point of a piece of the text.
size_t lastOfPiece(std::string_view text, size_t from) {
  constexpr size_t pieceBytes = 256;
  size_t last = std::min(from + pieceBytes, text.size() - 1);
  while (last > from && (static_cast<uint8_t>(text[last]) & 0xC0) == 0x80)
    --last;
  return last;
}

std::string excerptAt(std::string_view text, size_t from) {
  constexpr size_t shown = 24;
  const size_t end = std::min(from + shown, text.size());
  std::string some(text.substr(from, end - from));
  some.resize(some.size() - cutOffBytes(some));
  std::replace(some.begin(), some.end(), '\n', ' ');
  return some + (end < text.size() ? "..." : "");
}

const char* complaint(int rc) {
  return rc == PCRE2_ERROR_MATCHLIMIT ? "backtracks without bound"
                                      : "takes more memory than a pattern may";
}

std::string escapeLiteral(std::string_view text) {
  static constexpr std::string_view special = "\\^$.|?*+()[]{}#-&~ ";
  std::string escaped;
  for (char c : text) {
    if (special.find(c) != std::string_view::npos)
      escaped += '\\';
    escaped += c;
  }
  return escaped;
}

} // namespace

struct Pattern::Compiled {
  std::string expression; // as the file has it
  pcre2_code* code = nullptr;
  pcre2_match_data* match = nullptr;
  pcre2_match_context* context = nullptr;
  pcre2_jit_stack* stack = nullptr;
};

void Pattern::Free::operator()(Compiled* compiled) const {
  pcre2_jit_stack_free(compiled->stack);
  pcre2_match_context_free(compiled->context);
  pcre2_match_data_free(compiled->match);
  pcre2_code_free(compiled->code);
  delete compiled;
}

Pattern::Pattern(std::unique_ptr<Compiled, Free> compiled)
    : compiled(std::move(compiled)) {}

static Expected<pcre2_code*> compileCode(const std::string& source) {
  pcre2_compile_context* options = pcre2_compile_context_create(nullptr);
  pcre2_set_newline(options, PCRE2_NEWLINE_LF);
  int error = 0;
  PCRE2_SIZE place = 0;
  // Ruby's ^ and $ match at every line.
  pcre2_code* code = pcre2_compile(
      reinterpret_cast<PCRE2_SPTR>(source.data()), source.size(),
      PCRE2_UTF | PCRE2_UCP | PCRE2_MULTILINE | PCRE2_USE_OFFSET_LIMIT, &error,
      &place, options);
  pcre2_compile_context_free(options);
  if (!code)
    return Status::error("the regular expression `" + source +
                         "` cannot be read at its byte " +
                         std::to_string(place + 1));
  return code;
}

Expected<Pattern> Pattern::compile(std::string_view expression) {
  Expected<std::string> source = translatePattern(expression);
  RECIPERUN_TRY(source);
  Expected<pcre2_code*> code = compileCode(*source);
  RECIPERUN_TRY(code);

  std::unique_ptr<Compiled, Free> compiled(new Compiled);
  compiled->code = *code;
  // On a processor without JIT support the interpreter gives the same matches.
  pcre2_jit_compile(*code, PCRE2_JIT_COMPLETE);
  compiled->match = pcre2_match_data_create(1, nullptr);
  compiled->context = pcre2_match_context_create(nullptr);
  compiled->stack =
      pcre2_jit_stack_create(jitStackStart, jitStackLimit, nullptr);
  if (!compiled->match || !compiled->context || !compiled->stack)
    return Status::error("no memory is left for a regular expression");
  pcre2_jit_stack_assign(compiled->context, nullptr, compiled->stack);
  pcre2_set_heap_limit(compiled->context, heapLimit);
  compiled->expression = expression;
  return Pattern(std::move(compiled));
}

Expected<Pattern> Pattern::literal(std::string_view text) {
  return compile(escapeLiteral(text));
}

/// The search advances piece by piece, because one PCRE2 call cannot check
/// whether the run is asked to stop.
Expected<std::optional<Span>> Pattern::search(std::string_view text,
                                              size_t from, size_t last) const {
  pcre2_set_offset_limit(compiled->context, last);
  pcre2_set_match_limit(compiled->context, matchLimit(text.size() - from));
  const auto subject = reinterpret_cast<PCRE2_SPTR>(text.data());
  const auto match = [&](uint32_t options) {
    return pcre2_match(compiled->code, subject, text.size(), from,
                       PCRE2_NO_UTF_CHECK | options, compiled->match,
                       compiled->context);
  };
  int rc = match(0);
  if (rc == PCRE2_ERROR_JIT_STACKLIMIT)
    rc = match(PCRE2_NO_JIT);
  if (rc == PCRE2_ERROR_NOMATCH)
    return std::optional<Span>();
  if (rc < 0)
    return Status::error("the tokenizer's regular expression `" +
                         compiled->expression + "` " + complaint(rc) + " at `" +
                         excerptAt(text, from) + "`");
  const PCRE2_SIZE* ends = pcre2_get_ovector_pointer(compiled->match);
  return std::optional(Span{ends[0], ends[1]});
}

/// An empty match counts unless it touches the previous match. After an empty
/// match the search advances by one code point.
Expected<std::optional<Span>> Pattern::Matches::next() {
  while (from < text.size()) {
    RECIPERUN_TRY(checkStopSignal());
    const size_t last = lastOfPiece(text, from);
    const auto found = pattern.search(text, from, last);
    RECIPERUN_TRY(found);
    if (!*found) {
      from = last + utf8UnitAt(text, last).bytes;
      continue;
    }
    const Span span = **found;
    if (span.begin == text.size())
      break;
    const bool isEmpty = span.begin == span.end;
    const bool counts = !isEmpty || span.end != lastEnd;
    from = span.end + (isEmpty ? utf8UnitAt(text, span.end).bytes : 0);
    lastEnd = span.end;
    if (counts)
      return std::optional(span);
  }
  from = text.size();
  return std::optional<Span>();
}

Status Pattern::matches(std::string_view text, std::vector<Span>& found) const {
  Matches all(*this, text);
  for (;;) {
    const auto next = all.next();
    RECIPERUN_TRY(next);
    if (!*next)
      return {};
    found.push_back(**next);
  }
}

} // namespace reciperun::data
