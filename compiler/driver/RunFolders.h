// Checks that the points of a sweep have different folders, and that the
// layouts of a run are of one run.

#ifndef RECIPEC_DRIVER_RUNFOLDERS_H
#define RECIPEC_DRIVER_RUNFOLDERS_H

#include "compiler/diag/Diagnostic.h"
#include "compiler/recipe/Recipe.h"
#include "compiler/sema/recipes/Select.h"

#include <map>
#include <string>
#include <utility>
#include <vector>

namespace recipec::driver {

class RunFolders {
public:
  /// Adds a point or layout. Reports a `train.dir` that another point of its
  /// recipe also has, because the runs would overwrite each other's files; and
  /// a layout that cannot go on with the run of the first one.
  void add(const sema::Selection& selected, const recipe::Recipe& recipe,
           diag::Engine& engine);

private:
  void addLayout(const sema::Selection& selected, const recipe::Recipe& recipe,
                 diag::Engine& engine);

  /// The first run of a recipe with a folder.
  std::map<std::pair<std::string, std::string>, std::string> runs;
  /// A layout of each run, and the values that all of them have.
  struct First {
    std::string name;
    std::vector<std::string> values;
  };
  std::map<std::string, First> layouts;
};

} // namespace recipec::driver

#endif // RECIPEC_DRIVER_RUNFOLDERS_H
