// The built-in functions of the language.
//
// Builtins.cpp has the table and checks arguments against it, so handlers can
// rely on the types in their line of the table:
//   BuiltinNumbers.cpp   min max abs floor ceil round sqrt exp log pow
//                        int float
//   BuiltinLists.cpp     len sum sorted reversed unique flatten zip any all
//                        range keys values
//   BuiltinStrings.cpp   upper lower trim split join replace starts_with
//                        ends_with pad str

#ifndef RECIPEC_SEMA_BUILTINS_BUILTINS_H
#define RECIPEC_SEMA_BUILTINS_BUILTINS_H

#include "compiler/sema/Evaluator.h"
#include "compiler/sema/values/BuiltinFunction.h"

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace recipec::sema {

/// One call with checked arguments.
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
  /// Reports an argument with the right type but an invalid value.
  diag::Builder reportValue(size_t index, std::string message) const;
  /// Reports a list element of the wrong type; `due` names the right one.
  void reportElement(size_t list, size_t index, std::string_view due) const;
  /// Reports an argument of the wrong type; `due` names the right ones.
  void reportType(size_t index, std::string_view due) const;
  /// What the function does, as the end of a help.
  std::string summary() const;
  std::string name() const;
};

std::span<const BuiltinFunction> builtinFunctions();
const BuiltinFunction* findBuiltin(std::string_view name);

} // namespace recipec::sema

#endif // RECIPEC_SEMA_BUILTINS_BUILTINS_H
