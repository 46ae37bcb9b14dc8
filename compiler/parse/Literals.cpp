// Numbers, units and strings.

#include "compiler/parse/Transformer.h"

#include <algorithm>
#include <charconv>
#include <cmath>

namespace recipec::parse {

// ---- numbers ----------------------------------------------------------------

/// The units of the language; sema gives them their meaning.
static const std::vector<std::string>& unitNames() {
  static const std::vector<std::string> names = {
      "B",    "KB",    "MB",    "GB",     "TB",    "KiB",   "MiB",
      "GiB",  "TiB",   "ms",    "s",      "min",   "h",     "d",
      "step", "steps", "epoch", "epochs", "token", "tokens"};
  return names;
}

static std::string withoutUnderscores(std::string_view text) {
  std::string result;
  for (char c : text)
    if (c != '_')
      result += c;
  return result;
}

ast::ExprId Transformer::number(Grammar::PrimaryContext* context) {
  SourceRange whole = range(context);
  size_t digits = firstToken(context);
  SourceRange place = tokens->range(digits);
  std::string text = withoutUnderscores(sources.text(place));
  bool isInteger = tokens->tokens[digits].type == TokenType::INTEGER;
  const char* end = text.data() + text.size();

  int64_t integer = 0;
  if (isInteger && std::from_chars(text.data(), end, integer).ec != std::errc())
    engine.report(diag::Kind::InvalidNumber, place, "the integer is too large")
        .help("the largest is 9223372036854775807");
  double value = double(integer);
  if (!isInteger && std::from_chars(text.data(), end, value).ec != std::errc())
    engine.report(diag::Kind::InvalidNumber, place,
                  "the number is out of range of a double");

  if (!context->IDENTIFIER()) {
    if (isInteger)
      return makeExpr(ast::IntLiteral{integer}, whole, 0);
    return makeExpr(ast::FloatLiteral{value}, whole, 0);
  }
  size_t unit = lastToken(context);
  ast::Name unitName{std::string(sources.text(tokens->range(unit))),
                     tokens->range(unit)};
  checkUnit(unitName, digits);
  return makeExpr(ast::QuantityLiteral{value, isInteger, unitName}, whole, 0);
}

void Transformer::checkUnit(const ast::Name& unit, size_t number) {
  const auto& names = unitNames();
  if (std::find(names.begin(), names.end(), unit.text) != names.end())
    return;
  // `a = 1 b = 2`: the parser has reported that these are two items.
  if (tokens->tokens[number + 2].type == TokenType::ASSIGN)
    return;
  SourceRange whole = cover(tokens->range(number), unit.range);
  bool isGlued = tokens->tokens[number].end == unit.range.begin;
  std::string text(sources.text(whole));
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
                         : "numbers are decimal");
    return;
  }
  auto report = engine.report(diag::Kind::UnknownUnit, unit.range,
                              "unknown unit `" + unit.text + "`");
  if (auto meant = diag::didYouMean(unit.text, names))
    report.help("did you mean `" + *meant + "`?").fixIt(unit.range, *meant);
  else if (!isGlued)
    report.help("if no unit was meant, an operator, a comma or a line break "
                "is missing before `" +
                unit.text + "`");
  else
    report.help("the units are `B` to `TB`, `KiB` to `TiB`, `ms` to `d`, "
                "`steps`, `epochs` and `tokens`");
}

// ---- strings ----------------------------------------------------------------

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

/// The end of the hole whose `{` is at `text[at]`: behind its `}`. The lexer
/// has matched strings and holes already, so that it exists.
static size_t endOfHole(std::string_view text, size_t at) {
  std::string nesting; // `{` for a hole, `"` for a string in one
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
  return text.size();
}

ast::StringLiteral Transformer::stringParts(size_t token, int& depthBelow) {
  ast::StringLiteral literal;
  literal.texts.emplace_back();
  const Token& whole = tokens->tokens[token];
  if (whole.isBroken)
    return literal;
  std::string_view text = sources.text(tokens->range(token));
  text.remove_suffix(1);
  for (size_t at = 1; at < text.size();) {
    if (text[at] == '\\') {
      escape(text, at, whole.begin, literal.texts.back());
    } else if (text[at] == '{') {
      size_t end = endOfHole(text, at);
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

/// UTF-8 of a code point; false for one that is not a Unicode scalar value.
static bool appendUtf8(uint32_t value, std::string& result) {
  bool isSurrogate = value >= 0xD800 && value <= 0xDFFF;
  if (value > 0x10FFFF || isSurrogate)
    return false;
  auto tail = [&](int shift) {
    result += char(0x80 | ((value >> shift) & 0x3F));
  };
  if (value < 0x80) {
    result += char(value);
  } else if (value < 0x800) {
    result += char(0xC0 | value >> 6);
    tail(0);
  } else if (value < 0x10000) {
    result += char(0xE0 | value >> 12);
    tail(6);
    tail(0);
  } else {
    result += char(0xF0 | value >> 18);
    tail(12);
    tail(6);
    tail(0);
  }
  return true;
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
    if (error == std::errc() && end == last && appendUtf8(value, result))
      return;
  }
  // The whole of a character that is not ASCII.
  while (at < text.size() && (text[at] & 0xC0) == 0x80)
    ++at;
  SourceRange place{tokens->source, offset + uint32_t(begin),
                    offset + uint32_t(at)};
  auto report = engine.report(diag::Kind::InvalidEscape, place,
                              "`" + std::string(sources.text(place)) +
                                  "` is not an escape");
  if (letter == 'u')
    report.help("a code point is written `\\u{1F600}`");
  else
    report.help("write a backslash of the text as `\\\\`");
}

/// Parses the text of a hole as an expression of the same file; none when it
/// has errors.
ast::ExprId Transformer::interpolation(SourceRange range) {
  if (++interpolationDepth > maxInterpolationDepth) {
    engine.report(diag::Kind::NestingTooDeep, range,
                  "strings are interpolated more than " +
                      std::to_string(maxInterpolationDepth) + " levels deep");
    --interpolationDepth;
    return ast::ExprId::none;
  }
  TokenList inner;
  inner.endName = "`}`";
  ast::ExprId result = ast::ExprId::none;
  int errorsBefore = engine.errors();
  if (lex(sources, range, inner, engine) && layOut(sources, inner, engine) &&
      engine.errors() == errorsBefore) {
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
