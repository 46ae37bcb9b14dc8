// The functions that the language has by itself.
//
// Builtins.cpp has the table and checks arguments against it, so that a handler
// finds what its line of the table says:
//   BuiltinNumbers.cpp   min max abs floor ceil round sqrt exp log pow
//                        int float
//   BuiltinLists.cpp     len sum sorted reversed unique flatten zip any all
//                        range keys values
//   BuiltinStrings.cpp   upper lower trim split join replace starts_with
//                        ends_with pad str

#ifndef RECIPEC_SEMA_BUILTINS_BUILTINS_H
#define RECIPEC_SEMA_BUILTINS_BUILTINS_H

#include "compiler/sema/Evaluator.h"

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace recipec::sema {

/// What an argument has to be.
enum class Takes {
  any,
  integer,
  number,   // an `int`, `float` or `dim`
  amount,   // a number or a quantity
  text,     // a string
  scalar,   // whatever an interpolation takes
  list,     // a list, or a range, of which the handler sees a list
  booleans, // a list of `bool`
  map,      // a record, of a schema or not
};

struct BuiltinParameter {
  std::string_view name;
  Takes takes = Takes::any;
};

/// One call, its arguments checked.
struct BuiltinCall {
  Evaluator& evaluator;
  const BuiltinFunction& function;
  SourceRange range;
  std::vector<Value> arguments;
  std::vector<SourceRange> places; // of the arguments

  size_t count() const { return arguments.size(); }
  int64_t integer(size_t index) const;
  double real(size_t index) const;
  const std::string& text(size_t index) const;
  const std::vector<Value>& list(size_t index) const;
  Object& map(size_t index) const;

  recipe::Origin origin() const { return evaluator.writtenAt(range); }
  /// Reports an argument whose type is right and whose value is not.
  diag::Builder reportValue(size_t index, std::string message) const;
  /// Reports an element of a list that is not what is `due`.
  void reportElement(size_t list, size_t index, std::string_view due) const;
  std::string name() const;
};

struct BuiltinFunction {
  std::string_view name;
  std::string_view summary; // Markdown for users
  std::vector<BuiltinParameter> parameters;
  size_t required; // arguments at least
  size_t most;     // at most; what follows the last parameter is like it
  Value (*run)(BuiltinCall& call);
};

std::span<const BuiltinFunction> builtinFunctions();
const BuiltinFunction* findBuiltin(std::string_view name);
bool takesArguments(const BuiltinFunction& function, size_t count);
/// Its type: `fun(string, int): any`.
std::string signatureOf(const BuiltinFunction& function);
/// How it is called: `pad(value, width)`, `range(begin, end[, step])`.
std::string formOf(const BuiltinFunction& function);

} // namespace recipec::sema

#endif // RECIPEC_SEMA_BUILTINS_BUILTINS_H
