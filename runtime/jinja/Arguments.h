// Reads the arguments of filters, methods and functions.

#ifndef RECIPERUN_JINJA_ARGUMENTS_H
#define RECIPERUN_JINJA_ARGUMENTS_H

#include "runtime/jinja/Value.h"

#include <string>
#include <string_view>

namespace reciperun::jinja {

/// The arguments of one call, in the order of the function's parameters. A
/// failure names the function and the parameter.
class ArgumentReader {
public:
  ArgumentReader(std::string_view function, const Arguments& arguments)
      : function(function), arguments(arguments) {}

  /// The next argument; null when it is not given.
  const Value* next(std::string_view parameter) {
    return arguments.find(position++, parameter);
  }
  Expected<Value> value(std::string_view parameter) {
    const Value* given = next(parameter);
    if (!given)
      return missing(parameter);
    return *given;
  }
  Expected<std::string> string(std::string_view parameter) {
    const Value* given = next(parameter);
    if (!given)
      return missing(parameter);
    return stringOf(*given, parameter);
  }
  Expected<std::string> stringOr(std::string_view parameter,
                                 std::string otherwise) {
    const Value* given = next(parameter);
    if (!given || given->isNone())
      return otherwise;
    return stringOf(*given, parameter);
  }
  Expected<int64_t> integerOr(std::string_view parameter, int64_t otherwise) {
    const Value* given = next(parameter);
    if (!given || given->isNone())
      return otherwise;
    if (!given->isInteger())
      return wrong(*given, parameter, "int");
    return given->integer();
  }
  bool flag(std::string_view parameter, bool otherwise = false) {
    const Value* given = next(parameter);
    return given ? given->isTrue() : otherwise;
  }

  const Arguments& all() const { return arguments; }

private:
  Status missing(std::string_view parameter) const {
    return Status::error("`" + std::string(function) +
                         "` needs the argument `" + std::string(parameter) +
                         "`");
  }
  Status wrong(const Value& given, std::string_view parameter,
               std::string_view type) const {
    return Status::error("`" + std::string(parameter) + "` of `" +
                         std::string(function) + "` is of type `" +
                         std::string(given.typeName()) + "`, and not `" +
                         std::string(type) + "`");
  }
  Expected<std::string> stringOf(const Value& given,
                                 std::string_view parameter) const {
    if (!given.string())
      return wrong(given, parameter, "str");
    return *given.string();
  }

  std::string_view function;
  const Arguments& arguments;
  size_t position = 0;
};

} // namespace reciperun::jinja

#endif // RECIPERUN_JINJA_ARGUMENTS_H
