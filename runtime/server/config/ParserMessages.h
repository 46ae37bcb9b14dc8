// Rewords the messages of protobuf's text parser.

#ifndef RECIPERUN_SERVER_CONFIG_PARSERMESSAGES_H
#define RECIPERUN_SERVER_CONFIG_PARSERMESSAGES_H

#include <string>

namespace reciperun::server {

struct ParserMessage {
  std::string text;
  /// The wrong word of the input, if the parser reports a position after it.
  /// Empty: the reported position is that of the mistake.
  std::string culprit = {};
};

/// `Message type "inference.ModelInput" has no field named "dim".` becomes
/// "unknown field `dim` of `ModelInput`; did you mean `dims`?". Messages that
/// are not known keep their words, in our form.
ParserMessage rewordParserMessage(const std::string& message);

/// "unknown field `dim` of `ModelInput`; did you mean `dims`?", for a message
/// of model_config.proto with its package.
std::string unknownFieldMessage(const std::string& message,
                                const std::string& field);

} // namespace reciperun::server

#endif // RECIPERUN_SERVER_CONFIG_PARSERMESSAGES_H
