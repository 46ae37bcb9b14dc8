// See RunFolders.h.

#include "compiler/driver/RunFolders.h"

namespace recipec::driver {

void RunFolders::add(const sema::Selection& point, const recipe::Recipe& recipe,
                     diag::Engine& engine) {
  const std::string& folder = recipe.string("train.dir");
  const auto [first, isNew] =
      points.emplace(std::pair(point.recipe, folder), point.name);
  if (isNew)
    return;
  engine
      .report(diag::Kind::InvalidValue, recipe.at("train.dir").origin.range,
              "several points of the sweep would run in `" + folder +
                  "` and overwrite each other's files")
      .help("make `train.dir` follow `name`, as in `dir = \"" + folder +
            "/{name}\"`");
}

} // namespace recipec::driver
