// See ParameterValues.h.

#include "runtime/server/config/ParameterValues.h"

#include "runtime/base/ParseJson.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <charconv>
#include <string>

namespace reciperun::server {
namespace {

constexpr size_t mostElements = 1024;

std::string_view withoutSpaces(std::string_view text) {
  const size_t begin = text.find_first_not_of(" \t");
  if (begin == std::string_view::npos)
    return "";
  return text.substr(begin, text.find_last_not_of(" \t") + 1 - begin);
}

std::vector<std::string_view> partsOf(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find(separator, begin), text.size());
    parts.push_back(withoutSpaces(text.substr(begin, end - begin)));
    begin = end + 1;
  }
  return parts;
}

bool isListOfIntegers(const nlohmann::json& value) {
  return value.is_array() &&
         std::ranges::all_of(value, [](const nlohmann::json& each) {
           return each.is_number_unsigned();
         });
}

} // namespace

std::optional<int64_t> integerOf(std::string_view text, int64_t least,
                                 int64_t most) {
  text = withoutSpaces(text);
  int64_t value = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || stop != end || value < least || value > most)
    return std::nullopt;
  return value;
}

std::optional<double> fractionOf(std::string_view text) {
  text = withoutSpaces(text);
  double value = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || stop != end || !(value >= 0 && value <= 1))
    return std::nullopt;
  return value;
}

std::optional<std::vector<int64_t>> integerListOf(std::string_view text,
                                                  int64_t least) {
  std::vector<int64_t> made;
  for (const std::string_view part : partsOf(text, ',')) {
    const auto value = integerOf(part, least, INT32_MAX);
    if (!value || made.size() == mostElements)
      return std::nullopt;
    made.push_back(*value);
  }
  return made;
}

std::optional<std::vector<std::vector<int64_t>>> idsOf(std::string_view text) {
  std::vector<std::vector<int64_t>> made;
  for (const std::string_view part : partsOf(text, ';')) {
    auto ids = integerListOf(part, 0);
    if (!ids || made.size() == mostElements)
      return std::nullopt;
    made.push_back(*std::move(ids));
  }
  return made;
}

bool isChoiceTree(std::string_view text) {
  std::string json(text);
  std::ranges::replace(json, '{', '[');
  std::ranges::replace(json, '}', ']');
  const auto value =
      parseJson(json, {.noun = "value", .maxBytes = 1 << 16, .maxDepth = 2});
  return value && value->is_array() &&
         std::ranges::all_of(*value, isListOfIntegers);
}

} // namespace reciperun::server
