// See RunFolders.h.

#include "compiler/driver/RunFolders.h"

#include "compiler/recipe/Format.h"
#include "compiler/recipe/Task.h"

namespace recipec::driver {
namespace {

/// The settings that the layouts of a run have in common: the run goes on in
/// its folder, from its checkpoints, with its batches.
constexpr const char* commonSettings[] = {"train.dir", "checkpoint.dir",
                                          "batch.global"};

} // namespace

void RunFolders::add(const sema::Selection& selected,
                     const recipe::Recipe& recipe, diag::Engine& engine) {
  if (selected.layout)
    addLayout(selected, recipe, engine);
  if (!selected.point)
    return;
  const std::string& folder = recipe.string("train.dir");
  const auto [first, isNew] =
      runs.emplace(std::pair(selected.recipe, folder), selected.run);
  if (isNew || first->second == selected.run)
    return;
  engine
      .report(diag::Kind::InvalidValue, recipe.at("train.dir").origin.range,
              "several points of the sweep would run in `" + folder +
                  "` and overwrite each other's files")
      .help("make `train.dir` follow `name`, as in `dir = \"" + folder +
            "/{name}\"`");
}

void RunFolders::addLayout(const sema::Selection& selected,
                           const recipe::Recipe& recipe, diag::Engine& engine) {
  std::vector<std::string> values;
  for (const char* setting : commonSettings)
    values.push_back(recipe::formatValue(recipe.at(setting), {}));
  const auto [first, isNew] =
      layouts.emplace(selected.run, First{selected.name, values});
  if (isNew && recipe::serves(recipe))
    engine
        .report(diag::Kind::InvalidValue, selected.layout->range,
                "a list of `cluster.ranks` is for a training, which goes on "
                "with fewer ranks from its checkpoint, and `task` is `\"" +
                    recipe.string("task") + "\"`")
        .help("write one count");
  for (size_t i = 0; i < values.size(); ++i) {
    if (values[i] == first->second.values[i])
      continue;
    const std::string setting = commonSettings[i];
    engine
        .report(diag::Kind::InvalidValue, recipe.at(setting).origin.range,
                "the layouts of a run have one `" + setting + "`, and it is " +
                    values[i] + " for `" + selected.name + "` and " +
                    first->second.values[i] + " for `" + first->second.name +
                    "`")
        .help("give `" + setting +
              "` a value that does not follow `cluster.ranks`");
    return; // others may follow this one
  }
}

} // namespace recipec::driver
