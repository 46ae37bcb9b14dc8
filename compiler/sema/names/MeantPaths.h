// Finds the fields that were meant by paths that do not exist.

#ifndef RECIPEC_SEMA_NAMES_MEANTPATHS_H
#define RECIPEC_SEMA_NAMES_MEANTPATHS_H

#include "compiler/sema/values/SetPlaces.h"
#include "compiler/sema/values/Value.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace recipec::sema {

class Evaluator;

/// A field that takes records of a schema, and the path to it.
struct RecordField {
  std::string path;
  const Schema* schema;
};

/// The first field below `schema` that takes records of a schema called `name`.
/// With `areSeen`, considers only schemas that recipes see without an import.
std::optional<RecordField> fieldOfRecords(Evaluator& evaluator,
                                          const Schema& schema,
                                          const std::string& name, int depth,
                                          bool areSeen);

/// The fields of a recipe that a wrong path may mean. The path may name a
/// schema instead of the field that holds its record (`lora.rank` for
/// `adapter.rank`), leave out a section, or use names of other tools. The
/// results are paths in the schemas; the recipe at hand need not have them.
std::vector<std::string> pathsMeant(Evaluator& evaluator,
                                    const std::vector<std::string>& names);

/// The field of which `name` is a misspelling; empty if there is none.
std::string nearField(const Schema& schema, std::string_view name);

} // namespace recipec::sema

#endif // RECIPEC_SEMA_NAMES_MEANTPATHS_H
