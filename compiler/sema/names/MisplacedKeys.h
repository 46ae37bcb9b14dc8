// Helps with unknown keys that are valid elsewhere: serving limits in a recipe
// that does not serve, keys without their section, and a record's name in place
// of its field's.

#ifndef RECIPEC_SEMA_NAMES_MISPLACEDKEYS_H
#define RECIPEC_SEMA_NAMES_MISPLACEDKEYS_H

#include "compiler/sema/names/OtherNames.h"

namespace recipec::sema {

/// A field of the section `serve` in a recipe that trains.
bool helpWithServing(Evaluator& evaluator, diag::Builder& builder,
                     const Object& object, const KnownField& known);

/// An axis of a sweep without its section: `lr = [1e-4, 2e-4]`.
bool helpWithAxisPath(Evaluator& evaluator, diag::Builder& builder,
                      const Object& object, const Member& member);

/// A path that contains the name of a schema or a device, `lora.rank` for
/// `adapter.rank`, in the recipe's braces or on the command line. Also braces
/// of a schema's name within its own record, `optimizer { adamw { ... } }`.
bool helpWithMeantPath(Evaluator& evaluator, diag::Builder& builder,
                       const Object& object, const Member& member);

/// A `sweep` inside a section, `train { sweep { seed = [0, 1] } }`, or on the
/// command line, `train.sweep.seed=[0,1]`.
bool helpWithInnerSweep(Evaluator& evaluator, diag::Builder& builder,
                        const Object& object, const Layer& layer,
                        const Member& member);

/// The name of a record in place of its field's: `lora { rank = 8 }` for
/// `adapter = lora { rank = 8 }`.
bool helpWithRecordName(Evaluator& evaluator, diag::Builder& builder,
                        const Object& object, const Layer& layer,
                        const Member& member);

/// A record for a field of the recipe, written inside a section:
/// `train { lora { rank = 8 } }`.
bool helpWithRecordOfRecipe(Evaluator& evaluator, diag::Builder& builder,
                            const Object& object, const Layer& layer,
                            const Member& member);

/// A key that is a field of a section of its record, or else of the recipe.
bool helpWithSection(Evaluator& evaluator, diag::Builder& builder,
                     const Object& object, const Layer& layer,
                     const Member& member);

/// A key that is a field of another record that could be used instead of this
/// one: `decay` is a field of `wsd`, not of `cosine`.
bool helpWithSibling(Evaluator& evaluator, diag::Builder& builder,
                     const Object& object, const ast::Name& name);

/// Whether a field of the recipe may take the value that a member of another
/// record sets.
bool mayTake(Evaluator& evaluator, const Schema& recipes, const Field& field,
             const Layer& layer, const Member& member);

/// The sections that have a field with the member's name and take its value; if
/// none takes it, all sections with such a field.
std::vector<std::string> sectionsTaking(Evaluator& evaluator,
                                        const Schema& recipes,
                                        const Layer& layer,
                                        const Member& member);

} // namespace recipec::sema

#endif // RECIPEC_SEMA_NAMES_MISPLACEDKEYS_H
