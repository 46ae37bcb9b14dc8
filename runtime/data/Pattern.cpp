// Compiles and matches a translated expression with PCRE2 and its JIT.

#include "runtime/data/Pattern.h"

#include "runtime/data/Utf8.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <limits>

namespace reciperun::data {

namespace {

// Long runs that a pattern backtracks over need more than the 32 KiB that the
// JIT takes from the machine stack.
constexpr size_t jitStackStart = 64 << 10;
constexpr size_t jitStackLimit = 64 << 20;

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
      PCRE2_UTF | PCRE2_UCP | PCRE2_MULTILINE, &error, &place, options);
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
  // Without a JIT (an odd processor) the interpreter gives the same matches.
  pcre2_jit_compile(*code, PCRE2_JIT_COMPLETE);
  compiled->match = pcre2_match_data_create(1, nullptr);
  compiled->context = pcre2_match_context_create(nullptr);
  compiled->stack =
      pcre2_jit_stack_create(jitStackStart, jitStackLimit, nullptr);
  if (!compiled->match || !compiled->context || !compiled->stack)
    return Status::error("no memory is left for a regular expression");
  pcre2_jit_stack_assign(compiled->context, nullptr, compiled->stack);
  pcre2_set_match_limit(compiled->context,
                        std::numeric_limits<uint32_t>::max());
  return Pattern(std::move(compiled));
}

Expected<Pattern> Pattern::literal(std::string_view text) {
  return compile(escapeLiteral(text));
}

Expected<Span> Pattern::next(std::string_view text, size_t from) const {
  const auto subject = reinterpret_cast<PCRE2_SPTR>(text.data());
  int rc = pcre2_match(compiled->code, subject, text.size(), from,
                       PCRE2_NO_UTF_CHECK, compiled->match, compiled->context);
  if (rc == PCRE2_ERROR_JIT_STACKLIMIT)
    rc = pcre2_match(compiled->code, subject, text.size(), from,
                     PCRE2_NO_UTF_CHECK | PCRE2_NO_JIT, compiled->match,
                     compiled->context);
  if (rc == PCRE2_ERROR_NOMATCH)
    return Span{text.size(), text.size()};
  if (rc < 0)
    return Status::error("a text of " + std::to_string(text.size()) +
                         " bytes is too long for the tokenizer's regular "
                         "expression (PCRE2 error " +
                         std::to_string(rc) + ")");
  const PCRE2_SIZE* ends = pcre2_get_ovector_pointer(compiled->match);
  return Span{ends[0], ends[1]};
}

Status Pattern::matches(std::string_view text, std::vector<Span>& found) const {
  // An empty match counts unless it touches the match before it; the search
  // goes on one code point further.
  size_t lastEnd = std::string_view::npos;
  for (size_t from = 0; from < text.size();) {
    const Expected<Span> span = next(text, from);
    RECIPERUN_TRY(span);
    if (span->begin == text.size())
      break;
    from = span->end;
    const bool empty = span->begin == span->end;
    if (!empty || span->end != lastEnd)
      found.push_back(*span);
    if (empty)
      from += utf8UnitAt(text, from).bytes;
    lastEnd = span->end;
  }
  return {};
}

} // namespace reciperun::data
