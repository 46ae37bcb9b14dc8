// 1. Collect the named models, `let llama3_8b = llama { ... }`, file by file.
// 2. Count the parameters of each: evaluate a recipe of it and build its Graph
//    for one rank.

#include "compiler/driver/ModelList.h"

#include "compiler/cost/Parameters.h"
#include "compiler/driver/Documentation.h"
#include "compiler/driver/Pipeline.h"

#include <map>
#include <vector>

namespace recipec::driver {
namespace {

constexpr std::string_view modelFolder = "std/models/";

struct NamedModel {
  std::string file; // `llama` in `std.models.llama`
  std::string name;
  std::string summary; // the first paragraph of its comment
};

/// The lines before the first empty one, joined.
std::string firstParagraph(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) {
    if (line.empty())
      break;
    text += (text.empty() ? "" : " ") + line;
  }
  return text;
}

/// `8,030,261,248`
std::string groupedDigits(int64_t count) {
  std::string text = std::to_string(count);
  for (int place = int(text.size()) - 3; place > 0; place -= 3)
    text.insert(place, ",");
  return text;
}

std::vector<NamedModel> namedModels(FileLoader& loader) {
  std::vector<NamedModel> models;
  for (const std::string& path : loader.standardFiles()) {
    const ast::File* file =
        path.starts_with(modelFolder) ? loader.load(path).file : nullptr;
    if (!file)
      continue;
    std::string stem = path.substr(modelFolder.size());
    stem.resize(stem.rfind('.'));
    for (const ast::Declaration& declaration : file->declarations)
      if (auto* let = std::get_if<ast::Let>(&declaration.node)) {
        models.push_back({stem, let->name.text,
                          firstParagraph(docLines(declaration.comments))});
      }
  }
  return models;
}

/// A file with a recipe for each model, on one rank.
std::string recipesOf(const std::vector<NamedModel>& models) {
  std::string text;
  std::string last;
  for (const NamedModel& model : models)
    if (model.file != std::exchange(last, model.file))
      text += "import std.models." + model.file + "\n";
  for (const NamedModel& model : models)
    text += "recipe " + model.name + " {\n  model = " + model.file + "." +
            model.name +
            "\n  cluster { hardware = h100, ranks = 1 }\n"
            "  batch { global = 1, micro = 1 }\n"
            "  data { train = mock(), sequence = 128 }\n"
            "  train.steps = 1\n}\n";
  return text;
}

/// Parameter counts by name, without the models that cannot be built.
std::map<std::string, cost::ParameterCounts>
countAll(const std::vector<NamedModel>& models) {
  const std::string path = "models.recipe";
  std::map<std::string, cost::ParameterCounts> counts;
  Session session(path);
  session.loader.useTexts({{path, recipesOf(models)}});
  auto selection =
      session.open({}) ? session.select(sema::Extent::file) : std::nullopt;
  if (!selection)
    return counts;
  for (sema::Selection& each : *selection) {
    session.selected = std::move(each);
    diag::Engine silent;
    auto recipe = evaluateRecipe(session, silent);
    auto graph = recipe ? makeGraph(*recipe, silent) : std::nullopt;
    if (graph)
      counts[session.selected.recipe] = cost::countParameters(*graph);
  }
  return counts;
}

} // namespace

std::string modelListMarkdown() {
  SourceMap sources;
  diag::Engine engine;
  FileLoader loader(sources, engine);
  std::vector<NamedModel> models = namedModels(loader);
  std::map<std::string, cost::ParameterCounts> counts = countAll(models);
  std::string text =
      "# Models\n\nA recipe imports the file and names the model: "
      "`import std.models.llama`, `model = llama.llama3_8b`.\n";
  std::string last;
  for (const NamedModel& model : models) {
    if (model.file != std::exchange(last, model.file))
      text +=
          "\n## `std.models." + model.file +
          "`\n\n| model | parameters | for a token | |\n|---|---|---|---|\n";
    auto count = counts.find(model.name);
    std::string total, active;
    if (count != counts.end()) {
      total = groupedDigits(count->second.total);
      active = groupedDigits(count->second.active);
    }
    text += "| `" + model.file + "." + model.name + "` | " + total + " | " +
            active + " | " + model.summary + " |\n";
  }
  return text;
}

} // namespace recipec::driver
