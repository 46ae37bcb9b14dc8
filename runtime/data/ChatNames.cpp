// See ChatNames.h.

#include "runtime/data/ChatNames.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cctype>
#include <map>

namespace reciperun::data {
namespace {

using Json = nlohmann::json;

constexpr std::string_view roleKeys[] = {"role", "from", "speaker", "author",
                                         "sender"};
constexpr std::string_view contentKeys[] = {"content", "value", "text",
                                            "message", "body"};

/// The first of `keys` that holds a string in the message.
template <size_t N>
std::string keyIn(const Json& message, const std::string_view (&keys)[N]) {
  for (const std::string_view key : keys) {
    const auto found = message.find(std::string(key));
    if (found != message.end() && found->is_string())
      return std::string(key);
  }
  return {};
}

} // namespace

bool isPlainName(std::string_view name) {
  return !name.empty() && !std::isdigit(static_cast<unsigned char>(name[0])) &&
         std::all_of(name.begin(), name.end(), [](unsigned char c) {
           return std::isalnum(c) || c == '_';
         });
}

std::string roleMeant(std::string role) {
  static constexpr std::pair<std::string_view, std::string_view> others[] = {
      {"human", "user"},    {"customer", "user"},    {"prompter", "user"},
      {"bot", "assistant"}, {"gpt", "assistant"},    {"model", "assistant"},
      {"ai", "assistant"},  {"chatbot", "assistant"}};
  std::transform(role.begin(), role.end(), role.begin(),
                 [](unsigned char c) { return std::tolower(c); });
  role.erase(0, role.find_first_not_of(" \t\r\n"));
  role.erase(role.find_last_not_of(" \t\r\n") + 1);
  for (const auto& [other, ours] : others)
    if (role == other)
      return std::string(ours);
  return role;
}

std::string messagesField(const Json& sample, const std::string& field) {
  if (sample.contains(field))
    return field;
  std::string only;
  for (const auto& [name, value] : sample.items()) {
    const bool isList =
        value.is_array() && !value.empty() && value.front().is_object();
    if (!isList)
      continue;
    if (!only.empty())
      return {};
    only = name;
  }
  return only;
}

std::string messagesFilter(const Json& sample, const std::string& field) {
  const std::string list = messagesField(sample, field);
  if (!isPlainName(list) || !isPlainName(field) || !sample[list].is_array() ||
      sample[list].empty() || !sample[list].front().is_object())
    return {};
  const Json& first = sample[list].front();
  const std::string roleKey = keyIn(first, roleKeys);
  const std::string contentKey = keyIn(first, contentKeys);
  if (roleKey.empty() || contentKey.empty())
    return {};
  std::map<std::string, std::string> roles;
  for (const Json& message : sample[list]) {
    if (!message.is_object() || !message.contains(roleKey) ||
        !message[roleKey].is_string())
      return {};
    const std::string role = message[roleKey].get<std::string>();
    if (isPlainName(role) && roleMeant(role) != role)
      roles[role] = roleMeant(role);
  }
  if (roles.empty() && roleKey == "role" && contentKey == "content")
    return {};
  std::string renamed;
  for (const auto& [role, meant] : roles)
    renamed += (renamed.empty() ? "" : ", ") + role + ": \"" + meant + "\"";
  const std::string role = roles.empty() ? "." + roleKey
                                         : "({" + renamed + "}[." + roleKey +
                                               "] // ." + roleKey + ")";
  return "{" + field + ": [." + list + "[] | {role: " + role + ", content: ." +
         contentKey + "}]}";
}

} // namespace reciperun::data
