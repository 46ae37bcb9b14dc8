// Checks that the points of a sweep have different folders.

#ifndef RECIPEC_DRIVER_RUNFOLDERS_H
#define RECIPEC_DRIVER_RUNFOLDERS_H

#include "compiler/diag/Diagnostic.h"
#include "compiler/recipe/Recipe.h"
#include "compiler/sema/recipes/Select.h"

#include <map>
#include <string>
#include <utility>

namespace recipec::driver {

class RunFolders {
public:
  /// Adds a point. Reports a `train.dir` that another point of its recipe also
  /// has, because the runs would overwrite each other's files.
  void add(const sema::Selection& point, const recipe::Recipe& recipe,
           diag::Engine& engine);

private:
  /// The first point of a recipe with a folder.
  std::map<std::pair<std::string, std::string>, std::string> points;
};

} // namespace recipec::driver

#endif // RECIPEC_DRIVER_RUNFOLDERS_H
