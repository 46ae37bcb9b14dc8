// Help for an object of a JSONL file that is not a sample: a field has another
// name, a value has another type, or messages have the format of another
// program.

#ifndef RECIPERUN_DATA_SAMPLEREMEDIES_H
#define RECIPERUN_DATA_SAMPLEREMEDIES_H

#include "runtime/plan/Plan.h"

#include <nlohmann/json_fwd.hpp>

#include <string>

namespace reciperun::data {

/// A help text, and whether it concerns the recipe too.
struct SampleRemedy {
  std::string help; // may be empty
  /// The field that the recipe names and the object lacks; empty when only the
  /// file has to change.
  std::string missingField = {};
};

/// The remedy for `object`, which is not a sample of `source`.
SampleRemedy remedyFor(const nlohmann::json& object,
                       const plan::DataSource& source);

/// An example of an object that the source can read: `{"prompt": "...",
/// "completion": "..."}`, with the source's field names.
std::string exampleSample(const plan::DataSource& source);

} // namespace reciperun::data

#endif // RECIPERUN_DATA_SAMPLEREMEDIES_H
