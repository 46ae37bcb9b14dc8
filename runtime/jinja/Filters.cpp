// Filters of strings and numbers, and of any value.

#include "runtime/jinja/Filters.h"

#include "runtime/jinja/Arguments.h"
#include "runtime/jinja/Strings.h"

#include <algorithm>
#include <charconv>
#include <cmath>

namespace reciperun::jinja {
namespace {

using Result = Expected<Value>;

/// Makes a filter out of a function of strings. As in Jinja, other values are
/// printed first.
template <std::string (*function)(std::string_view)>
Result ofText(Renderer& renderer, const Value& operand, const Arguments&) {
  Expected<Text> text = operand.text(renderer.budget);
  RECIPERUN_TRY(text);
  return made(function(**text), renderer.budget);
}

Result trim(Renderer& renderer, const Value& operand,
            const Arguments& arguments) {
  ArgumentReader reader("trim", arguments);
  Expected<std::string> removed =
      reader.stringOr("chars", std::string(whiteSpace));
  RECIPERUN_TRY(removed);
  Expected<Text> text = operand.text(renderer.budget);
  RECIPERUN_TRY(text);
  return made(std::string(strip(**text, *removed)), renderer.budget);
}

Result replaceText(Renderer& renderer, const Value& operand,
                   const Arguments& arguments) {
  ArgumentReader reader("replace", arguments);
  Expected<std::string> from = reader.string("old");
  RECIPERUN_TRY(from);
  Expected<std::string> to = reader.string("new");
  RECIPERUN_TRY(to);
  Expected<int64_t> count = reader.integerOr("count", -1);
  RECIPERUN_TRY(count);
  Expected<Text> text = operand.text(renderer.budget);
  RECIPERUN_TRY(text);
  RECIPERUN_TRY(
      renderer.budget.takeBytes(replacedSize(**text, *from, *to, *count)));
  return Value(replace(**text, *from, *to, *count));
}

Result indent(Renderer& renderer, const Value& operand,
              const Arguments& arguments) {
  constexpr int64_t most = 1000;
  ArgumentReader reader("indent", arguments);
  const Value* width = reader.next("width");
  const bool indentsFirst = reader.flag("first");
  const bool indentsBlank = reader.flag("blank");
  std::string margin(4, ' ');
  if (width && width->string())
    margin = *width->string();
  else if (width && width->isInteger())
    margin.assign(size_t(std::clamp<int64_t>(width->integer(), 0, most)), ' ');
  Expected<Text> source = operand.text(renderer.budget);
  RECIPERUN_TRY(source);
  std::string text;
  for (std::string_view rest = **source;;) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    const bool isFirst = line.data() == (*source)->data();
    const bool isIndented =
        isFirst ? indentsFirst : !line.empty() || indentsBlank;
    const std::string_view before = isIndented ? margin : std::string_view();
    RECIPERUN_TRY(renderer.budget.takeBytes(before.size() + line.size() + 1));
    text.append(before).append(line);
    if (line.size() == rest.size())
      return Value(std::move(text));
    text += '\n';
    rest.remove_prefix(line.size() + 1);
  }
}

Result escape(Renderer& renderer, const Value& operand, const Arguments&) {
  Expected<Text> source = operand.text(renderer.budget);
  RECIPERUN_TRY(source);
  std::string text;
  for (const char c : **source) {
    constexpr std::string_view marks = "&<>'\"";
    constexpr std::string_view entities[] = {"&amp;", "&lt;", "&gt;", "&#39;",
                                             "&#34;"};
    const size_t at = marks.find(c);
    if (at == marks.npos)
      text += c;
    else
      text += entities[at];
  }
  return made(std::move(text), renderer.budget);
}

Result toText(Renderer& renderer, const Value& operand, const Arguments&) {
  Expected<Text> text = operand.text(renderer.budget);
  RECIPERUN_TRY(text);
  return Value(*text);
}

Result json(Renderer& renderer, const Value& operand,
            const Arguments& arguments) {
  constexpr int64_t most = 64;
  // Takes the named arguments of transformers' filter: `tojson(x, ensure_ascii,
  // indent, separators, sort_keys)`.
  Arguments byName{{}, arguments.named};
  ArgumentReader reader("tojson", byName);
  const Value* first =
      arguments.positional.empty() ? nullptr : &arguments.positional[0];
  Expected<int64_t> indent = reader.integerOr("indent", -1);
  RECIPERUN_TRY(indent);
  if (first && first->is<int64_t>()) // Jinja's own has only `indent`
    indent = first->integer();
  const bool sortsKeys = reader.flag("sort_keys");
  Expected<std::string> text =
      toJson(operand, int(std::clamp<int64_t>(*indent, -1, most)), sortsKeys,
             renderer.budget);
  RECIPERUN_TRY(text);
  return Value(*std::move(text));
}

Result orDefault(Renderer&, const Value& operand, const Arguments& arguments) {
  ArgumentReader reader("default", arguments);
  const Value* given = reader.next("default_value");
  const bool replacesFalse = reader.flag("boolean");
  const bool isAbsent =
      operand.isUndefined() || (replacesFalse && !operand.isTrue());
  if (!isAbsent)
    return operand;
  return given ? *given : Value("");
}

/// The number that a whole text holds; nullopt otherwise.
template <class Number> std::optional<Number> parsed(std::string_view text) {
  text = strip(text, whiteSpace);
  if (text.starts_with('+'))
    text.remove_prefix(1);
  Number value{};
  const char* end = text.data() + text.size();
  auto [at, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || at != end)
    return std::nullopt;
  return value;
}

Result toInteger(Renderer&, const Value& operand, const Arguments& arguments) {
  ArgumentReader reader("int", arguments);
  Expected<int64_t> otherwise = reader.integerOr("default", 0);
  RECIPERUN_TRY(otherwise);
  if (operand.isInteger())
    return Value(operand.integer());
  std::optional<double> real;
  if (operand.is<double>())
    real = operand.real();
  if (operand.string()) {
    if (auto integer = parsed<int64_t>(*operand.string()))
      return Value(*integer);
    real = parsed<double>(*operand.string());
  }
  constexpr double limit = 9e18;
  return Value(real && std::fabs(*real) < limit ? int64_t(*real) : *otherwise);
}

Result toReal(Renderer&, const Value& operand, const Arguments& arguments) {
  ArgumentReader reader("float", arguments);
  const Value* otherwise = reader.next("default");
  if (operand.isNumber())
    return Value(operand.real());
  if (operand.string())
    if (auto real = parsed<double>(*operand.string()))
      return Value(*real);
  return otherwise ? *otherwise : Value(0.0);
}

Result absolute(Renderer&, const Value& operand, const Arguments&) {
  if (operand.is<double>())
    return Value(std::fabs(operand.real()));
  if (operand.isInteger())
    return operand.integer() < 0 ? negate(operand) : Value(operand.integer());
  return Status::error("`abs` does not take a value of type `" +
                       std::string(operand.typeName()) + "`");
}

Result round(Renderer&, const Value& operand, const Arguments& arguments) {
  ArgumentReader reader("round", arguments);
  Expected<int64_t> digits = reader.integerOr("precision", 0);
  RECIPERUN_TRY(digits);
  Expected<std::string> method = reader.stringOr("method", "common");
  RECIPERUN_TRY(method);
  if (!operand.isNumber())
    return Status::error("`round` does not take a value of type `" +
                         std::string(operand.typeName()) + "`");
  constexpr int64_t most = 15;
  const double scale =
      std::pow(10, double(std::clamp<int64_t>(*digits, -most, most)));
  const double scaled = operand.real() * scale;
  if (*method == "ceil")
    return Value(std::ceil(scaled) / scale);
  if (*method == "floor")
    return Value(std::floor(scaled) / scale);
  if (*method == "common")
    return Value(std::nearbyint(scaled) / scale);
  return Status::error("`round` has no method `" + *method +
                       "`; it has `common`, `ceil` and `floor`");
}

Result countWords(Renderer& renderer, const Value& operand, const Arguments&) {
  Expected<Text> text = operand.text(renderer.budget);
  RECIPERUN_TRY(text);
  Expected<Parts> words = splitAtSpaces(**text, -1, renderer.budget);
  RECIPERUN_TRY(words);
  return Value(int64_t(words->size()));
}

constexpr FilterDefinition filtersOfValues[] = {
    {"abs", absolute},
    {"capitalize", ofText<capitalize>},
    {"d", orDefault},
    {"default", orDefault},
    {"e", escape},
    {"escape", escape},
    {"float", toReal},
    {"indent", indent},
    {"int", toInteger},
    {"lower", ofText<toLower>},
    {"replace", replaceText},
    {"round", round},
    {"safe", toText},
    {"string", toText},
    {"title", ofText<toTitle>},
    {"tojson", json},
    {"trim", trim},
    {"upper", ofText<toUpper>},
    {"wordcount", countWords},
};

} // namespace

std::span<const FilterDefinition> valueFilters() {
  return filtersOfValues;
}

Expected<Value> Renderer::applyFilter(const std::string& name,
                                      const Value& operand,
                                      const Arguments& arguments) {
  const Level level(budget); // `map` applies filters, and itself among them
  RECIPERUN_TRY(level.takeStep());
  RECIPERUN_TRY(readStrings(operand, arguments));
  for (std::span<const FilterDefinition> filters :
       {valueFilters(), listFilters()})
    for (const FilterDefinition& filter : filters)
      if (filter.name == name)
        return filter.apply(*this, operand, arguments);
  return Status::error("there is no filter `" + name + "`");
}

} // namespace reciperun::jinja
