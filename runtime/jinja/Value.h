// The values of templates, with the meaning that Python gives them.
//
//   Value.cpp         contents and truth
//   Comparison.cpp    equality and order
//   ValueText.cpp     text and JSON

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

class Budget;
class Value;
struct Dict;
struct Function;
using List = std::vector<Value>;
using Text = std::shared_ptr<const std::string>;

/// The value of a name that is not defined; `name` is for messages.
struct Undefined {
  std::string name;
};
struct None {};

/// Strings, lists and dictionaries are shared by reference, as in Python: a
/// copy of a value takes no bytes of theirs.
class Value {
public:
  Value() : Value(Undefined{}) {}
  Value(Undefined undefined);
  Value(None none) : held(none) {}
  Value(bool value) : held(value) {}
  Value(int64_t value) : held(value) {}
  Value(double value) : held(value) {}
  Value(Text text) : held(std::move(text)) {}
  Value(std::string text);
  Value(std::string_view text) : Value(std::string(text)) {}
  Value(const char* text) : Value(std::string(text)) {}
  Value(List elements);
  Value(Dict dict);
  Value(Function function);

  template <class T> bool is() const { return std::holds_alternative<T>(held); }
  bool isUndefined() const { return undefined() != nullptr; }
  bool isNone() const { return is<None>(); }
  /// An `int` or `bool`, which are both integers in Python.
  bool isInteger() const { return is<int64_t>() || is<bool>(); }
  bool isNumber() const { return isInteger() || is<double>(); }

  /// Null when the value has another type.
  const Undefined* undefined() const { return pointerTo<const Undefined>(); }
  const std::string* string() const { return pointerTo<const std::string>(); }
  List* list() const { return pointerTo<List>(); }
  Dict* dict() const { return pointerTo<Dict>(); }
  const Function* function() const { return pointerTo<const Function>(); }
  /// The value must be a number of the kind.
  int64_t integer() const;
  double real() const;

  bool isTrue() const;
  /// Python's `str`: `True`, `None`, `[1, 'a']`. Empty when undefined; `[...]`
  /// and `{...}` stand for a list and dictionary inside of itself. Fails where
  /// the value is nested too deeply or the text exceeds the budget.
  Expected<Text> text(Budget& budget) const;
  /// Appends the text to another.
  Status appendTo(std::string& text, Budget& budget) const;
  /// Python's `repr`: like `text`, but strings are quoted.
  Expected<std::string> repr(Budget& budget) const;
  /// The name of the type in messages: `str`, `int`, `undefined`, ...
  std::string_view typeName() const;

private:
  template <class T> T* pointerTo() const {
    auto* shared = std::get_if<std::shared_ptr<T>>(&held);
    return shared ? shared->get() : nullptr;
  }

  std::variant<std::shared_ptr<const Undefined>, None, bool, int64_t, double,
               Text, std::shared_ptr<List>, std::shared_ptr<Dict>,
               std::shared_ptr<const Function>>
      held;
};

/// A dictionary with string keys in the order of insertion.
struct Dict {
  std::vector<std::pair<std::string, Value>> entries;
  bool isNamespace = false; // the only dictionaries that templates assign to

  /// Null when there is no entry of this key. The search reads the entries one
  /// by one: it takes a byte for each, and those of keys that have its length.
  Expected<const Value*> find(std::string_view key, Budget& budget) const;
  Status set(std::string_view key, Value value, Budget& budget);
  /// The bytes that a copy of the entries takes.
  size_t bytes() const;
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

Expected<bool> isEqual(const Value& left, const Value& right, Budget& budget);
/// Negative, zero or positive; fails for types that have no order.
Expected<int> compare(const Value& left, const Value& right, Budget& budget);

/// The value as a JSON text, as Python's `json.dumps(ensure_ascii=False)`
/// prints it: with an `indent` below zero on one line with `, ` and `: `. Fails
/// like `text`, and for a list or dictionary inside of itself.
Expected<std::string> toJson(const Value& value, int indent, bool sortsKeys,
                             Budget& budget);
Value fromJson(const nlohmann::ordered_json& json);

} // namespace reciperun::jinja

#endif // RECIPERUN_JINJA_VALUE_H
