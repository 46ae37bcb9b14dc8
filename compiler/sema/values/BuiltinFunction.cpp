// Formats the signatures of built-in functions.

#include "compiler/sema/values/BuiltinFunction.h"

namespace recipec::sema {

std::string_view typeNameOf(Takes takes) {
  switch (takes) {
  case Takes::integer:
    return "int";
  case Takes::number:
    return "float";
  case Takes::text:
    return "string";
  case Takes::list:
    return "[any]";
  case Takes::booleans:
    return "[bool]";
  case Takes::map:
    return "map[string, any]";
  default:
    return "any";
  }
}

bool takesArguments(const BuiltinFunction& function, size_t count) {
  return count >= function.required && count <= function.most;
}

std::string signatureOf(const BuiltinFunction& function) {
  std::string text = "fun(";
  for (const BuiltinParameter& parameter : function.parameters)
    text += (text.size() > 4 ? ", " : "") +
            std::string(typeNameOf(parameter.takes));
  return text + "): any";
}

std::string formOf(const BuiltinFunction& function) {
  std::string text = std::string(function.name) + "(";
  for (size_t i = 0; i < function.parameters.size(); ++i) {
    std::string name(function.parameters[i].name);
    std::string written = i == 0 ? name : ", " + name;
    text += i < function.required ? written : "[" + written + "]";
  }
  return text + (function.most == unlimited ? ", ...)" : ")");
}

} // namespace recipec::sema
