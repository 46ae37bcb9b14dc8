// Paths of a recipe that lead nowhere, and the fields that were meant.

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
/// `areSeen`: only of schemas that recipes see without an import.
std::optional<RecordField> fieldOfRecords(Evaluator& evaluator,
                                          const Schema& schema,
                                          const std::string& name, int depth,
                                          bool areSeen);

/// The fields of a recipe that a path may mean which names a schema for the
/// field that holds its record, `lora.rank` for `adapter.rank`, names a field
/// without its section, or uses the names of other tools. Each is the path of a
/// field that the schemas have; whether the recipe at hand has it is not
/// checked.
std::vector<std::string> pathsMeant(Evaluator& evaluator,
                                    const std::vector<std::string>& names);

/// The field of a record that a name is a misspelling of; empty where it is
/// none.
std::string nearField(const Schema& schema, std::string_view name);

} // namespace recipec::sema

#endif // RECIPEC_SEMA_NAMES_MEANTPATHS_H
