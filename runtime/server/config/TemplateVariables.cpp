// See TemplateVariables.h.

#include "runtime/server/config/TemplateVariables.h"

#include "runtime/server/config/model_config.pb.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>

#include <algorithm>
#include <cctype>

namespace reciperun::server {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

bool isSpace(char c) {
  return std::isspace(static_cast<unsigned char>(c)) != 0;
}

bool isNamePart(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

/// The end of the variable that begins at `at`; `at` if none begins there.
size_t endOfVariable(std::string_view text, size_t at) {
  if (!text.substr(at).starts_with("${"))
    return at;
  size_t end = at + 2;
  while (end < text.size() && isNamePart(text[end]))
    ++end;
  return end < text.size() && text[end] == '}' && end > at + 2 ? end + 1 : at;
}

/// The variable from `begin` to `end` without its brackets.
std::string nameOfVariable(std::string_view text, size_t begin, size_t end) {
  return std::string(text.substr(begin + 2, end - begin - 3));
}

size_t endOfQuoted(std::string_view text, size_t at) {
  const char quote = text[at++];
  while (at < text.size() && text[at] != quote && text[at] != '\n')
    at += text[at] == '\\' ? 2 : 1;
  return std::min(at + 1, text.size());
}

size_t endOfLine(std::string_view text, size_t at) {
  return std::min(text.find('\n', at), text.size());
}

/// The last character before `at` that is no space; npos where there is none.
size_t lastBefore(std::string_view text, size_t at) {
  while (at > 0 && isSpace(text[at - 1]))
    --at;
  return at == 0 ? std::string_view::npos : at - 1;
}

/// One pass over the text.
class VariableScan {
public:
  explicit VariableScan(std::string_view text) : given(text) {}

  WithoutVariables run() {
    for (size_t at = 0; at < given.size();) {
      const char c = given[at];
      const size_t end = endOfVariable(given, at);
      if (c == '"' || c == '\'')
        copy(at, endOfQuoted(given, at));
      else if (c == '#')
        copy(at, endOfLine(given, at));
      else if (end != at && isWhole(at, end))
        drop(at, end);
      else
        copy(at, at + 1);
    }
    return std::move(made);
  }

private:
  void copy(size_t& at, size_t end) {
    made.text += given.substr(at, end - at);
    at = end;
  }

  /// Whether the variable is a complete value.
  bool isWhole(size_t begin, size_t end) const {
    return begin > 0 &&
           std::string_view(" \t\r\n:[,").find(given[begin - 1]) !=
               std::string_view::npos &&
           (end == given.size() || (!isNamePart(given[end]) &&
                                    std::string_view(".$\"'").find(
                                        given[end]) == std::string_view::npos));
  }

  void drop(size_t& at, size_t end) {
    const std::string name = nameOfVariable(given, at, end);
    const size_t before = lastBefore(made.text, made.text.size());
    if (before != std::string::npos && made.text[before] == ':')
      dropField(before, name, end - at);
    else
      dropElement(before, at, end);
    made.names.push_back(name);
    at = end;
  }

  /// Blanks the field whose colon is at `colon`, or gives a data type a default
  /// value.
  void dropField(size_t colon, const std::string& variable, size_t length) {
    size_t begin = lastBefore(made.text, colon);
    begin = begin == std::string::npos ? colon : begin + 1;
    while (begin > 0 && isNamePart(made.text[begin - 1]))
      --begin;
    if (std::string_view(made.text).substr(begin).starts_with("data_type")) {
      const bool isHalf = variable == "prompt_embedding_table_data_type" ||
                          variable == "encoder_input_features_data_type";
      made.text += isHalf ? "TYPE_FP16" : "TYPE_FP32";
      return;
    }
    blank(begin);
    made.text.append(length, ' ');
  }

  /// Blanks an element of a list together with the comma before or after it.
  void dropElement(size_t before, size_t at, size_t& end) {
    if (before != std::string::npos && made.text[before] == ',') {
      made.text[before] = ' ';
    } else {
      size_t next = end;
      while (next < given.size() && isSpace(given[next]))
        ++next;
      if (next < given.size() && given[next] == ',') {
        made.text.append(end - at, ' ');
        made.text += given.substr(end, next - end);
        made.text += ' ';
        end = next + 1;
        return;
      }
    }
    made.text.append(end - at, ' ');
  }

  /// Replaces the result from `begin` on by spaces.
  void blank(size_t begin) {
    for (size_t i = begin; i < made.text.size(); ++i)
      if (made.text[i] != '\n')
        made.text[i] = ' ';
  }

  const std::string_view given;
  WithoutVariables made;
};

/// Adds the variables in `text` to `names`. False where there is none.
bool findVariables(std::string_view text, std::vector<std::string>& names) {
  const size_t before = names.size();
  for (size_t at = text.find("${"); at != std::string_view::npos;
       at = text.find("${", at + 1))
    if (const size_t end = endOfVariable(text, at); end != at)
      names.push_back(nameOfVariable(text, at, end));
  return names.size() > before;
}

void clearIn(Message& message, std::vector<std::string>& names);

/// Removes the elements that contain variables; the others keep their order.
void clearRepeated(Message& message, const FieldDescriptor& field,
                   std::vector<std::string>& names) {
  const Reflection& access = *message.GetReflection();
  int kept = 0;
  const int size = access.FieldSize(message, &field);
  for (int i = 0; i < size; ++i) {
    if (field.message_type())
      clearIn(*access.MutableRepeatedMessage(&message, &field, i), names);
    else if (findVariables(access.GetRepeatedString(message, &field, i), names))
      continue;
    if (kept != i)
      access.SwapElements(&message, &field, kept, i);
    ++kept;
  }
  for (; kept < size; ++kept)
    access.RemoveLast(&message, &field);
}

void clearField(Message& message, const FieldDescriptor& field,
                std::vector<std::string>& names) {
  const Reflection& access = *message.GetReflection();
  const bool isText = field.cpp_type() == FieldDescriptor::CPPTYPE_STRING;
  if (!isText && !field.message_type())
    return;
  if (field.is_repeated())
    clearRepeated(message, field, names);
  else if (field.message_type())
    clearIn(*access.MutableMessage(&message, &field), names);
  else if (findVariables(access.GetString(message, &field), names))
    access.ClearField(&message, &field);
}

void clearIn(Message& message, std::vector<std::string>& names) {
  std::vector<const FieldDescriptor*> set;
  message.GetReflection()->ListFields(message, &set);
  for (const FieldDescriptor* const field : set)
    if (!field->is_map())
      clearField(message, *field, names);
}

} // namespace

WithoutVariables withoutVariables(std::string_view text) {
  return VariableScan(text).run();
}

std::vector<std::string> clearVariables(inference::ModelConfig& config) {
  std::vector<std::string> names;
  clearIn(config, names);
  std::vector<std::string> unset;
  for (const auto& [name, value] : config.parameters())
    if (findVariables(value.string_value(), names))
      unset.push_back(name);
  for (const std::string& name : unset)
    config.mutable_parameters()->erase(name);
  return names;
}

} // namespace reciperun::server
