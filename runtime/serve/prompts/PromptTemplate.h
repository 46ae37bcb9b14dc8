// One Jinja template of a model: renders conversations and encodes the result.
//
// 1. Replace guarded characters of users' text (UserTextGuard). 2. Render.
// 3. Split the text at control tokens. 4. Restore the users' characters and
// encode the parts in between as plain text.

#ifndef RECIPERUN_SERVE_PROMPTS_PROMPTTEMPLATE_H
#define RECIPERUN_SERVE_PROMPTS_PROMPTTEMPLATE_H

#include "runtime/base/Status.h"
#include "runtime/data/AddedTokens.h"
#include "runtime/data/TextEncoder.h"
#include "runtime/jinja/Template.h"
#include "runtime/serve/prompts/ChatInput.h"
#include "runtime/serve/prompts/TemplateFiles.h"
#include "runtime/serve/prompts/UserTextGuard.h"

#include <cstdint>
#include <ctime>
#include <string>
#include <utility>
#include <vector>

namespace reciperun::serve {

class PromptTemplate {
public:
  /// Control tokens are those of TextEncoder and the added tokens that the
  /// template writes, except for pairs of tags such as `<think>` and
  /// `</think>`, which mark parts of a content. `tokens` are variables of the
  /// template. The tokenizer must outlive the object. Fails when the template
  /// cannot be parsed.
  static Expected<PromptTemplate>
  make(const NamedTemplate& source,
       std::vector<std::pair<std::string, std::string>> tokens,
       const plan::Data& data, const data::Tokenizer& tokenizer);

  /// The text of a conversation. Fails when the input is not one (see
  /// checkedInput) and when the template raises an exception.
  Expected<std::string> render(const ChatInput& input, std::time_t now) const;

  /// The ids of a conversation.
  Expected<std::vector<int32_t>> encode(const ChatInput& input,
                                        std::time_t now) const;

private:
  struct Rendered {
    std::string text;
    Disguise disguise;
  };

  PromptTemplate(jinja::Template program, data::TextEncoder encoder,
                 data::AddedTokens controls, UserTextGuard guard)
      : program(std::move(program)), encoder(std::move(encoder)),
        controls(std::move(controls)), guard(std::move(guard)) {}

  Expected<Rendered> rendered(const ChatInput& input, std::time_t now) const;

  std::string source;
  std::string place;
  std::vector<std::pair<std::string, std::string>> tokens;
  jinja::Template program;
  data::TextEncoder encoder;
  data::AddedTokens controls;
  UserTextGuard guard;
};

} // namespace reciperun::serve

#endif // RECIPERUN_SERVE_PROMPTS_PROMPTTEMPLATE_H
