// The names that other programs use for chat messages, roles and message keys:
// ShareGPT's `conversations` with `from` and `value`, for example.

#ifndef RECIPERUN_DATA_CHATNAMES_H
#define RECIPERUN_DATA_CHATNAMES_H

#include <nlohmann/json_fwd.hpp>

#include <string>
#include <string_view>

namespace reciperun::data {

/// Whether `jq` accepts a name without quotation marks.
bool isPlainName(std::string_view name);

/// Maps a role in another spelling, or of another program, to our name.
std::string roleMeant(std::string role);

/// The field of a sample that holds its messages: `field`, or if the sample
/// lacks it the only field that is a list of objects; empty when there is none.
std::string messagesField(const nlohmann::json& sample,
                          const std::string& field);

/// A `jq` filter that converts the messages of `sample` to the keys `role` and
/// `content` and the roles of a chat, in a list called `field`. Empty when they
/// have those keys already, or when the matching keys are ambiguous.
std::string messagesFilter(const nlohmann::json& sample,
                           const std::string& field);

} // namespace reciperun::data

#endif // RECIPERUN_DATA_CHATNAMES_H
