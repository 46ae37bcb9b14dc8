// See ConfigText.h.

#include "runtime/server/config/ConfigText.h"

#include "runtime/cli/Spelling.h"
#include "runtime/server/config/model_config.pb.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/io/tokenizer.h>
#include <google/protobuf/text_format.h>

#include <algorithm>
#include <cctype>
#include <optional>
#include <set>
#include <utility>

namespace reciperun::server {
namespace {

using google::protobuf::Descriptor;
using inference::ModelConfig;

constexpr size_t mostErrors = 20;
/// As deep as a real configuration is nested, several times over.
constexpr int mostDepth = 50;

bool isNameCharacter(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) || c == '_';
}

/// The names of all fields of a message and of those below it.
void collectNames(const Descriptor& message, std::set<std::string>& names,
                  std::set<const Descriptor*>& seen) {
  if (!seen.insert(&message).second)
    return;
  for (int i = 0; i < message.field_count(); ++i) {
    names.insert(message.field(i)->name());
    if (const Descriptor* const below = message.field(i)->message_type())
      collectNames(*below, names, seen);
  }
}

/// The text between the first two quotes after `word`.
std::optional<std::string> quotedAfter(const std::string& message,
                                       const std::string& word) {
  const size_t at = message.find(word);
  const size_t begin =
      at == std::string::npos ? at : message.find('"', at + word.size());
  const size_t end =
      begin == std::string::npos ? begin : message.find('"', begin + 1);
  if (end == std::string::npos)
    return std::nullopt;
  return message.substr(begin + 1, end - begin - 1);
}

std::string suggestionFor(const std::string& name) {
  std::set<std::string> names;
  std::set<const Descriptor*> seen;
  collectNames(*ModelConfig::descriptor(), names, seen);
  auto nearest =
      cli::nearest(name, std::vector<std::string>(names.begin(), names.end()));
  if (const auto longer = names.lower_bound(name);
      !nearest && longer != names.end() && longer->starts_with(name))
    nearest = *longer;
  return nearest ? "; did you mean `" + *nearest + "`?" : "";
}

/// A message of the parser in our words.
std::string reworded(std::string message) {
  if (const auto field = quotedAfter(message, "has no field named"))
    return "unknown field `" + *field + "`" + suggestionFor(*field);
  if (message.ends_with('.'))
    message.pop_back();
  if (!message.empty())
    message[0] = char(std::tolower(static_cast<unsigned char>(message[0])));
  std::ranges::replace(message, '"', '`');
  return message;
}

class Errors : public google::protobuf::io::ErrorCollector {
public:
  explicit Errors(const std::string& file) : file(file) {}

  void AddError(int line, int column, const std::string& message) override {
    if (++count <= mostErrors)
      text +=
          (text.empty() ? "" : "\n") + place(line, column) + reworded(message);
  }
  void AddWarning(int line, int column, const std::string& message) override {
    warnings.push_back(place(line, column) + reworded(message));
  }

  std::string text;
  std::vector<std::string> warnings;

private:
  std::string place(int line, int column) const {
    return file + ":" + std::to_string(line + 1) + ":" +
           std::to_string(column + 1) + ": ";
  }

  const std::string& file;
  size_t count = 0;
};

/// Parameters whose value is a variable that was not filled in are absent.
void dropVariables(ModelConfig& config) {
  std::vector<std::string> unset;
  for (const auto& [name, value] : config.parameters())
    if (value.string_value().find("${") != std::string::npos)
      unset.push_back(name);
  for (const std::string& name : unset)
    config.mutable_parameters()->erase(name);
  if (config.backend().find("${") != std::string::npos)
    config.clear_backend();
}

/// TensorRT-LLM's ensemble declares an output twice.
void dropRepeatedOutputs(ModelConfig& config, const std::string& file,
                         std::vector<std::string>& warnings) {
  std::set<std::string> seen;
  auto& outputs = *config.mutable_output();
  for (int i = 0; i < outputs.size();) {
    if (seen.insert(outputs[i].name()).second) {
      ++i;
      continue;
    }
    warnings.push_back(file + ": output `" + outputs[i].name() +
                       "` is declared twice; the second one is left out");
    outputs.DeleteSubrange(i, 1);
  }
}

/// Where the field of a value begins: its name, before the colon.
size_t beginOfField(std::string_view text, size_t value) {
  size_t at = value;
  while (at > 0 && std::isspace(static_cast<unsigned char>(text[at - 1])))
    --at;
  if (at == 0 || text[at - 1] != ':')
    return value; // an element of a list
  --at;
  while (at > 0 && std::isspace(static_cast<unsigned char>(text[at - 1])))
    --at;
  while (at > 0 && isNameCharacter(text[at - 1]))
    --at;
  return at;
}

} // namespace

std::string withoutVariables(std::string_view text) {
  std::string made(text);
  char quote = 0;
  for (size_t i = 0; i < made.size(); ++i) {
    const char c = made[i];
    if (quote != 0) {
      if (c == '\\')
        ++i;
      else if (c == quote)
        quote = 0;
      continue;
    }
    if (c == '"' || c == '\'') {
      quote = c;
    } else if (c == '#') {
      while (i < made.size() && made[i] != '\n')
        ++i;
    } else if (made.compare(i, 2, "${") == 0) {
      const size_t end = made.find('}', i);
      if (end == std::string::npos)
        break;
      const size_t begin = beginOfField(made, i);
      // A type that nobody uses has to be some type.
      const bool isType = made.compare(begin, 9, "data_type") == 0;
      const std::string filler =
          isType ? "data_type: TYPE_FP32" : std::string(end + 1 - begin, ' ');
      made.replace(begin, end + 1 - begin, filler);
      i = begin + filler.size() - 1;
    }
  }
  return made;
}

Expected<ReadConfig> parseConfigText(std::string_view text,
                                     const std::string& file) {
  ReadConfig read{.config = std::make_shared<ModelConfig>(), .warnings = {}};
  Errors errors(file);
  google::protobuf::TextFormat::Parser parser;
  parser.RecordErrorsTo(&errors);
  parser.SetRecursionLimit(mostDepth);
  if (!parser.ParseFromString(withoutVariables(text), read.config.get()))
    return Status::error(errors.text.empty() ? file + ": cannot be parsed"
                                             : errors.text,
                         StatusCode::invalidArgument);
  read.warnings = std::move(errors.warnings);
  dropVariables(*read.config);
  dropRepeatedOutputs(*read.config, file, read.warnings);
  return read;
}

} // namespace reciperun::server
