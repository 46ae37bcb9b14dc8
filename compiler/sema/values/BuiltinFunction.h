// The signature of a built-in function and its handler.

#ifndef RECIPEC_SEMA_VALUES_BUILTINFUNCTION_H
#define RECIPEC_SEMA_VALUES_BUILTINFUNCTION_H

#include "compiler/sema/values/Value.h"

#include <string>
#include <string_view>
#include <vector>

namespace recipec::sema {

struct BuiltinCall;

/// The kind of value that a parameter of a built-in function takes.
enum class Takes {
  any,
  integer,
  number,   // an `int`, `float` or `dim`
  amount,   // a number or a quantity
  text,     // a string
  scalar,   // any value that an interpolation takes
  list,     // a list or range; the handler receives a list
  booleans, // a list of `bool`
  map,      // a record, with or without a schema
};

struct BuiltinParameter {
  std::string_view name;
  Takes takes = Takes::any;
};

/// The upper limit of a function that takes any number of arguments.
inline constexpr size_t unlimited = SIZE_MAX;

struct BuiltinFunction {
  std::string_view name;
  std::string_view summary; // Markdown for users
  std::vector<BuiltinParameter> parameters;
  size_t required; // the fewest arguments
  size_t most;     // the most; extra ones are like the last parameter
  Value (*run)(BuiltinCall& call);
};

std::string_view typeNameOf(Takes takes);
/// Whether the function accepts this number of arguments.
bool takesArguments(const BuiltinFunction& function, size_t count);
/// The type of the function: `fun(string, int): any`.
std::string signatureOf(const BuiltinFunction& function);
/// The form of a call: `pad(value, width)`, `range(begin, end[, step])`.
std::string formOf(const BuiltinFunction& function);

} // namespace recipec::sema

#endif // RECIPEC_SEMA_VALUES_BUILTINFUNCTION_H
