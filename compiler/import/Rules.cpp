// See Rules.h.

#include "compiler/import/Rules.h"

#include <algorithm>
#include <charconv>
#include <cmath>

namespace recipec::importer {
namespace {

bool matches(const Rule& rule, const std::string& key) {
  if (rule.key.ends_with("*"))
    return key.starts_with(rule.key.substr(0, rule.key.size() - 1));
  if (!rule.key.starts_with("*"))
    return rule.key == key;
  const std::string_view end = rule.key.substr(1);
  return key.ends_with(end) || (end.starts_with(".") && key == end.substr(1));
}

bool isCount(double number) {
  return number >= 0 && number == std::floor(number) && number < 1e15;
}

bool isFlag(const std::string& text) {
  return text == "true" || text == "false";
}

/// Describes the expected value if the value does not fit; empty if it does.
std::string misfit(const Entry& entry, Reading reading) {
  const bool isOne = entry.values.size() == 1;
  const auto number = isOne ? numberOf(entry.values[0]) : std::nullopt;
  switch (reading) {
  case Reading::number:
    return number ? "" : "a number";
  case Reading::count:
    return isCount(number.value_or(-1)) ? "" : "a whole number of at least 0";
  case Reading::text:
    return isOne ? "" : "one text";
  case Reading::flag:
    return isOne && isFlag(entry.values[0]) ? "" : "true or false";
  case Reading::texts:
  case Reading::omitted:
  case Reading::implied:
    return "";
  }
  return "";
}

/// Whether a key may hold a secret, so that its value must not appear in a
/// recipe.
bool isSecret(const std::string& key) {
  return key.ends_with("_token") || key.ends_with("_key") || key == "-hf" ||
         key == "-wdk";
}

/// The entry as shown in a recipe's comment.
std::string shown(const Entry& entry) {
  return isSecret(entry.key) ? entry.key : entry.written();
}

} // namespace

std::optional<double> numberOf(std::string_view text) {
  double value = 0;
  const char* end = text.data() + text.size();
  const auto [last, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || last != end || !std::isfinite(value))
    return std::nullopt;
  return value;
}

std::optional<std::string> Found::take(const std::string& meaning) {
  const auto found = values.find(meaning);
  if (found == values.end() || found->second.empty())
    return std::nullopt;
  std::string value = found->second.front();
  values.erase(found);
  return value;
}

std::optional<double> Found::takeNumber(const std::string& meaning) {
  const auto text = take(meaning);
  return text ? numberOf(*text) : std::nullopt;
}

std::optional<int64_t> Found::takeCount(const std::string& meaning) {
  const auto number = takeNumber(meaning);
  return number ? std::optional(int64_t(*number)) : std::nullopt;
}

std::vector<std::string> Found::takeList(const std::string& meaning) {
  const auto found = values.find(meaning);
  if (found == values.end())
    return {};
  std::vector<std::string> list = std::move(found->second);
  values.erase(found);
  return list;
}

void Found::putEntry(const std::string& meaning, const Entry& entry) {
  put(meaning, entry.values);
  spellings[meaning] = shown(entry);
}

std::vector<std::string> Found::untaken() const {
  std::vector<std::string> texts;
  for (const auto& [meaning, spelling] : spellings)
    if (values.contains(meaning))
      texts.push_back(spelling);
  return texts;
}

void Found::add(const Found& other) {
  omissions.insert(omissions.end(), other.omissions.begin(),
                   other.omissions.end());
  values.insert(other.values.begin(), other.values.end());
  spellings.insert(other.spellings.begin(), other.spellings.end());
}

bool Found::takeFlag(const std::string& meaning) {
  return take(meaning) == "true";
}

Found applyRules(const std::vector<Entry>& entries, std::span<const Rule> rules,
                 diag::Engine& engine) {
  Found found;
  for (const Entry& entry : entries) {
    const auto rule = std::ranges::find_if(
        rules, [&](const Rule& each) { return matches(each, entry.key); });
    if (rule == rules.end()) {
      found.omissions.push_back(
          {shown(entry), "this command knows no counterpart"});
      continue;
    }
    if (rule->reading == Reading::omitted)
      found.omissions.push_back({shown(entry), std::string(rule->meaning)});
    if (rule->reading == Reading::omitted ||
        rule->reading == Reading::implied || entry.values.empty())
      continue;
    if (const std::string wanted = misfit(entry, rule->reading);
        !wanted.empty()) {
      engine
          .report(diag::Kind::InvalidData, entry.range,
                  "`" + entry.written() + "` is not " + wanted)
          .help("write `" + entry.key + "` as " + wanted + ", or leave it out");
      continue;
    }
    found.putEntry(std::string(rule->meaning), entry);
  }
  return found;
}

} // namespace recipec::importer
