// See Chat.h.

#include "compiler/files/Chat.h"

#include "runtime/data/ControlTokens.h"

#include <string>
#include <vector>

namespace recipec::files {
namespace {

namespace data = reciperun::data;

/// A few control tokens of the tokenizer, for a help.
std::vector<std::string> specialTokens(const data::Tokenizer& tokenizer) {
  constexpr size_t most = 6;
  std::vector<std::string> found;
  for (int32_t id = 0; id < tokenizer.size() && found.size() < most; ++id)
    if (tokenizer.isSpecial(id))
      found.push_back(tokenizer.bytesOf(id));
  return found;
}

/// The range of the setting if the user wrote it. For a default of the schema,
/// the range of the data that the setting applies to.
SourceRange placeOf(const recipe::Recipe& recipe, const std::string& setting) {
  const recipe::Value& value = recipe.at(setting);
  bool isWritten = value.origin.kind != recipe::Origin::Kind::defaultValue;
  return (isWritten ? value : recipe.at("data.train")).origin.range;
}

void checkText(const recipe::Recipe& recipe, const std::string& setting,
               const std::string& text, const data::Tokenizer& tokenizer,
               diag::Engine& doubts) {
  std::vector<std::string> missing = data::missingTokens(text, tokenizer);
  if (missing.empty())
    return;
  bool isOne = missing.size() == 1;
  auto builder = doubts.report(
      diag::Kind::InvalidData, placeOf(recipe, setting),
      "`" + setting + "` writes " + diag::quotedList(missing, missing.size()) +
          (isOne ? ", which is no token" : ", which are no tokens") +
          " of the tokenizer: the model learns " + (isOne ? "its" : "their") +
          " letters");
  std::vector<std::string> there = specialTokens(tokenizer);
  if (there.empty())
    builder.help("the tokenizer has no control tokens; give it some, or write "
                 "`data.chat` in plain words");
  else
    builder.help("write `data.chat` with the control tokens of the tokenizer, "
                 "such as " +
                 diag::quotedList(there, there.size()));
}

} // namespace

void checkChat(const recipe::Recipe& recipe,
               const reciperun::plan::Data& settings,
               const data::Tokenizer& tokenizer, diag::Engine& doubts) {
  if (!reciperun::plan::readsMessages(settings))
    return;
  checkText(recipe, "data.chat.before", settings.chat.before, tokenizer,
            doubts);
  checkText(recipe, "data.chat.after", settings.chat.after, tokenizer, doubts);
}

} // namespace recipec::files
