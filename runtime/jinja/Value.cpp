// Value: Python's rules for truth, equality, order and text.

#include "runtime/jinja/Value.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <charconv>
#include <cmath>

namespace reciperun::jinja {
namespace {

/// The deepest nesting of values that is printed or compared. A namespace can
/// hold itself.
constexpr int maxValueDepth = 200;
/// The most bytes of a value's text, as of a whole rendering. A value that
/// holds another one twice at each level would have exponentially many.
constexpr size_t mostTextBytes = size_t(64) << 20;
/// What a value counts at least: its text is copied at each level around it.
constexpr size_t leastValueBytes = 512;

/// Python's `repr` of a `float`: the shortest digits, always with a point or an
/// exponent.
std::string textOf(double value) {
  if (std::isnan(value))
    return "nan";
  if (std::isinf(value))
    return value < 0 ? "-inf" : "inf";
  const double size = std::fabs(value);
  const bool isPlain = size == 0 || (size >= 1e-4 && size < 1e16);
  char digits[400];
  auto end = std::to_chars(digits, digits + sizeof digits, value,
                           isPlain ? std::chars_format::fixed
                                   : std::chars_format::scientific)
                 .ptr;
  std::string text(digits, end);
  if (isPlain && text.find('.') == text.npos)
    text += ".0";
  return text;
}

/// Python's `repr` of a `str`: in single quotes unless it has those alone.
std::string quoted(const std::string& text) {
  const bool hasSingle = text.find('\'') != text.npos;
  const bool hasDouble = text.find('"') != text.npos;
  const char quote = hasSingle && !hasDouble ? '"' : '\'';
  std::string result(1, quote);
  for (const char c : text) {
    if (c == quote || c == '\\')
      result += {'\\', c};
    else if (c == '\n')
      result += "\\n";
    else if (c == '\t')
      result += "\\t";
    else if (c == '\r')
      result += "\\r";
    else
      result += c;
  }
  return result + quote;
}

/// `left` counts the bytes down.
std::string print(const Value& value, bool quotes, int depth, size_t& left) {
  if (depth > maxValueDepth || left == 0)
    return "...";
  left -= std::min(left, leastValueBytes);
  if (const std::string* text = value.string()) {
    left -= std::min(left, text->size());
    return quotes ? quoted(*text) : *text;
  }
  if (value.isUndefined())
    return "";
  if (value.isNone())
    return "None";
  if (value.is<bool>())
    return value.isTrue() ? "True" : "False";
  if (value.is<int64_t>())
    return std::to_string(value.integer());
  if (value.is<double>())
    return textOf(value.real());
  std::string result;
  if (const List* list = value.list()) {
    for (const Value& element : *list)
      result +=
          (result.empty() ? "" : ", ") + print(element, true, depth + 1, left);
    return "[" + result + "]";
  }
  if (const Dict* dict = value.dict()) {
    for (const auto& [key, element] : dict->entries)
      result += (result.empty() ? "" : ", ") + quoted(key) + ": " +
                print(element, true, depth + 1, left);
    return "{" + result + "}";
  }
  return "<function " + value.function()->name + ">";
}

/// Writes JSON as Python's `json` module does.
class JsonWriter {
public:
  JsonWriter(int indent, bool sortsKeys)
      : indent(indent), sortsKeys(sortsKeys) {}

  Status write(const Value& value, int depth) {
    if (depth > maxValueDepth)
      return Status::error("`tojson` of a value that is nested too deeply");
    if (const std::string* text = value.string())
      result += quotedJson(*text);
    else if (value.isNone())
      result += "null";
    else if (value.is<bool>())
      result += value.isTrue() ? "true" : "false";
    else if (value.isNumber())
      result += numberText(value);
    else if (const List* list = value.list())
      return writeList(*list, depth);
    else if (const Dict* dict = value.dict())
      return writeDict(*dict, depth);
    else
      return Status::error("`tojson` does not take a value of type `" +
                           std::string(value.typeName()) + "`");
    return {};
  }

  std::string result;

private:
  static std::string quotedJson(const std::string& text) {
    return nlohmann::json(text).dump(-1, ' ', false,
                                     nlohmann::json::error_handler_t::replace);
  }
  static std::string numberText(const Value& value) {
    if (value.is<int64_t>())
      return std::to_string(value.integer());
    const double real = value.real();
    if (std::isnan(real))
      return "NaN";
    if (std::isinf(real))
      return real < 0 ? "-Infinity" : "Infinity";
    return textOf(real);
  }
  void separate(bool isFirst, int depth) {
    if (!isFirst)
      result += indent < 0 ? ", " : ",";
    if (indent >= 0)
      result += "\n" + std::string(size_t(indent) * size_t(depth), ' ');
  }
  void close(char bracket, bool isEmpty, int depth) {
    if (!isEmpty && indent >= 0)
      result += "\n" + std::string(size_t(indent) * size_t(depth), ' ');
    result += bracket;
  }
  Status writeList(const List& list, int depth) {
    result += '[';
    for (size_t i = 0; i < list.size(); ++i) {
      separate(i == 0, depth + 1);
      RECIPERUN_TRY(write(list[i], depth + 1));
    }
    close(']', list.empty(), depth);
    return {};
  }
  Status writeDict(const Dict& dict, int depth) {
    std::vector<const std::pair<std::string, Value>*> entries;
    for (const auto& entry : dict.entries)
      entries.push_back(&entry);
    if (sortsKeys)
      std::sort(entries.begin(), entries.end(),
                [](auto* a, auto* b) { return a->first < b->first; });
    result += '{';
    for (size_t i = 0; i < entries.size(); ++i) {
      separate(i == 0, depth + 1);
      result += quotedJson(entries[i]->first) + ": ";
      RECIPERUN_TRY(write(entries[i]->second, depth + 1));
    }
    close('}', dict.entries.empty(), depth);
    return {};
  }

  int indent;
  bool sortsKeys;
};

bool isEqualAt(const Value& left, const Value& right, int depth) {
  if (depth > maxValueDepth)
    return false;
  if (left.isInteger() && right.isInteger())
    return left.integer() == right.integer();
  if (left.isNumber() && right.isNumber())
    return left.real() == right.real();
  if (left.string() && right.string())
    return *left.string() == *right.string();
  if (left.list() && right.list())
    return std::equal(left.list()->begin(), left.list()->end(),
                      right.list()->begin(), right.list()->end(),
                      [&](const Value& a, const Value& b) {
                        return isEqualAt(a, b, depth + 1);
                      });
  if (left.dict() && right.dict()) {
    const Dict &a = *left.dict(), &b = *right.dict();
    return a.entries.size() == b.entries.size() &&
           std::all_of(a.entries.begin(), a.entries.end(), [&](auto& entry) {
             const Value* other = b.find(entry.first);
             return other && isEqualAt(entry.second, *other, depth + 1);
           });
  }
  if (left.function() || right.function())
    return left.function() == right.function();
  return (left.isNone() && right.isNone()) ||
         (left.isUndefined() && right.isUndefined());
}

} // namespace

Value::Value(Dict dict) : held(std::make_shared<Dict>(std::move(dict))) {}

Value::Value(Function function)
    : held(std::make_shared<const Function>(std::move(function))) {}

List* Value::list() const {
  auto* shared = std::get_if<std::shared_ptr<List>>(&held);
  return shared ? shared->get() : nullptr;
}

Dict* Value::dict() const {
  auto* shared = std::get_if<std::shared_ptr<Dict>>(&held);
  return shared ? shared->get() : nullptr;
}

const Function* Value::function() const {
  auto* shared = std::get_if<std::shared_ptr<const Function>>(&held);
  return shared ? shared->get() : nullptr;
}

int64_t Value::integer() const {
  const bool* flag = std::get_if<bool>(&held);
  return flag ? int64_t(*flag) : std::get<int64_t>(held);
}

double Value::real() const {
  const double* real = std::get_if<double>(&held);
  return real ? *real : double(integer());
}

bool Value::isTrue() const {
  if (isNumber())
    return real() != 0;
  if (string())
    return !string()->empty();
  if (list())
    return !list()->empty();
  if (dict())
    return dict()->isNamespace || !dict()->entries.empty();
  return function() != nullptr;
}

std::string Value::text() const {
  size_t left = mostTextBytes;
  return print(*this, false, 0, left);
}

std::string Value::repr() const {
  size_t left = mostTextBytes;
  return print(*this, true, 0, left);
}

std::string_view Value::typeName() const {
  constexpr std::string_view names[] = {"undefined", "none",  "bool",
                                        "int",       "float", "str",
                                        "list",      "dict",  "function"};
  static_assert(std::size(names) == std::variant_size_v<Held>);
  return names[held.index()];
}

const Value* Dict::find(std::string_view key) const {
  for (const auto& [name, value] : entries)
    if (name == key)
      return &value;
  return nullptr;
}

void Dict::set(std::string_view key, Value value) {
  for (auto& [name, old] : entries)
    if (name == key) {
      old = std::move(value);
      return;
    }
  entries.emplace_back(key, std::move(value));
}

const Value* Arguments::find(size_t position, std::string_view name) const {
  if (position < positional.size())
    return &positional[position];
  for (const auto& [given, value] : named)
    if (given == name)
      return &value;
  return nullptr;
}

bool isEqual(const Value& left, const Value& right) {
  return isEqualAt(left, right, 0);
}

Expected<int> compare(const Value& left, const Value& right) {
  auto sign = [](auto a, auto b) { return a < b ? -1 : int(b < a); };
  if (left.isInteger() && right.isInteger())
    return sign(left.integer(), right.integer());
  if (left.isNumber() && right.isNumber())
    return sign(left.real(), right.real());
  if (left.string() && right.string())
    return sign(left.string()->compare(*right.string()), 0);
  if (left.list() && right.list()) {
    const List &a = *left.list(), &b = *right.list();
    for (size_t i = 0; i < std::min(a.size(), b.size()); ++i)
      if (!isEqual(a[i], b[i]))
        return compare(a[i], b[i]);
    return sign(a.size(), b.size());
  }
  return Status::error("values of type `" + std::string(left.typeName()) +
                       "` and `" + std::string(right.typeName()) +
                       "` have no order");
}

Expected<std::string> toJson(const Value& value, int indent, bool sortsKeys) {
  JsonWriter writer(indent, sortsKeys);
  RECIPERUN_TRY(writer.write(value, 0));
  return std::move(writer.result);
}

Value fromJson(const nlohmann::ordered_json& json) {
  if (json.is_null())
    return None{};
  if (json.is_boolean())
    return json.get<bool>();
  if (json.is_number_integer())
    return json.get<int64_t>();
  if (json.is_number())
    return json.get<double>();
  if (json.is_string())
    return json.get<std::string>();
  if (json.is_array()) {
    List list;
    for (const nlohmann::ordered_json& element : json)
      list.push_back(fromJson(element));
    return list;
  }
  Dict dict;
  for (const auto& [key, element] : json.items())
    dict.entries.emplace_back(key, fromJson(element));
  return dict;
}

} // namespace reciperun::jinja
