// The text of values: Python's `str` and `repr`, and JSON. Both append to one
// string and count each value that they write: a value that holds another one
// twice at each level has exponentially many inside of it.

#include "runtime/jinja/Budget.h"
#include "runtime/jinja/Value.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <charconv>
#include <cmath>

namespace reciperun::jinja {
namespace {

/// The deepest nesting of values that have a text, since writers recurse.
constexpr int maxValueDepth = 200;

std::string deeplyNested() {
  return "a value that is nested deeper than " + std::to_string(maxValueDepth) +
         " levels";
}

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

/// A text that grows by the texts of values. Functions return false where
/// writing ends early, for the reason in `status`.
class Writer {
public:
  Status status() const { return failure.isOk() ? budget.status() : failure; }

protected:
  Writer(std::string& text, Budget& budget)
      : text(text), budget(budget), counted(text.size()) {}

  /// Counts a value and the bytes since the last one.
  bool count() {
    const size_t added = text.size() - counted;
    counted = text.size();
    return budget.takeValue(added);
  }
  bool append(std::string_view value) {
    text += value;
    return count();
  }
  bool fail(const std::string& reason) {
    failure = Status::error(reason);
    return false;
  }

  std::string& text;

private:
  Budget& budget;
  Status failure;
  size_t counted; // bytes of `text` that need no counting
};

/// Writes as Python's `str` and `repr` do.
class PythonWriter : public Writer {
public:
  PythonWriter(std::string& text, Budget& budget) : Writer(text, budget) {}

  bool write(const Value& value, bool quotes) {
    if (const std::string* string = value.string())
      return append(quotes ? quoted(*string) : *string);
    if (value.isUndefined())
      return append("");
    if (value.isNone())
      return append("None");
    if (value.is<bool>())
      return append(value.isTrue() ? "True" : "False");
    if (value.is<int64_t>())
      return append(std::to_string(value.integer()));
    if (value.is<double>())
      return append(textOf(value.real()));
    if (value.function())
      return append("<function " + value.function()->name + ">");
    return writeContainer(value);
  }

private:
  bool writeContainer(const Value& value) {
    const List* list = value.list();
    const void* address = list ? static_cast<const void*>(list) : value.dict();
    if (std::find(open.begin(), open.end(), address) != open.end())
      return append(list ? "[...]" : "{...}");
    if (open.size() == maxValueDepth)
      return fail(deeplyNested() + " has no text");
    open.push_back(address);
    if (!(list ? writeList(*list) : writeDict(*value.dict())))
      return false;
    open.pop_back();
    return count();
  }
  bool writeList(const List& list) {
    text += '[';
    for (size_t i = 0; i < list.size(); ++i) {
      text += i > 0 ? ", " : "";
      if (!write(list[i], true))
        return false;
    }
    text += ']';
    return true;
  }
  bool writeDict(const Dict& dict) {
    text += '{';
    for (size_t i = 0; i < dict.entries.size(); ++i) {
      const auto& [key, value] = dict.entries[i];
      text += i > 0 ? ", " : "";
      text.append(quoted(key)).append(": ");
      if (!write(value, true))
        return false;
    }
    text += '}';
    return true;
  }

  std::vector<const void*> open; // the containers around the next value
};

/// Writes JSON as Python's `json` module does.
class JsonWriter : public Writer {
public:
  JsonWriter(std::string& text, int indent, bool sortsKeys, Budget& budget)
      : Writer(text, budget), indent(indent), sortsKeys(sortsKeys) {}

  bool write(const Value& value, int depth) {
    if (const std::string* string = value.string())
      return append(quotedJson(*string));
    if (value.isNone())
      return append("null");
    if (value.is<bool>())
      return append(value.isTrue() ? "true" : "false");
    if (value.isNumber())
      return append(numberText(value));
    if (!value.list() && !value.dict())
      return fail("`tojson` does not take a value of type `" +
                  std::string(value.typeName()) + "`");
    if (depth == maxValueDepth)
      return fail("`tojson` does not take " + deeplyNested());
    return (value.list() ? writeList(*value.list(), depth)
                         : writeDict(*value.dict(), depth)) &&
           count();
  }

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
      text += indent < 0 ? ", " : ",";
    if (indent >= 0)
      text.append("\n").append(size_t(indent) * size_t(depth), ' ');
  }
  void close(char bracket, bool isEmpty, int depth) {
    if (!isEmpty && indent >= 0)
      text.append("\n").append(size_t(indent) * size_t(depth), ' ');
    text += bracket;
  }
  bool writeList(const List& list, int depth) {
    text += '[';
    for (size_t i = 0; i < list.size(); ++i) {
      separate(i == 0, depth + 1);
      if (!write(list[i], depth + 1))
        return false;
    }
    close(']', list.empty(), depth);
    return true;
  }
  bool writeDict(const Dict& dict, int depth) {
    std::vector<const std::pair<std::string, Value>*> entries;
    for (const auto& entry : dict.entries)
      entries.push_back(&entry);
    if (sortsKeys)
      std::sort(entries.begin(), entries.end(),
                [](auto* a, auto* b) { return a->first < b->first; });
    text += '{';
    for (size_t i = 0; i < entries.size(); ++i) {
      separate(i == 0, depth + 1);
      text.append(quotedJson(entries[i]->first)).append(": ");
      if (!write(entries[i]->second, depth + 1))
        return false;
    }
    close('}', dict.entries.empty(), depth);
    return true;
  }

  int indent;
  bool sortsKeys;
};

} // namespace

Expected<Text> Value::text(Budget& budget) const {
  if (const Text* shared = std::get_if<Text>(&held))
    return *shared;
  std::string result;
  RECIPERUN_TRY(appendTo(result, budget));
  return std::make_shared<const std::string>(std::move(result));
}

Status Value::appendTo(std::string& text, Budget& budget) const {
  PythonWriter writer(text, budget);
  return writer.write(*this, false) ? Status::ok() : writer.status();
}

Expected<std::string> Value::repr(Budget& budget) const {
  std::string result;
  PythonWriter writer(result, budget);
  if (!writer.write(*this, true))
    return writer.status();
  return result;
}

Expected<std::string> toJson(const Value& value, int indent, bool sortsKeys,
                             Budget& budget) {
  std::string result;
  JsonWriter writer(result, indent, sortsKeys, budget);
  if (!writer.write(value, 0))
    return writer.status();
  return result;
}

} // namespace reciperun::jinja
