// Numbers, units and strings.

#include "compiler/parse/Transformer.h"

#include "compiler/base/Utf8.h"
#include "compiler/parse/BrokenNames.h"
#include "compiler/parse/Durations.h"
#include "compiler/parse/ForeignSyntax.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>

namespace recipec::parse {

// ---- numbers

static std::string withoutUnderscores(std::string_view text) {
  std::string result;
  for (char c : text)
    if (c != '_')
      result += c;
  return result;
}

namespace {

/// A multiplier directly after a number (SI and IEC 80000-13).
struct Multiplier {
  std::string_view name;
  int64_t factor;
};

constexpr Multiplier multipliers[] = {
    {"k", 1'000},
    {"M", 1'000'000},
    {"G", 1'000'000'000},
    {"T", 1'000'000'000'000},
    {"Ki", int64_t(1) << 10},
    {"Mi", int64_t(1) << 20},
    {"Gi", int64_t(1) << 30},
    {"Ti", int64_t(1) << 40},
};

/// Units spelled out, or as other programs write them.
constexpr std::pair<std::string_view, std::string_view> otherUnits[] = {
    {"minutes", "min"},
    {"minute", "min"},
    {"mins", "min"},
    {"hours", "h"},
    {"hour", "h"},
    {"hrs", "h"},
    {"hr", "h"},
    {"seconds", "s"},
    {"second", "s"},
    {"secs", "s"},
    {"sec", "s"},
    {"days", "d"},
    {"day", "d"},
    {"msec", "ms"},
    {"milliseconds", "ms"},
    {"iterations", "steps"},
    {"iters", "steps"},
    {"its", "steps"},
    {"updates", "steps"},
    {"passes", "epochs"},
    {"bytes", "B"},
    {"kb", "KB"},
    {"mb", "MB"},
    {"gb", "GB"},
    {"tb", "TB"},
    {"gib", "GiB"},
    {"mib", "MiB"},
    {"kib", "KiB"},
    {"tib", "TiB"},
    {"toks", "tokens"},
};

std::optional<int64_t> multiplierOf(std::string_view name) {
  for (const Multiplier& multiplier : multipliers)
    if (multiplier.name == name)
      return multiplier.factor;
  return std::nullopt;
}

} // namespace

/// ": write `512`" for `0x200`; empty for a number that is none in its radix.
static std::string decimalOf(std::string_view text) {
  const char letter = text.size() > 2 ? text[1] : ' ';
  const int radix = letter == 'x' || letter == 'X'   ? 16
                    : letter == 'o' || letter == 'O' ? 8
                                                     : 2;
  const std::string digits =
      withoutUnderscores(text.substr(std::min<size_t>(2, text.size())));
  int64_t value = 0;
  auto [end, error] = std::from_chars(
      digits.data(), digits.data() + digits.size(), value, radix);
  const bool isNumber = error == std::errc() && !digits.empty() &&
                        end == digits.data() + digits.size();
  return isNumber ? ": write `" + std::to_string(value) + "`" : "";
}

int64_t Transformer::integer(size_t token) {
  SourceRange place = tokens->range(token);
  std::string text = withoutUnderscores(sources.text(place));
  int64_t value = 0;
  if (std::from_chars(text.data(), text.data() + text.size(), value).ec !=
      std::errc())
    engine.report(diag::Kind::InvalidNumber, place, "the integer is too large")
        .help("the largest is 9223372036854775807");
  return value;
}

double Transformer::real(SourceRange place, std::string text) {
  double value = 0;
  if (std::from_chars(text.data(), text.data() + text.size(), value).ec !=
      std::errc())
    engine
        .report(diag::Kind::InvalidNumber, place,
                "the number is out of range of a double")
        .help("write a number between `1e-307` and `1e308`, or `0.0`");
  return value;
}

ast::ExprId Transformer::percentage(size_t token) {
  SourceRange place = tokens->range(token);
  std::string text = withoutUnderscores(sources.text(place));
  text.pop_back();
  // The value is read with an exponent, so `0.1%` is the double nearest to
  // 0.001.
  return makeExpr(ast::FloatLiteral{real(place, text + "e-2")}, place, 0);
}

ast::ExprId Transformer::number(Grammar::PrimaryContext* context) {
  SourceRange whole = range(context);
  size_t digits = firstToken(context), last = lastToken(context);
  SourceRange place = tokens->range(digits);
  bool isInteger = tokens->tokens[digits].type == TokenType::INTEGER;
  int64_t count = isInteger ? integer(digits) : 0;
  double value = isInteger
                     ? double(count)
                     : real(place, withoutUnderscores(sources.text(place)));

  size_t unit = digits + 1;
  bool isGlued =
      unit <= last && tokens->tokens[digits].end == tokens->tokens[unit].begin;
  std::optional<int64_t> factor;
  if (isGlued)
    factor = multiplierOf(sources.text(tokens->range(unit)));
  if (factor) {
    ++unit;
    value *= double(*factor);
    bool overflows = isInteger ? __builtin_mul_overflow(count, *factor, &count)
                               : std::abs(value) >= 0x1p63;
    if (overflows)
      engine.report(diag::Kind::InvalidNumber, whole, "the number is too large")
          .help("the largest is 9223372036854775807");
    // `1.5M` is a whole number.
    else if (!isInteger && std::floor(value) == value) {
      isInteger = true;
      count = int64_t(value);
    }
  }
  if (unit <= last) {
    for (size_t token = unit; token <= last; ++token)
      if (!checkUnit(token, digits))
        break;
    ast::Name name{std::string(sources.text(tokens->range(unit))),
                   tokens->range(unit)};
    return makeExpr(ast::QuantityLiteral{value, isInteger, name}, whole, 0);
  }
  if (isInteger)
    return makeExpr(ast::IntLiteral{count}, whole, 0);
  return makeExpr(ast::FloatLiteral{value}, whole, 0);
}

bool Transformer::checkUnit(size_t token, size_t number) {
  ast::Name unit{std::string(sources.text(tokens->range(token))),
                 tokens->range(token)};
  bool isFirst = token == number + 1;
  bool isKnown = isUnitName(unit.text);
  if (isKnown &&
      (isFirst || multiplierOf(sources.text(tokens->range(token - 1)))))
    return true;
  // `a = 1 b = 2`: the parser has reported that these are two items, and that
  // `1 hour 30 min` is two numbers.
  const auto typeAt = [&](size_t at) {
    return at < tokens->tokens.size() ? tokens->tokens[at].type
                                      : size_t(TokenType::EOF);
  };
  if (typeAt(token + 1) == TokenType::ASSIGN ||
      (typeAt(token + 1) == TokenType::INTEGER &&
       typeAt(token + 2) == TokenType::IDENTIFIER &&
       inOneUnit(sources.text(
           cover(tokens->range(number), tokens->range(token + 2))))))
    return false;
  std::string_view before = sources.text(tokens->range(token - 1));
  if (isFirst || multiplierOf(before)) {
    reportUnit(unit, number);
    return false;
  }
  auto report =
      engine.report(diag::Kind::ExpectedToken, unit.range,
                    "expected the end of the line, found `" + unit.text + "`");
  // `15B tokens`, where `B` is meant as billions.
  if (isKnown && before == "B") {
    std::string count(sources.text(tokens->range(number)));
    report.help("`B` is the unit of bytes, a billion is `G`: write `" + count +
                "G " + unit.text + "`");
  } else {
    report.help("put a comma or a line break before `" + unit.text + "`");
  }
  return false;
}

void Transformer::reportUnit(const ast::Name& unit, size_t number) {
  const auto& names = unitNames();
  SourceRange whole = cover(tokens->range(number), unit.range);
  bool isGlued = tokens->tokens[number].end == unit.range.begin;
  std::string text(sources.text(whole));
  // `llama.llama-3.1-8b`
  const auto& all = tokens->tokens;
  const bool isInName = isGlued && number > 1 &&
                        all[number - 1].type == TokenType::MINUS &&
                        all[number - 2].end == all[number - 1].begin &&
                        all[number - 1].end == all[number].begin;
  if (const auto broken = isInName
                              ? brokenNameAt(sources, *tokens, number, true)
                              : std::nullopt;
      broken && std::isalpha(static_cast<unsigned char>(broken->own[0]))) {
    const std::string help = "write `" + broken->own + "`";
    engine
        .report(diag::Kind::ExpectedName, broken->range,
                "a name has letters, digits and `_`, and neither `-` nor a "
                "point before a digit")
        .help(help)
        .fixIt(broken->range, broken->own)
        .otherwise(help);
    return;
  }
  if (!isGlued && multiplierOf(unit.text)) {
    std::string glued =
        std::string(sources.text(tokens->range(number))) + unit.text;
    engine
        .report(diag::Kind::UnknownUnit, unit.range,
                "unknown unit `" + unit.text + "`")
        .help("a multiplier stands directly behind its number: `" + glued +
              "`");
    return;
  }
  if (isGlued && unit.text[0] == '_') {
    engine
        .report(diag::Kind::InvalidNumber, whole,
                "`" + text + "` is not a number")
        .help("`_` stands between two digits");
    return;
  }
  bool isExponent = unit.text == "e" || unit.text == "E";
  bool isRadix =
      sources.text(tokens->range(number)) == "0" &&
      std::string_view("xXbBoO").find(unit.text[0]) != std::string_view::npos;
  if (isGlued && (isExponent || isRadix)) {
    engine
        .report(diag::Kind::InvalidNumber, whole,
                "`" + text + "` is not a number")
        .help(isExponent ? "an exponent has digits: `2e-5`"
                         : "numbers are decimal" + decimalOf(text));
    return;
  }
  // `1f1b` is not a number.
  bool isWord =
      isGlued && std::any_of(unit.text.begin(), unit.text.end(),
                             [](unsigned char c) { return std::isdigit(c); });
  if (const auto sum = isWord ? inOneUnit(text) : std::nullopt) {
    engine
        .report(diag::Kind::InvalidNumber, whole,
                "a duration has one unit, and `" + text + "` has several")
        .help("write `" + *sum + "`")
        .fixIt(whole, *sum, diag::Applicability::safe);
    return;
  }
  if (isWord) {
    engine
        .report(diag::Kind::InvalidNumber, whole,
                "`" + text + "` is not a number")
        .help("write `\"" + text +
              "\"`, in quotation marks, where a text is "
              "meant")
        .fixIt(whole, "\"" + text + "\"", diag::Applicability::safe);
    return;
  }
  // `7 mod 2`, where the parser stopped behind the word
  const size_t behind = number + 2;
  const std::string operand =
      behind < tokens->tokens.size()
          ? std::string(sources.text(tokens->range(behind)))
          : std::string();
  if (const std::string help = wordOperatorHelp(
          std::string(sources.text(tokens->range(number))), unit.text, operand);
      !isGlued && !help.empty()) {
    engine
        .report(diag::Kind::UnknownUnit, unit.range,
                "`" + unit.text + "` is no unit, and there is no such operator")
        .help(help);
    return;
  }
  auto report = engine.report(diag::Kind::UnknownUnit, unit.range,
                              "unknown unit `" + unit.text + "`");
  std::string digits(sources.text(tokens->range(number)));
  // `1.0f`, `10L`, `8u`
  static constexpr std::string_view suffixes[] = {"f", "F", "L",   "l",
                                                  "u", "U", "f32", "i32"};
  if (isGlued &&
      std::count(std::begin(suffixes), std::end(suffixes), unit.text) > 0) {
    report.help("numbers have no suffix: write `" + digits + "`")
        .fixIt(unit.range, "", diag::Applicability::safe);
    return;
  }
  if (unit.text == "percent") {
    report.help("write `" + digits + "%`").fixIt(whole, digits + "%");
    return;
  }
  // `10 billion`, `10 billion tokens`
  static constexpr std::pair<std::string_view, std::string_view> words[] = {
      {"thousand", "k"}, {"million", "M"}, {"billion", "G"}, {"trillion", "T"}};
  for (const auto& [word, letter] : words)
    if (unit.text == word && !isGlued) {
      report
          .help("a " + unit.text +
                " is written `k`, `M`, `G` or `T` directly "
                "behind the number: `" +
                digits + std::string(letter) + "`")
          .fixIt(whole, digits + std::string(letter));
      return;
    }
  if (isGlued && (unit.text == "b" || unit.text == "B" || unit.text == "bn" ||
                  unit.text == "billion")) {
    report.help("a billion is `" + digits + "G`").fixIt(whole, digits + "G");
    return;
  }
  if (unit.text == "million" || unit.text == "m" || unit.text == "thousand") {
    std::string_view letter = unit.text == "thousand" ? "k" : "M";
    const std::string count = digits + std::string(letter);
    if (unit.text == "m") { // a field takes either, not both
      report.help("write `" + digits + "min` for minutes, `" + count +
                  "` for a million");
      return;
    }
    report
        .help("a " + std::string(letter == "k" ? "thousand" : "million") +
              " is `" + count + "`")
        .fixIt(whole, count);
    return;
  }
  for (const auto& [other, own] : otherUnits)
    if (unit.text == other) {
      std::string space = isGlued ? "" : " ";
      report.help("write `" + digits + space + std::string(own) + "`")
          .fixIt(unit.range, std::string(own), diag::Applicability::safe);
      return;
    }
  if (isGlued && unit.text == "K") {
    std::string count(sources.text(tokens->range(number)));
    report.help("a thousand is `" + count + "k`, 1024 times as many `" + count +
                "Ki`");
    return;
  }
  if (report.suggest(unit.range, unit.text, names))
    return;
  if (!isGlued)
    report.help("if no unit was meant, an operator, a comma or a line break "
                "is missing before `" +
                unit.text + "`");
  else
    report.help("the units are `B` to `TB`, `KiB` to `TiB`, `ms` to `d`, "
                "`steps`, `epochs` and `tokens`, the multipliers `k M G T` and "
                "`Ki Mi Gi Ti`");
}

// ---- strings

ast::ExprId Transformer::string(size_t token) {
  int depth = 0;
  ast::StringLiteral literal = stringParts(token, depth);
  return makeExpr(std::move(literal), tokens->range(token), depth);
}

std::string Transformer::plainString(size_t token, std::string_view where) {
  int depth = 0;
  ast::StringLiteral literal = stringParts(token, depth);
  if (!literal.holes.empty())
    engine
        .report(diag::Kind::ExpectedToken, file[literal.holes[0]].range,
                std::string(where) + " cannot have an interpolation")
        .help("write a brace of the text as `\\{`");
  return literal.texts[0];
}

/// The offset after the `}` that closes the interpolation whose `{` is at
/// `text[at]`; 0 if it is not closed. The lexer guarantees that interpolations
/// of single-line strings are closed.
static size_t endOfHole(std::string_view text, size_t at) {
  std::string nesting; // `{` for an interpolation, `"` for a string in one
  for (; at < text.size(); ++at) {
    bool inString = !nesting.empty() && nesting.back() == '"';
    char c = text[at];
    if (inString && c == '\\')
      ++at;
    else if (c == '{')
      nesting += '{';
    else if (c == '"' && inString)
      nesting.pop_back();
    else if (c == '"')
      nesting += '"';
    else if (c == '}' && !inString)
      nesting.pop_back();
    if (nesting.empty())
      return at + 1;
  }
  return 0;
}

/// The content of a string token between its quotation marks.
struct Transformer::Quoted {
  std::string_view text;        // begins with the opening quotation marks
  size_t begin = 0;             // offset of the content in it
  std::string_view indentation; // of each line after the first
};

Transformer::Quoted Transformer::quoted(size_t token) {
  std::string_view text = sources.text(tokens->range(token));
  if (tokens->tokens[token].type == TokenType::STRING)
    return {text.substr(0, text.size() - 1), 1, {}};
  constexpr size_t marks = 3;
  constexpr std::string_view spaces = " \t\r";
  uint32_t offset = tokens->tokens[token].begin;
  auto report = [&](size_t at, size_t size, const char* message) {
    engine
        .report(diag::Kind::InvalidText,
                {tokens->source, offset + uint32_t(at),
                 offset + uint32_t(at + size)},
                message)
        .help("write `\"\"\"`, the lines below it, each indented like the "
              "last, and `\"\"\"` on a line of its own");
    return Quoted{};
  };
  text.remove_suffix(marks);
  size_t first = text.find_first_not_of(spaces, marks);
  size_t last = text.find_last_not_of(" \t");
  if (first == std::string_view::npos || text[first] != '\n')
    return report(0, marks, "the text begins on the line of its marks");
  if (text[last] != '\n')
    return report(text.size(), marks, "the text ends on the line of its marks");
  Quoted result{text.substr(0, std::max(last, first + 1)), first + 1,
                text.substr(last + 1)};
  if (result.text.ends_with('\r'))
    result.text.remove_suffix(1);
  for (size_t at = result.begin; at < result.text.size();) {
    size_t end = std::min(text.find('\n', at), result.text.size());
    std::string_view line = text.substr(at, end - at);
    bool isBlank = line.find_first_not_of(spaces) == std::string_view::npos;
    if (!isBlank && !line.starts_with(result.indentation))
      return report(at, line.size(),
                    "this line is indented less than the closing marks");
    at = end + 1;
  }
  return result;
}

ast::StringLiteral Transformer::stringParts(size_t token, int& depthBelow) {
  ast::StringLiteral literal;
  literal.texts.emplace_back();
  const Token& whole = tokens->tokens[token];
  if (whole.isBroken)
    return literal;
  auto [text, begin, indentation] = quoted(token);
  bool isLineStart = !indentation.empty();
  for (size_t at = begin; at < text.size();) {
    if (isLineStart && text.substr(at).starts_with(indentation))
      at += indentation.size();
    else if (isLineStart) // blank, and shorter
      at = std::min(text.find('\n', at), text.size());
    isLineStart = false;
    if (at >= text.size())
      break;
    if (text.substr(at).starts_with("\r\n")) {
      ++at;
    } else if (text[at] == '\n') {
      isLineStart = !indentation.empty();
      literal.texts.back() += text[at++];
    } else if (text[at] == '\\') {
      escape(text, at, whole.begin, literal.texts.back());
    } else if (text[at] == '{') {
      size_t end = endOfHole(text, at);
      if (end == 0) {
        SourceRange place{tokens->source, whole.begin + uint32_t(at),
                          whole.begin + uint32_t(at) + 1};
        engine
            .report(diag::Kind::UnclosedString, place,
                    "the interpolation in the string is not closed")
            .help("end it with `}`; write a brace of the text as `\\{`");
        return literal;
      }
      ast::ExprId hole =
          interpolation({tokens->source, whole.begin + uint32_t(at) + 1,
                         whole.begin + uint32_t(end) - 1});
      at = end;
      if (hole == ast::ExprId::none)
        continue;
      literal.holes.push_back(hole);
      literal.texts.emplace_back();
      depthBelow = std::max(depthBelow, depthOf(hole));
    } else {
      literal.texts.back() += text[at++];
    }
  }
  return literal;
}

void Transformer::escape(std::string_view text, size_t& at, uint32_t offset,
                         std::string& result) {
  static constexpr std::string_view letters = "ntr\"\\{}";
  static constexpr std::string_view meanings = "\n\t\r\"\\{}";
  size_t begin = at;
  char letter = text[at + 1];
  at += 2;
  if (size_t i = letters.find(letter); i != std::string_view::npos) {
    result += meanings[i];
    return;
  }
  if (letter == 'u' && at < text.size() && text[at] == '{') {
    size_t close = std::min(text.find('}', at), text.size() - 1);
    uint32_t value = 0;
    const char* first = text.data() + at + 1;
    const char* last = text.data() + close;
    auto [end, error] = std::from_chars(first, last, value, 16);
    at = close + 1;
    if (error == std::errc() && end == last && appendCodePoint(value, result))
      return;
  }
  // Include all bytes of a non-ASCII character.
  while (at < text.size() && !beginsCodePoint(text[at]))
    ++at;
  SourceRange place{tokens->source, offset + uint32_t(begin),
                    offset + uint32_t(at)};
  auto report = engine.report(diag::Kind::InvalidEscape, place,
                              "`" + std::string(sources.text(place)) +
                                  "` is not an escape");
  const size_t close = letter == '(' ? text.find(')', at) : text.npos;
  if (close != text.npos &&
      text.substr(begin, close - begin).find('\n') == text.npos) {
    const std::string hole =
        "{" + std::string(text.substr(at, close - at)) + "}";
    report.help("an interpolation is written `" + hole + "`")
        .fixIt({tokens->source, offset + uint32_t(begin),
                offset + uint32_t(close) + 1},
               hole, diag::Applicability::safe);
  } else if (letter == 'u')
    report.help("a code point is written `\\u{1F600}`");
  else
    report.help("write a backslash of the text as `\\\\`");
}

/// Parses the text of an interpolation as an expression of the same file.
/// Returns `ExprId::none` when it has errors.
ast::ExprId Transformer::interpolation(SourceRange range) {
  if (++interpolationDepth > maxInterpolationDepth) {
    engine
        .report(diag::Kind::NestingTooDeep, range,
                "strings are interpolated more than " +
                    std::to_string(maxInterpolationDepth) + " levels deep")
        .help("give inner strings names with `let`");
    --interpolationDepth;
    return ast::ExprId::none;
  }
  TokenList inner;
  inner.endName = "`}`";
  ast::ExprId result = ast::ExprId::none;
  int errorsBefore = engine.errors();
  budget.left -= std::min(budget.left, tokensOfInterpolation);
  if (lex(sources, range, inner, budget, engine) &&
      layOut(sources, inner, engine) && engine.errors() == errorsBefore) {
    ParserRun run(sources, inner, engine);
    if (auto* context = run.interpolation();
        context && engine.errors() == errorsBefore) {
      const TokenList* outer = std::exchange(tokens, &inner);
      result = expression(context->expression());
      tokens = outer;
    }
  }
  --interpolationDepth;
  return result;
}

} // namespace recipec::parse
