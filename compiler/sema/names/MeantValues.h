// What the value of a key of another tool is in the field that was meant:
// `save_steps = 100` is `every = 100 steps`.

#ifndef RECIPEC_SEMA_NAMES_MEANTVALUES_H
#define RECIPEC_SEMA_NAMES_MEANTVALUES_H

#include "compiler/sema/names/OtherNames.h"

#include <string>
#include <vector>

namespace recipec::sema {

/// A value as a recipe writes it for a field.
struct MeantValue {
  enum class Kind {
    unknown,   // no constant, or a block in braces
    asWritten, // the field takes what is written
    mended,    // `text` is what the field takes instead
    settings,  // `text` sets other fields: `compute = "fp8"`
    unfit,     // the field takes nothing like it
  };
  Kind kind = Kind::unknown;
  std::string text; // what is written, or takes its place
};

/// The value of `member`, of `layer`, for a field.
MeantValue meantValue(Evaluator& evaluator, const KnownField& field,
                      const Layer& layer, const Member& member);

/// What to write for the field: `every = 100 steps`, with an example where the
/// value does not fit.
std::string settingOf(Evaluator& evaluator, const KnownField& field,
                      std::string_view name, const MeantValue& value);

/// The assignment of a layer to a field that a rule of the schema lets stand
/// beside `field` only where one of them is `none`: `epochs` for `steps`.
const Member* excludedBy(const Schema& schema, std::string_view field,
                         const Layer& layer);

/// The keys of a layer that its record's schema does not have and that other
/// tools have for one field, or for fields of the record in it: `beta1` and
/// `beta2` are `betas`. Empty where `member` stands for a field of its own.
std::vector<const Member*> keysOfOneField(Evaluator& evaluator,
                                          const Schema& schema,
                                          const Layer& layer,
                                          const Member& member);

/// Whether such keys are reported as one setting of `field`.
bool isSetByKeys(Evaluator& evaluator, const Object& object,
                 std::string_view field);

/// The one setting that several such keys are: `betas = [0.9, 0.98]`,
/// `lr = cosine(peak = 1e-4, warmup = 0.03)`. Empty where that is not clear.
std::string settingOfAll(Evaluator& evaluator, const Object& object,
                         const Layer& layer,
                         const std::vector<const Member*>& keys);

} // namespace recipec::sema

#endif // RECIPEC_SEMA_NAMES_MEANTVALUES_H
