// The values of templates, with the meaning that Python gives them: truth,
// equality, order, text and JSON.

#ifndef RECIPERUN_JINJA_VALUE_H
#define RECIPERUN_JINJA_VALUE_H

#include "runtime/base/Status.h"

#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace reciperun::jinja {

class Value;
struct Dict;
struct Function;
using List = std::vector<Value>;

/// The value of a name that is not defined; `name` is for messages.
struct Undefined {
  std::string name;
};
struct None {};

/// Lists and dictionaries are shared by reference, as in Python.
class Value {
public:
  using Held = std::variant<Undefined, None, bool, int64_t, double, std::string,
                            std::shared_ptr<List>, std::shared_ptr<Dict>,
                            std::shared_ptr<const Function>>;

  Value() : held(Undefined{}) {}
  Value(Undefined undefined) : held(std::move(undefined)) {}
  Value(None none) : held(none) {}
  Value(bool value) : held(value) {}
  Value(int64_t value) : held(value) {}
  Value(double value) : held(value) {}
  Value(std::string text) : held(std::move(text)) {}
  Value(std::string_view text) : held(std::string(text)) {}
  Value(const char* text) : held(std::string(text)) {}
  Value(List elements) : held(std::make_shared<List>(std::move(elements))) {}
  Value(Dict dict);
  Value(Function function);

  template <class T> bool is() const { return std::holds_alternative<T>(held); }
  bool isUndefined() const { return is<Undefined>(); }
  bool isNone() const { return is<None>(); }
  /// An `int` or `bool`, which are both integers in Python.
  bool isInteger() const { return is<int64_t>() || is<bool>(); }
  bool isNumber() const { return isInteger() || is<double>(); }

  /// Null when the value has another type.
  const std::string* string() const { return std::get_if<std::string>(&held); }
  List* list() const;
  Dict* dict() const;
  const Function* function() const;
  /// The value must be a number of the kind.
  int64_t integer() const;
  double real() const;

  bool isTrue() const;
  /// Python's `str`: `True`, `None`, `[1, 'a']`. Empty when undefined.
  std::string text() const;
  /// Python's `repr`: like `text`, but strings are quoted.
  std::string repr() const;
  const Held& content() const { return held; }
  /// The name of the type in messages: `str`, `int`, `undefined`, ...
  std::string_view typeName() const;

private:
  Held held;
};

/// A dictionary with string keys in the order of insertion.
struct Dict {
  std::vector<std::pair<std::string, Value>> entries;
  bool isNamespace = false; // the only dictionaries that templates assign to

  const Value* find(std::string_view key) const;
  void set(std::string_view key, Value value);
};

/// The arguments of a call.
struct Arguments {
  List positional;
  std::vector<std::pair<std::string, Value>> named;

  /// The argument at a position or of a name; null when it is not given.
  const Value* find(size_t position, std::string_view name) const;
};

/// A macro, method or global function.
struct Function {
  std::string name;
  std::function<Expected<Value>(const Arguments&)> call;
};

bool isEqual(const Value& left, const Value& right);
/// Negative, zero or positive; fails for types that have no order.
Expected<int> compare(const Value& left, const Value& right);

/// The value as a JSON text, as Python's `json.dumps(ensure_ascii=False)`
/// prints it: with an `indent` below zero on one line with `, ` and `: `.
Expected<std::string> toJson(const Value& value, int indent = -1,
                             bool sortsKeys = false);
Value fromJson(const nlohmann::ordered_json& json);

} // namespace reciperun::jinja

#endif // RECIPERUN_JINJA_VALUE_H
