// Checks and stores the values of common kinds of options.

#include "runtime/cli/Options.h"

#include "runtime/cli/Spelling.h"

#include <algorithm>

namespace reciperun::cli {

Option flag(std::string name, std::string help, bool& target) {
  return {.name = std::move(name),
          .help = std::move(help),
          .store = [&target](const Given&) -> Check {
            target = true;
            return std::nullopt;
          }};
}

Option text(std::string name, std::string valueName, std::string help,
            std::string& target) {
  return {.name = std::move(name),
          .valueName = std::move(valueName),
          .help = std::move(help),
          .store = [&target](const Given& given) -> Check {
            target = given.value;
            return std::nullopt;
          }};
}

Option pathOrAddress(std::string name, std::string valueName, std::string help,
                     std::string& target) {
  Option option =
      text(std::move(name), std::move(valueName), std::move(help), target);
  option.takesAddress = true;
  return option;
}

Check checkChoice(const std::string& name, const std::vector<Choice>& choices,
                  const std::string& value) {
  std::vector<std::string> words;
  for (const Choice& each : choices)
    words.push_back(each.name);
  if (std::ranges::find(words, value) != words.end())
    return std::nullopt;
  const auto near = nearest(value, words);
  return UsageError{"`" + name + "` is " + quotedList(words, "or") + ", not `" +
                        value + "`",
                    near ? "did you mean `" + *near + "`?" : ""};
}

} // namespace reciperun::cli
