// See ParserMessages.h.

#include "runtime/server/config/ParserMessages.h"

#include "runtime/cli/Spelling.h"
#include "runtime/server/config/model_config.pb.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/descriptor.pb.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <string_view>
#include <vector>

namespace reciperun::server {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::EnumDescriptor;
using google::protobuf::FileDescriptor;

const FileDescriptor& protoFile() {
  return *inference::ModelConfig::descriptor()->file();
}

std::string quotedName(const std::string& name) {
  return "`" + name + "`";
}

/// Names also count as near where one begins or ends with the other.
std::string nearestOf(const std::string& name,
                      const std::vector<std::string>& names) {
  if (const auto nearest = cli::nearest(name, names))
    return *nearest;
  for (const std::string& each : names)
    if (each.starts_with(name + "_") || each.ends_with("_" + name))
      return each;
  return "";
}

std::string didYouMean(const std::string& name,
                       const std::vector<std::string>& names) {
  const std::string nearest = nearestOf(name, names);
  return nearest.empty() ? "" : "; did you mean `" + nearest + "`?";
}

/// Calls `take` for each message of the file, outer ones first.
template <class Take> void eachMessage(const Descriptor& message, Take take) {
  if (message.options().map_entry())
    return;
  take(message);
  for (int i = 0; i < message.nested_type_count(); ++i)
    eachMessage(*message.nested_type(i), take);
}

template <class Take> void eachMessage(Take take) {
  for (int i = 0; i < protoFile().message_type_count(); ++i)
    eachMessage(*protoFile().message_type(i), take);
}

/// `inference.ModelInput` without its package.
std::string shortName(const std::string& full) {
  return full.substr(full.rfind('.') + 1);
}

/// Suggests a value of the field's type.
std::string unknownValue(const std::string& value, const std::string& field) {
  std::vector<std::string> names;
  eachMessage([&](const Descriptor& message) {
    const auto* const found = message.FindFieldByName(field);
    const EnumDescriptor* const type = found ? found->enum_type() : nullptr;
    for (int i = 0; type && i < type->value_count(); ++i)
      names.push_back(type->value(i)->name());
  });
  std::string list;
  if (names.size() <= 6)
    for (const std::string& name : names)
      list += (list.empty() ? "; it may be " : ", ") + quotedName(name);
  const std::string nearest = didYouMean(value, names);
  return "unknown value `" + value + "` of `" + field + "`" +
         (nearest.empty() ? list : nearest);
}

/// The texts between pairs of quotes.
std::vector<std::string> quotedParts(const std::string& message) {
  std::vector<std::string> parts;
  for (size_t at = message.find('"'); at != std::string::npos;
       at = message.find('"', at)) {
    const size_t end = message.find('"', at + 1);
    if (end == std::string::npos)
      break;
    parts.push_back(message.substr(at + 1, end - at - 1));
    at = end + 1;
  }
  return parts;
}

/// `Expected KIND, got: WHAT`, or `Expected "A", found "B".`
std::string expectedMessage(const std::string& message) {
  constexpr std::string_view begin = "Expected ";
  const size_t comma = message.find(", ");
  std::string wanted = message.substr(begin.size(), comma - begin.size());
  std::string got = message.substr(message.find_first_of(" ", comma + 2) + 1);
  if (got.ends_with('.'))
    got.pop_back();
  std::erase(wanted, '"');
  std::erase(got, '"');
  if (wanted.size() == 1)
    wanted = quotedName(wanted);
  if (got.empty())
    return "expected " + wanted + ", but the text ends";
  return "expected " + wanted + ", got `" + got + "`";
}

struct Rewording {
  std::string_view theirs; // begins their message
  std::string_view ours;
};

constexpr auto rewordings = std::to_array<Rewording>({
    {"String literals cannot cross line boundaries",
     "a text must end on its line; a quote is missing"},
    {"Unexpected end of string", "a text must end with its quote"},
    {"Invalid control characters encountered in text",
     "the text has control characters"},
    {"Interpreting non ascii codepoint",
     "characters other than ASCII must be in quotes"},
    {"Invalid escape sequence in string literal",
     "unknown escape sequence in a text"},
    {"Message is too deep", "messages are nested too deeply"},
});

/// What is not known, lower case and without a period.
std::string inOurForm(std::string message) {
  if (message.ends_with('.'))
    message.pop_back();
  if (!message.empty())
    message[0] = char(std::tolower(static_cast<unsigned char>(message[0])));
  std::ranges::replace(message, '"', '`');
  return message;
}

} // namespace

// Suggests a field of the message; else the message that has such a field.
std::string unknownFieldMessage(const std::string& type,
                                const std::string& field) {
  const std::string begin =
      "unknown field `" + field + "` of `" + shortName(type) + "`";
  std::vector<std::string> names;
  std::string owner;
  eachMessage([&](const Descriptor& message) {
    if (message.full_name() == type)
      for (int i = 0; i < message.field_count(); ++i)
        names.push_back(message.field(i)->name());
    if (owner.empty() && message.FindFieldByName(field))
      owner = message.name();
  });
  const std::string nearest = didYouMean(field, names);
  if (nearest.empty() && !owner.empty())
    return begin + "; it is a field of `" + owner + "`";
  return begin + nearest;
}

ParserMessage rewordParserMessage(const std::string& message) {
  const std::vector<std::string> parts = quotedParts(message);
  const auto contains = [&](const char* words) {
    return message.find(words) != std::string::npos;
  };
  if (contains("has no field named") && parts.size() == 2)
    return {unknownFieldMessage(parts[0], parts[1]), parts[1]};
  if (contains("Unknown enumeration value of") && parts.size() == 2)
    return {unknownValue(parts[0], parts[1]), parts[0]};
  if (contains("is specified multiple times") && parts.size() == 1)
    return {"`" + parts[0] + "` is given more than once", parts[0]};
  if (contains("another member of oneof") && parts.size() == 3)
    return {"only one of `" + parts[0] + "` and `" + parts[1] +
                "` may be given",
            parts[0]};
  if (contains("Invalid value for boolean field") && parts.size() == 2)
    return {"`" + parts[0] + "` must be `true` or `false`, got `" + parts[1] +
                "`",
            parts[1]};
  if (message.starts_with("Integer out of range") && contains("("))
    return {"the number " + message.substr(message.find('(')) +
            " is too large for its field"};
  if (message.starts_with("Expected ") && contains(", "))
    return {expectedMessage(message)};
  for (const Rewording& row : rewordings)
    if (message.starts_with(row.theirs))
      return {std::string(row.ours)};
  return {inOurForm(message)};
}

} // namespace reciperun::server
