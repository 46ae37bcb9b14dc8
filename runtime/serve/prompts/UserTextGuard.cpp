// disguise: 1. collect the private-use characters of all strings; 2. assign a
// free one to each guarded character; 3. replace.

#include "runtime/serve/prompts/UserTextGuard.h"

#include "runtime/data/Utf8.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cctype>

namespace reciperun::serve {
namespace {

using OrderedJson = nlohmann::ordered_json;

/// The supplementary private-use areas (The Unicode Standard 15, section 23.5).
constexpr std::pair<uint32_t, uint32_t> privateAreas[] = {{0xF0000, 0xFFFFD},
                                                          {0x100000, 0x10FFFD}};

bool isPrivate(uint32_t codePoint) {
  return codePoint >= privateAreas[0].first;
}

void collectPrivate(std::string_view text, std::set<uint32_t>& found) {
  // The four-byte forms of these areas begin with F3 or F4.
  for (size_t at = 0; at < text.size();) {
    const auto byte = static_cast<uint8_t>(text[at]);
    if (byte < 0xF3) {
      ++at;
      continue;
    }
    const uint32_t codePoint = data::takeCodePoint(text, at);
    if (isPrivate(codePoint))
      found.insert(codePoint);
  }
}

/// The first punctuation character of ASCII; the first character of a token
/// that has none.
uint32_t guardedCharacterOf(std::string_view token) {
  for (const char c : token)
    if (std::ispunct(static_cast<unsigned char>(c)))
      return static_cast<unsigned char>(c);
  size_t at = 0;
  return data::takeCodePoint(token, at);
}

bool isTagName(std::string_view name) {
  return !name.empty() &&
         std::all_of(name.begin(), name.end(), [](unsigned char c) {
           return c == '_' || c == '-' || (c < 0x80 && std::isalnum(c));
         });
}

/// The tag at an offset, including its brackets; empty when there is none.
std::string_view tagAt(std::string_view text, size_t at) {
  constexpr size_t longest = 64; // bytes
  if (text[at] != '<')
    return {};
  const std::string_view rest = text.substr(at, longest);
  const size_t close = rest.find('>');
  if (close == rest.npos)
    return {};
  const size_t name = rest.starts_with("</") ? 2 : 1;
  return close > name && isTagName(rest.substr(name, close - name))
             ? rest.substr(0, close + 1)
             : std::string_view();
}

/// Visits the strings and keys of a value.
template <class Visit>
Status visitStrings(const OrderedJson& value, const Visit& visit) {
  if (value.is_string())
    return visit(value.get_ref<const std::string&>());
  if (!value.is_structured())
    return {};
  for (const auto& [key, element] : value.items()) {
    if (value.is_object())
      RECIPERUN_TRY(visit(key));
    RECIPERUN_TRY(visitStrings(element, visit));
  }
  return {};
}

} // namespace

std::set<std::string> plainTags(std::string_view text) {
  std::set<std::string> tags;
  for (size_t at = text.find('<'); at != text.npos; at = text.find('<', at + 1))
    if (const std::string_view tag = tagAt(text, at); !tag.empty())
      tags.emplace(tag);
  return tags;
}

std::string Disguise::restore(std::string_view text) const {
  std::string restored;
  restored.reserve(text.size());
  for (size_t at = 0; at < text.size();) {
    const size_t begin = at;
    const uint32_t codePoint = data::takeCodePoint(text, at);
    const auto found = std::find_if(
        characters.begin(), characters.end(),
        [&](const auto& each) { return each.second == codePoint; });
    if (found != characters.end())
      data::appendUtf8(restored, found->first);
    else
      restored += text.substr(begin, at - begin);
  }
  return restored;
}

UserTextGuard::UserTextGuard(std::span<const std::string> controls,
                             std::string_view source)
    : tags(plainTags(source)) {
  for (const std::string& control : controls)
    guarded.insert(guardedCharacterOf(control));
  // A tag that is part of a control token has to be replaced.
  std::erase_if(tags, [&](const std::string& tag) {
    return std::any_of(controls.begin(), controls.end(),
                       [&](const std::string& control) {
                         return control.find(tag) != control.npos;
                       });
  });
  collectPrivate(source, ofTheSource);
}

Expected<Disguise>
UserTextGuard::disguise(std::span<OrderedJson* const> values) const {
  std::set<uint32_t> used = ofTheSource;
  for (const OrderedJson* value : values)
    RECIPERUN_TRY(visitStrings(*value, [&](const std::string& text) {
      const size_t bad = data::firstIllFormed(text);
      if (bad != text.npos)
        return Status::error("a text is not UTF-8 at its byte " +
                             std::to_string(bad + 1));
      collectPrivate(text, used);
      return Status::ok();
    }));
  Disguise disguise;
  auto next = guarded.begin();
  for (const auto& [first, last] : privateAreas)
    for (uint32_t each = first; each <= last && next != guarded.end(); ++each)
      if (!used.contains(each))
        disguise.characters.emplace_back(*next++, each);
  if (next != guarded.end())
    return Status::error("the texts have " + std::to_string(used.size()) +
                         " different private-use characters, which leaves none "
                         "to protect control tokens with; remove some of them");
  for (OrderedJson* value : values)
    replaceIn(*value, disguise);
  return disguise;
}

std::string UserTextGuard::disguised(std::string_view text,
                                     const Disguise& disguise) const {
  std::string replaced;
  replaced.reserve(text.size());
  for (size_t at = 0; at < text.size();) {
    const size_t begin = at;
    if (const std::string tag(tagAt(text, at)); tags.contains(tag)) {
      replaced += tag;
      at += tag.size();
      continue;
    }
    const uint32_t codePoint = data::takeCodePoint(text, at);
    const auto found =
        std::find_if(disguise.characters.begin(), disguise.characters.end(),
                     [&](const auto& each) { return each.first == codePoint; });
    if (found != disguise.characters.end())
      data::appendUtf8(replaced, found->second);
    else
      replaced += text.substr(begin, at - begin);
  }
  return replaced;
}

void UserTextGuard::replaceIn(OrderedJson& value,
                              const Disguise& disguise) const {
  if (value.is_string()) {
    std::string& text = value.get_ref<std::string&>();
    text = disguised(text, disguise);
    return;
  }
  if (value.is_array())
    for (OrderedJson& element : value)
      replaceIn(element, disguise);
  if (!value.is_object())
    return;
  OrderedJson object = OrderedJson::object();
  for (auto& [key, element] : value.items()) {
    replaceIn(element, disguise);
    object[disguised(key, disguise)] = std::move(element);
  }
  value = std::move(object);
}

} // namespace reciperun::serve
