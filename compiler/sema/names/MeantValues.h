// Translates the value of another tool's key to a value of the field that was
// meant: `save_steps = 100` is `every = 100 steps`.

#ifndef RECIPEC_SEMA_NAMES_MEANTVALUES_H
#define RECIPEC_SEMA_NAMES_MEANTVALUES_H

#include "compiler/sema/names/OtherNames.h"

#include <string>
#include <vector>

namespace recipec::sema {

/// A value as a recipe would write it for a field.
struct MeantValue {
  enum class Kind {
    unknown,   // not constant, or braces
    asWritten, // the field takes the value as it is written
    mended,    // `text` is a value that the field takes instead
    settings,  // `text` sets other fields: `compute = "fp8"`
    unfit,     // the field takes no such value
  };
  Kind kind = Kind::unknown;
  std::string text; // the written value, or its replacement
};

/// Translates the value of `member`, in `layer`, for a field.
MeantValue meantValue(Evaluator& evaluator, const KnownField& field,
                      const Layer& layer, const Member& member);

/// The setting to write for the field, `every = 100 steps`; an example if the
/// value does not fit.
std::string settingOf(Evaluator& evaluator, const KnownField& field,
                      std::string_view name, const MeantValue& value);

/// The layer's assignment to a field that excludes `field`, such as `epochs`
/// for `steps`: a rule of the schema says that one of the two must be `none`.
/// Null if there is none.
const Member* excludedBy(const Schema& schema, std::string_view field,
                         const Layer& layer);

/// The layer's unknown keys that together set one field: other tools' names for
/// the field, or for fields of the record in it. For example, `beta1` and
/// `beta2` set `betas`. Empty if `member` sets a field by itself.
std::vector<const Member*> keysOfOneField(Evaluator& evaluator,
                                          const Schema& schema,
                                          const Layer& layer,
                                          const Member& member);

/// Whether such keys are reported as one setting of `field`.
bool isSetByKeys(Evaluator& evaluator, const Object& object,
                 std::string_view field);

/// The single setting that replaces such keys: `betas = [0.9, 0.98]`,
/// `lr = cosine(peak = 1e-4, warmup = 0.03)`. Empty if it cannot be determined.
std::string settingOfAll(Evaluator& evaluator, const Object& object,
                         const Layer& layer,
                         const std::vector<const Member*>& keys);

} // namespace recipec::sema

#endif // RECIPEC_SEMA_NAMES_MEANTVALUES_H
