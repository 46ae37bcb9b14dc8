// Renders the cases of a file with the runtime's engine: a line of JSON for
// each, with the text, or `null` where it fails. With `--errors`, prints the
// message of each failure instead. A case may lower the limits.

#include "runtime/base/ParseJson.h"
#include "runtime/jinja/Template.h"

#include <nlohmann/json.hpp>

#include <fstream>
#include <iostream>
#include <string>

using reciperun::Expected;
using reciperun::jinja::RenderLimits;
using reciperun::jinja::Template;

namespace {

Expected<std::string> render(const nlohmann::ordered_json& row) {
  constexpr std::time_t now = 1'700'000'000; // 2023-11-14, 22:13:20 UTC
  RenderLimits limits;
  limits.steps = row.value("steps", limits.steps);
  limits.bytes = row.value("bytes", limits.bytes);
  Expected<Template> parsed =
      Template::parse(row["template"].get<std::string>());
  RECIPERUN_TRY(parsed);
  return parsed->render(row["variables"], now, limits);
}

} // namespace

int main(int count, char** arguments) {
  const bool showsErrors = count > 2 && arguments[2] == std::string("--errors");
  std::ifstream file(arguments[1]);
  for (std::string line; std::getline(file, line);) {
    Expected<nlohmann::ordered_json> row = reciperun::parseOrderedJson(line);
    if (!row) {
      std::cerr << row.message() << "\n";
      return 1;
    }
    const Expected<std::string> text = render(*row);
    if (showsErrors) {
      if (!text)
        std::cout << (*row)["name"].get<std::string>() << "\n  "
                  << text.message() << "\n";
      continue;
    }
    nlohmann::ordered_json result = {{"name", (*row)["name"]}, {"text", {}}};
    if (text)
      result["text"] = *text;
    std::cout << result.dump() << "\n";
  }
  return 0;
}
