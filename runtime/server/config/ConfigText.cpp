// See ConfigText.h.

#include "runtime/server/config/ConfigText.h"

#include "runtime/server/config/ParserMessages.h"
#include "runtime/server/config/TemplateVariables.h"
#include "runtime/server/config/model_config.pb.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/io/tokenizer.h>
#include <google/protobuf/text_format.h>

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

namespace reciperun::server {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::TextFormat;
using inference::ModelConfig;

constexpr size_t mostErrors = 20;
/// Several times the nesting depth of real configurations.
constexpr int mostDepth = 50;

struct TextPlace {
  int line = -1, column = -1; // from 0; -1: not in the text

  auto operator<=>(const TextPlace&) const = default;
  std::string after(const std::string& file) const {
    return line < 0 ? file
                    : file + ":" + std::to_string(line + 1) + ":" +
                          std::to_string(column + 1);
  }
};

/// The offset of a position in the text; the end of the text if it has no such
/// position.
size_t offsetOf(std::string_view text, const TextPlace& place) {
  size_t at = 0;
  for (int line = 0; line < place.line; ++line) {
    at = text.find('\n', at);
    if (at == std::string_view::npos)
      return text.size();
    ++at;
  }
  // protobuf's tokenizer advances the column to the next multiple of 8 at a
  // tab.
  for (int column = 0; column < place.column && at < text.size(); ++at)
    column += text[at] == '\t' ? 8 - column % 8 : 1;
  return std::min(at, text.size());
}

TextPlace placeAt(std::string_view text, size_t offset) {
  const std::string_view before = text.substr(0, offset);
  const size_t line = before.rfind('\n'); // npos + 1 is 0
  return {.line = int(std::ranges::count(before, '\n')),
          .column = int(offset - (line + 1))};
}

/// The position of the last occurrence of `word` before `place`; `place` if
/// there is none.
TextPlace wordBefore(std::string_view text, const TextPlace& place,
                     const std::string& word) {
  const size_t end = offsetOf(text, place);
  const size_t at =
      word.empty() ? std::string_view::npos : text.substr(0, end).rfind(word);
  return at == std::string_view::npos ? place : placeAt(text, at);
}

/// Collects the parser's errors. Unknown fields arrive as warnings, and the
/// parser continues after them.
class ParserErrors : public google::protobuf::io::ErrorCollector {
public:
  ParserErrors(std::string_view given, const std::string& file)
      : given(given), file(file) {}

  void AddError(int line, int column, const std::string& message) override {
    if (++count > mostErrors)
      return;
    const ParserMessage ours = rewordParserMessage(message);
    const TextPlace place = wordBefore(given, {line, column}, ours.culprit);
    text += (text.empty() ? "" : "\n") + place.after(file) + ": " + ours.text;
  }
  void AddWarning(int line, int column, const std::string& message) override {
    AddError(line, column, message);
  }

  std::string text;

private:
  const std::string_view given;
  const std::string& file;
  size_t count = 0;
};

/// The first position at which braces are nested too deeply. The parser itself
/// would recurse through unknown fields without a limit.
std::optional<TextPlace> tooDeep(std::string_view text) {
  int depth = 0;
  TextPlace place{.line = 0, .column = 0};
  char quote = 0;
  for (size_t i = 0; i < text.size(); ++i, ++place.column) {
    const char c = text[i];
    if (c == '\n') {
      quote = 0; // strings and comments end with the line
      place = {.line = place.line + 1, .column = -1};
    } else if (quote == '#') {
      continue;
    } else if (quote != 0) {
      if (c == '\\' && i + 1 < text.size() && text[i + 1] != '\n')
        ++i, ++place.column;
      else if (c == quote)
        quote = 0;
    } else if (c == '"' || c == '\'' || c == '#') {
      quote = c;
    } else if (c == '{' || c == '<' || c == '[') {
      if (++depth > mostDepth)
        return place;
    } else if (c == '}' || c == '>' || c == ']') {
      --depth;
    }
  }
  return std::nullopt;
}

/// The position of the first field of a message in the text.
TextPlace firstPlace(const TextFormat::ParseInfoTree& tree,
                     const Descriptor& message) {
  TextPlace first;
  for (int i = 0; i < message.field_count(); ++i) {
    const auto at = tree.GetLocation(message.field(i),
                                     message.field(i)->is_repeated() ? 0 : -1);
    const TextPlace place{.line = at.line, .column = at.column};
    if (place.line >= 0 && (first.line < 0 || place < first))
      first = place;
  }
  return first;
}

/// The position of the last step of the path that is in the text. The elements
/// of a list have no positions of their own; for a message it is the position
/// of its first field.
TextPlace placeIn(const TextFormat::ParseInfoTree& root,
                  const FieldPath& path) {
  const TextFormat::ParseInfoTree* tree = &root;
  const Descriptor* message = ModelConfig::descriptor();
  TextPlace last;
  for (const FieldPath::Step& step : path.steps()) {
    const FieldDescriptor* const field = message->FindFieldByName(step.field);
    if (!field)
      break;
    const int index = field->is_repeated() ? std::max(0, step.index) : -1;
    const auto at =
        tree->GetLocation(field, step.index < 0 && index == 0 ? 0 : index);
    if (at.line >= 0)
      last = {.line = at.line, .column = at.column};
    message = field->message_type();
    tree = message ? tree->GetTreeForNested(field, index) : nullptr;
    if (!tree)
      break;
    if (step.index >= 0)
      if (const TextPlace first = firstPlace(*tree, *message); first.line >= 0)
        last = first;
  }
  return last;
}

void warnOfVariables(std::vector<std::string> names, const std::string& file,
                     std::vector<std::string>& warnings) {
  std::ranges::sort(names);
  names.erase(std::unique(names.begin(), names.end()), names.end());
  if (names.empty())
    return;
  std::string list;
  for (const std::string& name : names)
    list += (list.empty() ? "`${" : ", `${") + name + "}`";
  warnings.push_back(file +
                     ": template variables that are not filled in "
                     "count as unset: " +
                     list);
}

Status invalidText(const std::string& message) {
  return Status::error(message, StatusCode::invalidArgument);
}

} // namespace

Expected<ConfigText> parseConfigText(std::string_view text,
                                     const std::string& file) {
  const WithoutVariables given = withoutVariables(text);
  if (const auto place = tooDeep(given.text))
    return invalidText(place->after(file) +
                       ": messages are nested deeper "
                       "than " +
                       std::to_string(mostDepth) + " levels");
  ConfigText read{
      .config = std::make_shared<ModelConfig>(), .warnings = {}, .placeOf = {}};
  ParserErrors errors(given.text, file);
  const auto tree = std::make_shared<TextFormat::ParseInfoTree>();
  TextFormat::Parser parser;
  parser.RecordErrorsTo(&errors);
  parser.SetRecursionLimit(mostDepth);
  parser.AllowUnknownField(true);
  parser.WriteLocationsTo(tree.get());
  const bool isParsed = parser.ParseFromString(given.text, read.config.get());
  if (!errors.text.empty())
    return invalidText(errors.text);
  if (!isParsed)
    return invalidText(file + ": the text cannot be parsed");
  std::vector<std::string> names = clearVariables(*read.config);
  names.insert(names.end(), given.names.begin(), given.names.end());
  warnOfVariables(std::move(names), file, read.warnings);
  read.placeOf = [tree, file](const FieldPath& path) {
    return placeIn(*tree, path).after(file);
  };
  return read;
}

} // namespace reciperun::server
