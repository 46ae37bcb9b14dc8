// Searches the names and help texts of the options and of their choices.

#include "runtime/cli/NearestOption.h"

#include "runtime/search/WordIndex.h"

namespace reciperun::cli {
namespace {

/// The search index groups documents by place. All options are in this one.
constexpr const char* place = "command";

search::Document documentOf(const Option& option) {
  search::Document document{option.name, {}, option.help, place};
  for (const Choice& each : option.choices)
    document.text += " " + each.name + " " + each.help;
  return document;
}

/// `` `--seed=S`, of the random numbers ``
std::string textOf(const Option& option) {
  const std::string value =
      option.valueName.empty() ? "" : "=" + option.valueName;
  std::string help = option.help;
  if (help.ends_with(':')) // a list of choices follows it
    help.pop_back();
  return "`" + option.name + value + "`: " + help;
}

} // namespace

std::string nearestOption(const Command& command, const std::string& name) {
  std::vector<search::Document> documents;
  for (const Option& option : command.options)
    documents.push_back(documentOf(option));
  const search::WordIndex index(std::move(documents));
  const auto found = index.find(name, place, search::leastOfOptions);
  if (found.empty())
    return {};
  std::string help = found.size() == 1
                         ? "the nearest by its description is "
                         : "the nearest by their descriptions are ";
  for (const search::Match& each : found)
    help += (&each == &found.front() ? "" : "; and ") +
            textOf(command.options[each.document]);
  return help;
}

} // namespace reciperun::cli
