// See Methods.h. A line of the table is a method and our expression, in which
// `$` is the value and `%1` and `%2` are the arguments.

#include "compiler/sema/names/Methods.h"

#include "compiler/sema/Evaluator.h"
#include "compiler/sema/types/Convert.h"

#include <algorithm>
#include <array>
#include <string>

namespace recipec::sema {
namespace {

struct Method {
  std::string_view foreign, own;
  std::string_view given = "x"; // the first argument where none is written
};

constexpr Method methods[] = {
    {"len", "len($)"},
    {"length", "len($)"},
    {"size", "len($)"},
    {"count", "len($)"},
    {"append", "$ + [%1]"},
    {"push", "$ + [%1]"},
    {"add", "$ + [%1]"},
    {"extend", "$ + %1", "xs"},
    {"concat", "$ + %1", "xs"},
    {"insert", "[%2] + $"},
    {"unshift", "[%1] + $"},
    {"first", "$[0]"},
    {"last", "$[len($) - 1]"},
    {"pop", "$[0..len($) - 1]"},
    {"shift", "$[1..len($)]"},
    {"slice", "$[%1..%2]", "0"},
    {"substring", "$[%1..%2]", "0"},
    {"substr", "$[%1..%2]", "0"},
    {"take", "$[0..%1]", "n"},
    {"drop", "$[%1..len($)]", "n"},
    {"upper", "upper($)"},
    {"toUpperCase", "upper($)"},
    {"lower", "lower($)"},
    {"toLowerCase", "lower($)"},
    {"strip", "trim($)"},
    {"trim", "trim($)"},
    {"split", "split($, %1)", "\",\""},
    {"join", "join($, %1)", "\",\""},
    {"replace", "replace($, %1, %2)", "\"a\""},
    {"startswith", "starts_with($, %1)", "\"a\""},
    {"startsWith", "starts_with($, %1)", "\"a\""},
    {"starts_with", "starts_with($, %1)", "\"a\""},
    {"endswith", "ends_with($, %1)", "\"a\""},
    {"endsWith", "ends_with($, %1)", "\"a\""},
    {"ends_with", "ends_with($, %1)", "\"a\""},
    {"contains", "%1 in $"},
    {"includes", "%1 in $"},
    {"has", "%1 in $", "\"a\""},
    {"has_key", "%1 in $", "\"a\""},
    {"hasKey", "%1 in $", "\"a\""},
    {"containsKey", "%1 in $", "\"a\""},
    {"hasOwnProperty", "%1 in $", "\"a\""},
    {"get", "if %1 in $ then $[%1] else %2", "\"a\""},
    {"getOrDefault", "if %1 in $ then $[%1] else %2", "\"a\""},
    {"setdefault", "if %1 in $ then $[%1] else %2", "\"a\""},
    {"update", "$ { a = 1 }"},
    {"merge", "$ { a = 1 }"},
    {"set", "$ { a = 1 }"},
    {"copy", "$"},
    {"clone", "$"},
    {"sort", "sorted($)"},
    {"sorted", "sorted($)"},
    {"reverse", "reversed($)"},
    {"reversed", "reversed($)"},
    {"unique", "unique($)"},
    {"flatten", "flatten($)"},
    {"sum", "sum($)"},
    {"min", "min($)"},
    {"max", "max($)"},
    {"map", "[f(x) for x in $]"},
    {"forEach", "[f(x) for x in $]"},
    {"filter", "[x for x in $ if condition]"},
    {"keys", "keys($)"},
    {"values", "values($)"},
    {"items", "for k, v in $"},
    {"iteritems", "for k, v in $"},
    {"entries", "for k, v in $"},
    {"enumerate", "for i, x in $"},
    {"to_string", "str($)"},
    {"toString", "str($)"},
    {"zfill", "pad($, %1)", "3"},
    {"padStart", "pad($, %1)", "3"},
    {"rjust", "pad($, %1)", "3"},
    {"round", "round($)"},
    {"floor", "floor($)"},
    {"abs", "abs($)"},
};

/// The first two arguments of the call that follows at `from`; empty where
/// there are none.
std::array<std::string, 2> argumentsBehind(std::string_view text, size_t from) {
  std::array<std::string, 2> arguments;
  if (text.substr(from, 1) != "(")
    return arguments;
  size_t index = 0;
  int depth = 0;
  bool inString = false;
  for (size_t at = from + 1; at < text.size() && text[at] != '\n'; ++at) {
    const char c = text[at];
    inString ^= c == '"' && text[at - 1] != '\\';
    depth += !inString && (c == '(' || c == '[' || c == '{');
    depth -= !inString && (c == ')' || c == ']' || c == '}');
    if (depth < 0)
      return arguments;
    if (c == ',' && depth == 0 && !inString)
      ++index;
    else if (index < arguments.size() &&
             !(arguments[index].empty() && c == ' '))
      arguments[index] += c;
  }
  return {};
}

/// Whether the method call is a whole value, so that a conditional in its place
/// needs no parentheses.
bool isWholeValue(std::string_view text, SourceRange range, size_t end) {
  const size_t before = range.begin == 0
                            ? text.npos
                            : text.find_last_not_of(" ", range.begin - 1);
  const size_t behind = text.find_first_not_of(" ", end);
  auto isOneOf = [&](size_t at, std::string_view signs) {
    return at == text.npos || signs.find(text[at]) != signs.npos;
  };
  return isOneOf(before, "=,([{:") && isOneOf(behind, "\r\n,)]}#");
}

} // namespace

bool isCalled(const SourceMap& sources, SourceRange range) {
  return sources.text(range.source).substr(range.end, 1) == "(";
}

bool helpWithMethod(const SourceMap& sources, diag::Builder& builder,
                    std::string_view method, SourceRange range) {
  const std::string_view text = sources.text(range.source);
  const std::string_view written = sources.text(range);
  const std::string value(written.substr(0, written.rfind('.')));
  const auto* known =
      std::find_if(std::begin(methods), std::end(methods),
                   [&](const Method& each) { return each.foreign == method; });
  if (known == std::end(methods) || value.find('\n') != value.npos)
    return false;
  auto [first, second] = argumentsBehind(text, range.end);
  if (first.empty())
    first = known->given;
  if (second.empty())
    second = method == "slice" ? "len(" + value + ")" : "none";
  std::string own, receiver = value;
  // In Python the separator is the receiver: `",".join(xs)`.
  if (method == "join" && value.starts_with('"'))
    std::swap(receiver, first);
  for (size_t at = 0; at < known->own.size(); ++at) {
    const std::string_view rest = known->own.substr(at);
    if (rest[0] == '$')
      own += receiver;
    else if (rest.starts_with("%1") || rest.starts_with("%2"))
      own += known->own[++at] == '1' ? first : second;
    else
      own += rest[0];
  }
  const size_t close = text.find(')', range.end);
  if (own.starts_with("if ") &&
      !isWholeValue(text, range, close == text.npos ? range.end : close + 1))
    own = "(" + own + ")";
  builder.help("values have no methods: write `" + own + "`");
  return true;
}

void helpWithMember(const Evaluator& evaluator, diag::Builder& builder,
                    const Value& base, const ast::Name& member,
                    SourceRange range) {
  if (isDataText(evaluator, base))
    builder.help("the file has a text there: write a mapping, `" + member.text +
                 ": value`, with a space behind the `:`");
  else if (base.is<std::string>() && member.text == "format")
    builder.help("a value stands in a text between braces: `\"{name}\"`");
  else if (base.is<recipe::None>())
    builder.help("set it to a record that has `" + member.text + "`");
  else if (helpWithMethod(evaluator.sources, builder, member.text, range))
    return;
  else if (isCalled(evaluator.sources, range))
    builder.help("values have no methods: functions take them as arguments, as "
                 "in `len(xs)`");
  else
    builder.help("leave `." + member.text + "` out: " +
                 (base.is<const ListValue*>()
                      ? "a list has elements, such as `xs[0]`"
                      : "fields are those of records, maps and files"));
}

} // namespace recipec::sema
