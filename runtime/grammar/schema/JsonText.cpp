// Strings, numbers and the recursive rules of any value.

#include "runtime/grammar/schema/JsonText.h"

namespace reciperun::grammar {
namespace {

constexpr int64_t maxIndent = 32;
constexpr uint32_t firstPlain = 0x20;

CodePointSet plainCharacters() {
  return CodePointSet({{0, firstPlain - 1}, {'"', '"'}, {'\\', '\\'}})
      .complement();
}

ExpressionPtr hexDigits(int64_t count) {
  return repeat(characterIn("09AFaf"), count, count);
}

/// A character of a string, plain or escaped. A pair of surrogate escapes is
/// one character; one of a pair alone is none.
ExpressionPtr anyCharacter() {
  const ExpressionPtr d = characterIn("DDdd");
  const ExpressionPtr unit =
      choice({sequence({characterIn("09ACEFacef"), hexDigits(3)}),
              sequence({d, characterIn("07"), hexDigits(2)})});
  const ExpressionPtr pair =
      sequence({d, characterIn("89ABab"), hexDigits(2), literal("\\u"), d,
                characterIn("CFcf"), hexDigits(2)});
  const ExpressionPtr shortEscape = characterIn("\"\"\\\\//bbffnnrrtt");
  return choice(
      {character(plainCharacters()),
       sequence({literal("\\"),
                 choice({shortEscape,
                         sequence({literal("u"), choice({unit, pair})})})})});
}

/// The escape of a character that JSON does not allow in a string.
std::string escapeOf(uint32_t c) {
  constexpr std::string_view special = "\"\\\b\f\n\r\t", letters = "\"\\bfnrt";
  constexpr std::string_view hex = "0123456789abcdef";
  if (const size_t i = special.find(static_cast<char>(c)); i != special.npos)
    return {'\\', letters[i]};
  return std::string("\\u00") + hex[c >> 4] + hex[c & 0xF];
}

ExpressionPtr escapedCharacter(const CodePointSet& set) {
  std::vector<ExpressionPtr> alternatives;
  const CodePointSet plain = set.intersectionWith(plainCharacters());
  if (!plain.isEmpty() || set.isEmpty())
    alternatives.push_back(character(plain));
  const CodePointSet escaped =
      set.intersectionWith(plainCharacters().complement());
  for (const CodePointRange& range : escaped.ranges())
    for (uint32_t c = range.low; c <= range.high; ++c)
      alternatives.push_back(literal(escapeOf(c)));
  return choice(std::move(alternatives));
}

std::vector<ExpressionPtr> escapedAll(const std::vector<ExpressionPtr>& parts) {
  std::vector<ExpressionPtr> made;
  for (const ExpressionPtr& part : parts)
    made.push_back(jsonEscaped(part));
  return made;
}

} // namespace

ExpressionPtr jsonString(int64_t least, std::optional<int64_t> most) {
  return sequence(
      {literal("\""), repeat(anyCharacter(), least, most), literal("\"")});
}

ExpressionPtr jsonEscaped(const ExpressionPtr& characters) {
  if (const auto* node = std::get_if<Character>(&characters->node))
    return escapedCharacter(node->set);
  if (const auto* node = std::get_if<Sequence>(&characters->node))
    return sequence(escapedAll(node->parts));
  if (const auto* node = std::get_if<Choice>(&characters->node))
    return choice(escapedAll(node->alternatives));
  if (const auto* node = std::get_if<Repeat>(&characters->node))
    return repeat(jsonEscaped(node->part), node->least, node->most);
  return characters; // the empty text
}

ExpressionPtr jsonEscapedText(int64_t least, std::optional<int64_t> most) {
  return repeat(jsonEscaped(character(CodePointSet::all())), least, most);
}

ExpressionPtr jsonInteger() {
  const ExpressionPtr digit = characterIn("09");
  return sequence({optional(literal("-")),
                   choice({literal("0"),
                           sequence({characterIn("19"),
                                     repeat(digit, 0, maxWholeDigits - 1)})})});
}

ExpressionPtr jsonNumber() {
  const ExpressionPtr digit = characterIn("09");
  // Two digits of exponent keep every number inside double precision.
  return sequence(
      {jsonInteger(),
       optional(sequence({literal("."), repeat(digit, 1, maxFractionDigits)})),
       optional(sequence({characterIn("EEee"), optional(characterIn("++--")),
                          repeat(digit, 1, 2)}))});
}

ExpressionPtr bracketed(const AnyJson& any, const char* open,
                        ExpressionPtr items, const char* close,
                        bool mayBeEmpty) {
  ExpressionPtr filled = sequence({std::move(items), reference(any.space)});
  if (mayBeEmpty)
    filled = optional(std::move(filled));
  return sequence(
      {literal(open), reference(any.space), std::move(filled), literal(close)});
}

ExpressionPtr commaOf(const AnyJson& any) {
  return sequence({literal(","), reference(any.space)});
}

ExpressionPtr memberOf(const AnyJson& any, ExpressionPtr key,
                       ExpressionPtr value) {
  return sequence(
      {std::move(key), literal(":"), reference(any.space), std::move(value)});
}

AnyJson addAnyJson(Rules& rules) {
  const AnyJson any = {.space = rules.add("white space"),
                       .string = rules.add("string"),
                       .number = rules.add("number"),
                       .object = rules.add("object"),
                       .array = rules.add("array"),
                       .value = rules.add("value")};
  auto set = [&](RuleId rule, ExpressionPtr body) {
    rules.rules[size_t(rule)].body = std::move(body);
  };
  set(any.space, choice({literal(""), literal(" "),
                         sequence({literal("\n"), repeat(characterIn("  \t\t"),
                                                         0, maxIndent)})}));
  set(any.string, jsonString(0, std::nullopt));
  set(any.number, jsonNumber());
  auto listOf = [&](const ExpressionPtr& item) {
    return sequence(
        {item, repeat(sequence({commaOf(any), item}), 0, std::nullopt)});
  };
  set(any.object, bracketed(any, "{",
                            listOf(memberOf(any, reference(any.string),
                                            reference(any.value))),
                            "}", /*mayBeEmpty=*/true));
  set(any.array, bracketed(any, "[", listOf(reference(any.value)), "]",
                           /*mayBeEmpty=*/true));
  set(any.value, choice({reference(any.object), reference(any.array),
                         reference(any.string), reference(any.number),
                         literal("true"), literal("false"), literal("null")}));
  return any;
}

} // namespace reciperun::grammar
