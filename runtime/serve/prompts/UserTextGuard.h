// Keeps text of users apart from the text of a chat template while the template
// renders both.
//
// Each control token has a guarded character, usually `<` or `[`. Before
// rendering, the guarded characters of users' text are replaced by private-use
// characters that occur nowhere else. No control token can then be found in the
// text of users, and none arises where a template joins two of their texts.
// After the control tokens of the rendered text are found, the characters are
// restored. Every character stays one character, so that templates can trim,
// split and measure the text. Tags that the template compares with, such as
// `</think>`, are not replaced.

#ifndef RECIPERUN_SERVE_PROMPTS_USERTEXTGUARD_H
#define RECIPERUN_SERVE_PROMPTS_USERTEXTGUARD_H

#include "runtime/base/Status.h"

#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace reciperun::serve {

/// The tags of a text, `<name>` or `</name>` with letters, digits, `_` and `-`
/// in the name.
std::set<std::string> plainTags(std::string_view text);

/// The replaced characters of one conversation.
class Disguise {
public:
  /// The text with the users' characters.
  std::string restore(std::string_view text) const;

private:
  friend class UserTextGuard;
  std::vector<std::pair<uint32_t, uint32_t>> characters; // user's, private
};

class UserTextGuard {
public:
  /// `controls` are the spellings of the control tokens. `source` is the
  /// template's text.
  UserTextGuard(std::span<const std::string> controls, std::string_view source);

  /// Replaces the guarded characters in all strings and keys of the values.
  /// Fails when a string is not UTF-8, and when the strings leave no private
  /// character free.
  Expected<Disguise>
  disguise(std::span<nlohmann::ordered_json* const> values) const;

private:
  std::string disguised(std::string_view text, const Disguise& disguise) const;
  void replaceIn(nlohmann::ordered_json& value, const Disguise& disguise) const;

  std::set<uint32_t> guarded;
  std::set<std::string> tags;     // that are not replaced
  std::set<uint32_t> ofTheSource; // its private-use characters
};

} // namespace reciperun::serve

#endif // RECIPERUN_SERVE_PROMPTS_USERTEXTGUARD_H
