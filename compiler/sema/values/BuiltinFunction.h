// A function that the language has by itself: its parameters, and what carries
// it out.

#ifndef RECIPEC_SEMA_VALUES_BUILTINFUNCTION_H
#define RECIPEC_SEMA_VALUES_BUILTINFUNCTION_H

#include "compiler/sema/values/Value.h"

#include <string>
#include <string_view>
#include <vector>

namespace recipec::sema {

struct BuiltinCall;

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

/// The most arguments of a function without an upper limit.
inline constexpr size_t unlimited = SIZE_MAX;

struct BuiltinFunction {
  std::string_view name;
  std::string_view summary; // Markdown for users
  std::vector<BuiltinParameter> parameters;
  size_t required; // arguments at least
  size_t most;     // at most; what follows the last parameter is like it
  Value (*run)(BuiltinCall& call);
};

std::string_view typeNameOf(Takes takes);
/// Whether it may be called with this many arguments.
bool takesArguments(const BuiltinFunction& function, size_t count);
/// Its type: `fun(string, int): any`.
std::string signatureOf(const BuiltinFunction& function);
/// How it is called: `pad(value, width)`, `range(begin, end[, step])`.
std::string formOf(const BuiltinFunction& function);

} // namespace recipec::sema

#endif // RECIPEC_SEMA_VALUES_BUILTINFUNCTION_H
