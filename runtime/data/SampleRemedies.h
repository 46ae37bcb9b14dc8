// What to do about an object of a JSONL file that holds no sample: a field that
// it calls otherwise, a value of another type, messages in the form of another
// program.

#ifndef RECIPERUN_DATA_SAMPLEREMEDIES_H
#define RECIPERUN_DATA_SAMPLEREMEDIES_H

#include "runtime/plan/Plan.h"

#include <nlohmann/json_fwd.hpp>

#include <string>

namespace reciperun::data {

/// A help, and where it applies.
struct SampleRemedy {
  std::string help; // may be empty
  /// The field of the recipe that the object lacks; empty when the file is to
  /// change alone.
  std::string missingField = {};
};

/// The remedy for `object`, which is no sample of `source`.
SampleRemedy remedyFor(const nlohmann::json& object,
                       const plan::DataSource& source);

/// An object as the source reads it: `{"prompt": "...", "completion": "..."}`
/// with the names of its fields.
std::string exampleSample(const plan::DataSource& source);

} // namespace reciperun::data

#endif // RECIPERUN_DATA_SAMPLEREMEDIES_H
