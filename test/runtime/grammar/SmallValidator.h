// Validates a JSON value by a schema, with the keywords of RandomSchemaTest.
// Independent of the grammar: patterns by std::regex, bounds in doubles.

#ifndef RECIPERUN_TEST_GRAMMAR_SMALLVALIDATOR_H
#define RECIPERUN_TEST_GRAMMAR_SMALLVALIDATOR_H

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <regex>
#include <string>

namespace reciperun::grammar {

class SmallValidator {
public:
  using Schema = nlohmann::ordered_json;
  using Value = nlohmann::json;

  explicit SmallValidator(const Schema& document) : document(document) {}

  /// The keyword that the value violates; empty when there is none.
  std::string violation(const Value& value) const {
    return violation(value, document);
  }

private:
  std::string violation(const Value& value, const Schema& schema) const {
    if (schema.is_boolean())
      return schema.get<bool>() ? "" : "false";
    for (const auto& [keyword, rule] : schema.items())
      if (!holds(value, keyword, rule, schema))
        return keyword;
    return "";
  }
  bool isValid(const Value& value, const Schema& schema) const {
    return violation(value, schema).empty();
  }

  bool holds(const Value& value, const std::string& keyword, const Schema& rule,
             const Schema& schema) const {
    if (keyword == "type")
      return hasType(value, rule);
    if (keyword == "enum")
      return isOneOf(value, rule);
    if (keyword == "anyOf" || keyword == "oneOf" || keyword == "allOf")
      return combine(value, keyword, rule);
    if (keyword == "$ref")
      return isValid(value, document["$defs"][rule.get<std::string>().substr(
                                std::string("#/$defs/").size())]);
    if (value.is_string())
      return holdsString(value.get<std::string>(), keyword, rule);
    if (value.is_number())
      return holdsNumber(value.get<double>(), keyword, rule);
    if (value.is_object())
      return holdsObject(value, keyword, rule, schema);
    if (value.is_array())
      return holdsArray(value, keyword, rule, schema);
    return true;
  }

  static bool hasType(const Value& value, const Schema& rule) {
    if (rule.is_array()) {
      for (const Schema& each : rule)
        if (hasType(value, each))
          return true;
      return false;
    }
    if (rule == "integer")
      return value.is_number() &&
             std::trunc(value.get<double>()) == value.get<double>();
    if (rule == "number")
      return value.is_number();
    return std::string(value.type_name()) == rule;
  }

  static bool isOneOf(const Value& value, const Schema& rule) {
    for (const Schema& each : rule)
      if (Value::parse(each.dump()) == value)
        return true;
    return false;
  }

  bool combine(const Value& value, const std::string& keyword,
               const Schema& rule) const {
    size_t valid = 0;
    for (const Schema& each : rule)
      valid += isValid(value, each);
    return keyword == "anyOf"   ? valid > 0
           : keyword == "oneOf" ? valid == 1
                                : valid == rule.size();
  }

  static bool holdsString(const std::string& text, const std::string& keyword,
                          const Schema& rule) {
    size_t length = 0;
    for (const char c : text)
      length += (c & 0xC0) != 0x80;
    if (keyword == "minLength")
      return length >= rule.get<size_t>();
    if (keyword == "maxLength")
      return length <= rule.get<size_t>();
    if (keyword == "pattern")
      return std::regex_search(text, std::regex(rule.get<std::string>()));
    if (keyword == "format")
      return hasFormat(text, rule.get<std::string>());
    return true;
  }

  static bool hasFormat(const std::string& text, const std::string& format) {
    if (format == "uuid")
      return std::regex_match(text,
                              std::regex("[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-"
                                         "[0-9a-fA-F]{12}"));
    if (format == "ipv4") {
      int parts[4], end = 0;
      const bool isRead =
          std::sscanf(text.c_str(), "%d.%d.%d.%d%n", &parts[0], &parts[1],
                      &parts[2], &parts[3], &end) == 4;
      return isRead && size_t(end) == text.size() &&
             std::all_of(parts, parts + 4,
                         [](int each) { return each >= 0 && each < 256; });
    }
    const size_t t = text.find('T');
    const std::string time = format == "time" ? text
                             : t == text.npos ? ""
                                              : text.substr(t + 1);
    return (format == "time" || isDate(text.substr(0, t))) &&
           (format == "date" || isTime(time));
  }

  static bool isDate(const std::string& text) {
    int year = 0, month = 0, day = 0;
    if (text.size() != 10 ||
        std::sscanf(text.c_str(), "%4d-%2d-%2d", &year, &month, &day) != 3)
      return false;
    const bool isLeap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
    const int days[] = {
        31, isLeap ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    return month >= 1 && month <= 12 && day >= 1 && day <= days[month - 1];
  }

  static bool isTime(const std::string& text) {
    int hour = 0, minute = 0, second = 0;
    return std::sscanf(text.c_str(), "%2d:%2d:%2d", &hour, &minute, &second) ==
               3 &&
           hour < 24 && minute < 60 && second < 60 &&
           std::regex_search(text, std::regex("(Z|[+-]\\d\\d:\\d\\d)$"));
  }

  static bool holdsNumber(double value, const std::string& keyword,
                          const Schema& rule) {
    if (keyword == "minimum")
      return value >= rule.get<double>();
    if (keyword == "maximum")
      return value <= rule.get<double>();
    if (keyword == "exclusiveMinimum")
      return value > rule.get<double>();
    if (keyword == "exclusiveMaximum")
      return value < rule.get<double>();
    return true;
  }

  bool holdsObject(const Value& value, const std::string& keyword,
                   const Schema& rule, const Schema& schema) const {
    if (keyword == "required")
      return std::all_of(rule.begin(), rule.end(), [&](const Schema& name) {
        return value.contains(name.get<std::string>());
      });
    const bool isNamed = keyword == "properties";
    if (!isNamed && keyword != "additionalProperties")
      return true;
    for (const auto& [name, member] : value.items()) {
      const bool isListed =
          schema.contains("properties") && schema["properties"].contains(name);
      if (isListed == isNamed && !isValid(member, isNamed ? rule[name] : rule))
        return false;
    }
    return true;
  }

  bool holdsArray(const Value& value, const std::string& keyword,
                  const Schema& rule, const Schema& schema) const {
    if (keyword == "minItems")
      return value.size() >= rule.get<size_t>();
    if (keyword == "maxItems")
      return value.size() <= rule.get<size_t>();
    const size_t prefix =
        schema.contains("prefixItems") ? schema["prefixItems"].size() : 0;
    for (size_t i = 0; i < value.size(); ++i) {
      if (keyword == "prefixItems" && i < prefix && !isValid(value[i], rule[i]))
        return false;
      if (keyword == "items" && i >= prefix && !isValid(value[i], rule))
        return false;
    }
    return true;
  }

  const Schema& document;
};

} // namespace reciperun::grammar

#endif // RECIPERUN_TEST_GRAMMAR_SMALLVALIDATOR_H
