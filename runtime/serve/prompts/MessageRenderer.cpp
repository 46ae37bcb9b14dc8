// See MessageRenderer.h.

#include "runtime/serve/prompts/MessageRenderer.h"

#include "runtime/checkpoint/ChatTemplate.h"
#include "runtime/data/TextEncoder.h"

namespace reciperun::serve {
namespace {

/// Whether a folder's only template is the one that exports write for a model
/// that was trained on messages.
bool isOfTraining(const TemplateFiles& files, const plan::Data& data,
                  const data::Tokenizer& tokenizer) {
  return plan::readsMessages(data) && files.templates.size() == 1 &&
         files.templates.front().text ==
             checkpoint::jinjaTemplate(
                 data.chat, tokenizer.bytesOf(int32_t(data.bosToken)),
                 tokenizer.bytesOf(int32_t(data.eosToken)));
}

} // namespace

Expected<MessageRenderer>
MessageRenderer::open(const std::filesystem::path& directory,
                      const plan::Data& data,
                      const data::Tokenizer& tokenizer) {
  Expected<TemplateFiles> files = readTemplateFiles(directory);
  RECIPERUN_TRY(files);
  MessageRenderer renderer(data, tokenizer);
  renderer.isGuess = files->templates.empty() && !plan::readsMessages(data);
  if (!isOfTraining(*files, data, tokenizer))
    for (const NamedTemplate& each : files->templates)
      renderer.templates.push_back(
          {each.name,
           PromptTemplate::make(each, files->tokens, data, tokenizer)});
  return renderer;
}

/// `tool_use` where there are tools and it exists, else `default`.
Expected<const PromptTemplate*>
MessageRenderer::templateFor(const ChatInput& input) const {
  const Named* chosen = nullptr;
  for (const Named& each : templates)
    if (each.name == "default" && !chosen)
      chosen = &each;
    else if (each.name == "tool_use" && !input.tools.empty())
      chosen = &each;
  if (!chosen)
    return Status::error("the model's folder has chat templates, the first "
                         "one named `" +
                         templates.front().name +
                         "`, but none named `default`; name the one to use so");
  RECIPERUN_TRY(chosen->made);
  return &*chosen->made;
}

/// The pieces of a conversation by `data.chat`.
Expected<std::vector<data::Piece>>
MessageRenderer::piecesOf(const ChatInput& input) const {
  Expected<ChatInput> checked = checkedInput(input, /*source=*/{});
  RECIPERUN_TRY(checked);
  if (!checked->tools.empty())
    return Status::error("the conversation has `tools`, but the form of "
                         "messages, `data.chat` of the recipe, has no place "
                         "for them; add a `chat_template.jinja` that has one "
                         "to the model's folder");
  std::vector<data::Piece> pieces;
  for (const auto& message : checked->messages) {
    const auto& content = message["content"];
    for (data::Piece& piece : data::chatPieces(
             data.chat, message["role"].get<std::string>(),
             content.is_string() ? content.get<std::string>() : ""))
      pieces.push_back(std::move(piece));
  }
  if (input.continuesFinal)
    pieces.pop_back(); // what ends the message
  if (input.addGenerationPrompt)
    pieces.push_back(data::chatPieces(data.chat, "assistant", "").front());
  return pieces;
}

Expected<std::vector<int32_t>> MessageRenderer::encode(const ChatInput& input,
                                                       std::time_t now) const {
  if (!templates.empty()) {
    Expected<const PromptTemplate*> chosen = templateFor(input);
    RECIPERUN_TRY(chosen);
    return (*chosen)->encode(input, now);
  }
  Expected<std::vector<data::Piece>> pieces = piecesOf(input);
  RECIPERUN_TRY(pieces);
  std::vector<int32_t> ids;
  if (data.bosToken >= 0)
    ids.push_back(int32_t(data.bosToken));
  const data::TextEncoder encoder(data, tokenizer);
  for (const data::Piece& piece : *pieces) {
    Expected<std::vector<int32_t>> some = piece.isRecipes
                                              ? encoder.recipeText(piece.text)
                                              : encoder.userText(piece.text);
    RECIPERUN_TRY(some);
    ids.insert(ids.end(), some->begin(), some->end());
  }
  return ids;
}

Expected<std::string> MessageRenderer::render(const ChatInput& input,
                                              std::time_t now) const {
  if (!templates.empty()) {
    Expected<const PromptTemplate*> chosen = templateFor(input);
    RECIPERUN_TRY(chosen);
    return (*chosen)->render(input, now);
  }
  Expected<std::vector<data::Piece>> pieces = piecesOf(input);
  RECIPERUN_TRY(pieces);
  std::string text = tokenizer.bytesOf(int32_t(data.bosToken));
  for (const data::Piece& piece : *pieces)
    text += piece.text;
  return text;
}

} // namespace reciperun::serve
