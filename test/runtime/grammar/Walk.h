// Texts and masks of a grammar, for the tests.

#ifndef RECIPERUN_TEST_GRAMMAR_WALK_H
#define RECIPERUN_TEST_GRAMMAR_WALK_H

#include "runtime/grammar/Choices.h"
#include "runtime/grammar/Gbnf.h"
#include "runtime/grammar/MaskTable.h"
#include "runtime/grammar/Matcher.h"
#include "runtime/grammar/Regex.h"
#include "runtime/grammar/schema/JsonSchema.h"

#include <memory>
#include <random>
#include <set>
#include <string>

namespace reciperun::grammar {

/// A compiled grammar, or why it is refused.
struct Compiled {
  std::shared_ptr<const Automaton> automaton;
  std::string refusal;

  /// Whether the grammar accepts the whole text.
  bool takes(std::string_view text) const {
    Matcher matcher(automaton);
    return matcher.acceptBytes(text).isOk() && matcher.isComplete();
  }
  /// Whether a text may begin like this.
  bool begins(std::string_view text) const {
    Matcher matcher(automaton);
    return matcher.acceptBytes(text).isOk();
  }
};

inline Compiled compiled(Expected<Rules> rules) {
  if (!rules)
    return {nullptr, rules.message()};
  Expected<Automaton> made = Automaton::compile(std::move(*rules));
  if (!made)
    return {nullptr, made.message()};
  return {std::make_shared<const Automaton>(std::move(*made)), ""};
}

inline Compiled schema(std::string_view text) {
  return compiled(rulesOfJsonSchema(text));
}
inline Compiled regex(std::string_view pattern) {
  return compiled(rulesOfRegex(pattern));
}
inline Compiled gbnf(std::string_view text) {
  return compiled(rulesOfGbnf(text));
}

/// A vocabulary of all bytes, and of texts that cross the borders of JSON's
/// tokens, of characters and of rules.
inline std::vector<std::string> smallVocabulary() {
  std::vector<std::string> tokens = {""}; // a control token
  for (int byte = 0; byte < 256; ++byte)
    tokens.emplace_back(1, static_cast<char>(byte));
  for (const char* each :
       {"{\"",        "\":",     "\": ",     "\", \"",   "\",",        "\"}",
        "\"]",        "},",      "}]",       "]}",       "}}",         "]]",
        "]]]]",       "\"},{\"", "[{\"",     "[[",       "true",       "false",
        "null",       "true}",   "false,",   "null]",    "12",         "-1",
        "0.5",        "00",      "999",      "1e",       "a",          "ab",
        "abc",        "name",    "id",       "\"a\":",   "\"name\": ", "\\u00",
        "\\n",        "\\\"",    "é",        "\xC3",     "\xA9\"",     "日本",
        "\xE6\x97",   "\xA5\"",  "\xF0\x9F", "\x98\x80", "\n  ",       ", ",
        ": ",         "2024-",   "-02-29",   "T12:",     "@b.",        "10.",
        "hello world"})
    tokens.emplace_back(each);
  return tokens;
}

inline std::vector<int32_t> allowedIds(const std::vector<uint32_t>& mask) {
  std::vector<int32_t> ids;
  for (size_t id = 0; id < mask.size() * 32; ++id)
    if (mask[id / 32] >> (id % 32) & 1)
      ids.push_back(static_cast<int32_t>(id));
  return ids;
}

} // namespace reciperun::grammar

#endif // RECIPERUN_TEST_GRAMMAR_WALK_H
