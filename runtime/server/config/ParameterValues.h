// The values of parameters, which are texts in a configuration.

#ifndef RECIPERUN_SERVER_CONFIG_PARAMETERVALUES_H
#define RECIPERUN_SERVER_CONFIG_PARAMETERVALUES_H

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace reciperun::server {

/// All of the text is an integer from `least` to `most`.
std::optional<int64_t> integerOf(std::string_view text, int64_t least,
                                 int64_t most);
/// All of the text is a number from 0 to 1.
std::optional<double> fractionOf(std::string_view text);
/// `0,1,2`: integers of at least `least`, and at most 1024 of them.
std::optional<std::vector<int64_t>> integerListOf(std::string_view text,
                                                  int64_t least);
/// `0,1;2,3`: a list of integers of at least 0 for each instance.
std::optional<std::vector<std::vector<int64_t>>> idsOf(std::string_view text);
/// `[[0],[0,1]]`: lists of integers of at least 0, as JSON; also in braces.
bool isChoiceTree(std::string_view text);

} // namespace reciperun::server

#endif // RECIPERUN_SERVER_CONFIG_PARAMETERVALUES_H
