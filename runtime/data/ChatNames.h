// What other programs call the messages of a chat, their roles and the keys of
// a message: ShareGPT's `conversations` with `from` and `value`, say.

#ifndef RECIPERUN_DATA_CHATNAMES_H
#define RECIPERUN_DATA_CHATNAMES_H

#include <nlohmann/json_fwd.hpp>

#include <string>
#include <string_view>

namespace reciperun::data {

/// What a role of another spelling or of another program is called here.
std::string roleMeant(std::string role);

/// The field of a sample that holds its messages: `field`, or where the sample
/// lacks it the only one that is a list of objects; empty where there is none.
std::string messagesField(const nlohmann::json& sample,
                          const std::string& field);

/// The filter of `jq` that gives the messages of `sample` the keys `role` and
/// `content` and the roles of a chat, in a list called `field`. Empty where
/// they have those keys, or where it is not clear which of theirs are meant.
std::string messagesFilter(const nlohmann::json& sample,
                           const std::string& field);

} // namespace reciperun::data

#endif // RECIPERUN_DATA_CHATNAMES_H
