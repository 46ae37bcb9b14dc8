// See PromptTemplate.h.

#include "runtime/serve/prompts/PromptTemplate.h"

#include <algorithm>
#include <cctype>

namespace reciperun::serve {
namespace {

using OrderedJson = nlohmann::ordered_json;

/// The other tag of a pair: `</x>` of `<x>`, and the reverse.
std::string otherTag(const std::string& tag) {
  return tag.starts_with("</") ? "<" + tag.substr(2) : "</" + tag.substr(1);
}

/// Whether a token is one of a pair of tags that are added tokens or written by
/// the template.
bool isPairedTag(const std::string& token, const std::set<std::string>& written,
                 const data::Tokenizer& tokenizer) {
  if (!plainTags(token).contains(token))
    return false;
  const std::string other = otherTag(token);
  return written.contains(other) || tokenizer.idOf(other) >= 0;
}

/// The ids of the added tokens that a template writes to mark messages.
std::vector<int32_t> markersOf(const std::string& source,
                               const data::Tokenizer& tokenizer) {
  const std::set<std::string> written = plainTags(source);
  std::vector<int32_t> ids;
  for (const data::AddedToken& token : tokenizer.addedTokens()) {
    const bool isWord =
        std::isalnum(static_cast<unsigned char>(token.content.front()));
    if (!isWord && source.find(token.content) != source.npos &&
        !isPairedTag(token.content, written, tokenizer))
      ids.push_back(token.id);
  }
  return ids;
}

/// The added tokens that are control tokens. They are matched in the text as it
/// is, because templates spell them as in the tokenizer's file.
std::vector<data::AddedToken> controlsOf(const data::TextEncoder& encoder,
                                         const data::Tokenizer& tokenizer) {
  std::vector<data::AddedToken> controls;
  for (const data::AddedToken& token : tokenizer.addedTokens())
    if (encoder.controlTokens()[size_t(token.id)])
      controls.push_back(token);
  return controls;
}

std::string_view withoutSpace(std::string_view text, bool alsoBehind) {
  constexpr std::string_view space = " \n\r\t";
  text.remove_prefix(std::min(text.find_first_not_of(space), text.size()));
  if (alsoBehind)
    text.remove_suffix(text.size() - text.find_last_not_of(space) - 1);
  return text;
}

/// Cuts a rendered text off after the content of the last message, which
/// templates may have trimmed. Fails when the text does not contain it.
Status endBehind(const std::string& content, std::string& text) {
  for (const bool alsoBehind : {false, true}) {
    const std::string_view part = withoutSpace(content, alsoBehind);
    const size_t begin = text.rfind(part);
    if (begin == std::string::npos)
      continue;
    text.resize(begin + part.size());
    return {};
  }
  return Status::error("`continue_final_message` is set, and the chat template "
                       "does not write the text of the last message as it is");
}

} // namespace

Expected<PromptTemplate>
PromptTemplate::make(const NamedTemplate& source,
                     std::vector<std::pair<std::string, std::string>> tokens,
                     const plan::Data& data, const data::Tokenizer& tokenizer) {
  Expected<jinja::Template> program = jinja::Template::parse(source.text);
  RECIPERUN_TRY(program.status()
                    .withContext(source.place + ": chat template")
                    .withRemedy("mend it there, or write a "
                                "`chat_template.jinja` without it"));
  data::TextEncoder encoder(data, tokenizer, markersOf(source.text, tokenizer));
  std::vector<data::AddedToken> controls = controlsOf(encoder, tokenizer);
  std::vector<std::string> spellings;
  for (const data::AddedToken& token : controls)
    spellings.push_back(token.content);
  Expected<data::AddedTokens> finder =
      data::AddedTokens::build(std::move(controls));
  RECIPERUN_TRY(finder);
  PromptTemplate made(*std::move(program), std::move(encoder),
                      *std::move(finder),
                      UserTextGuard(spellings, source.text));
  made.source = source.text;
  made.place = source.place;
  made.tokens = std::move(tokens);
  return made;
}

Expected<PromptTemplate::Rendered>
PromptTemplate::rendered(const ChatInput& input, std::time_t now) const {
  Expected<ChatInput> checked = checkedInput(input, source);
  RECIPERUN_TRY(checked);
  OrderedJson* const texts[] = {&checked->messages, &checked->tools,
                                &checked->variables};
  Expected<Disguise> disguise = guard.disguise(texts);
  RECIPERUN_TRY(disguise);
  OrderedJson variables = {{"tools", nullptr}, {"documents", nullptr}};
  for (const auto& [name, text] : tokens)
    variables[name] = text;
  for (const auto& [name, value] : checked->variables.items())
    variables[name] = value;
  std::string continued;
  if (checked->continuesFinal)
    continued = checked->messages.back()["content"].get<std::string>();
  variables["messages"] = std::move(checked->messages);
  if (!checked->tools.empty())
    variables["tools"] = std::move(checked->tools);
  variables["add_generation_prompt"] = checked->addGenerationPrompt;
  Expected<std::string> text = program.render(variables, now);
  RECIPERUN_TRY(text.status().withContext(place + ": chat template"));
  if (checked->continuesFinal)
    RECIPERUN_TRY(endBehind(continued, *text));
  return Rendered{*std::move(text), *std::move(disguise)};
}

Expected<std::string> PromptTemplate::render(const ChatInput& input,
                                             std::time_t now) const {
  Expected<Rendered> made = rendered(input, now);
  RECIPERUN_TRY(made);
  return made->disguise.restore(made->text);
}

Expected<std::vector<int32_t>> PromptTemplate::encode(const ChatInput& input,
                                                      std::time_t now) const {
  Expected<Rendered> made = rendered(input, now);
  RECIPERUN_TRY(made);
  std::vector<data::TextPart> parts;
  RECIPERUN_TRY(controls.split(made->text, parts));
  std::vector<int32_t> ids;
  for (const data::TextPart& part : parts) {
    if (part.id >= 0) {
      ids.push_back(part.id);
      continue;
    }
    Expected<std::vector<int32_t>> some =
        encoder.userText(made->disguise.restore(part.text),
                         /*continues=*/part.text.data() != made->text.data());
    RECIPERUN_TRY(some);
    ids.insert(ids.end(), some->begin(), some->end());
  }
  return ids;
}

} // namespace reciperun::serve
