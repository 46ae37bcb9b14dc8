// Makes common kinds of options from a name, a help text and the variable that
// receives the value.

#ifndef RECIPERUN_CLI_OPTIONS_H
#define RECIPERUN_CLI_OPTIONS_H

#include "runtime/cli/Command.h"

#include <charconv>
#include <cmath>
#include <system_error>
#include <type_traits>

namespace reciperun::cli {

/// An option without a value that sets `target` to true.
Option flag(std::string name, std::string help, bool& target);

/// An option that takes any non-empty text.
Option text(std::string name, std::string valueName, std::string help,
            std::string& target);

/// Such an option whose value is a path, or an address in an object store.
Option pathOrAddress(std::string name, std::string valueName, std::string help,
                     std::string& target);

/// Checks that `value` is one of the choices; `name` is the option's name for
/// the message.
Check checkChoice(const std::string& name, const std::vector<Choice>& choices,
                  const std::string& value);

/// A word that an option accepts, the value that it maps to, and its
/// description.
template <class T> struct Meaning {
  std::string name;
  T value;
  std::string help;
};

/// An option that takes one of several words.
template <class T>
Option choice(std::string name, std::string valueName, std::string help,
              const std::vector<Meaning<std::type_identity_t<T>>>& meanings,
              T& target) {
  std::vector<Choice> choices;
  for (const Meaning<T>& each : meanings)
    choices.push_back({each.name, each.help});
  auto store = [name, choices, meanings, &target](const Given& given) {
    for (const Meaning<T>& each : meanings)
      if (each.name == given.value)
        target = each.value;
    return checkChoice(name, choices, given.value);
  };
  return {.name = std::move(name),
          .valueName = std::move(valueName),
          .help = std::move(help),
          .choices = std::move(choices),
          .store = std::move(store)};
}

/// Parses the whole text as a number; nullopt when it is not one.
template <class T> std::optional<T> parseNumber(const std::string& text) {
  T value = {};
  const char* end = text.data() + text.size();
  auto [last, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || last != end)
    return std::nullopt;
  return value;
}

/// An option that takes a finite number of at least `least`.
template <class T>
Option number(std::string name, std::string valueName, std::string help,
              int least, T& target) {
  auto store = [name, least, &target](const Given& given) -> Check {
    std::optional<T> value = parseNumber<T>(given.value);
    if (value && *value >= T(least) && std::isfinite(double(*value))) {
      target = *value;
      return std::nullopt;
    }
    const char* kind = std::is_integral_v<T> ? "a whole number" : "a number";
    return UsageError{"`" + name + "` takes " + kind + " from " +
                      std::to_string(least) + ", not `" + given.value + "`"};
  };
  return {.name = std::move(name),
          .valueName = std::move(valueName),
          .help = std::move(help),
          .store = std::move(store)};
}

} // namespace reciperun::cli

#endif // RECIPERUN_CLI_OPTIONS_H
