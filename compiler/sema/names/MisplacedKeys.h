// Keys that a record does not have and that stand in a wrong place: in a recipe
// without a server, without their section, with a record's name for the
// field's.

#ifndef RECIPEC_SEMA_NAMES_MISPLACEDKEYS_H
#define RECIPEC_SEMA_NAMES_MISPLACEDKEYS_H

#include "compiler/sema/names/OtherNames.h"

namespace recipec::sema {

/// A field of the section `serve` that a recipe without a server is given, or a
/// layout of ranks for one that answers prompts.
bool helpWithServing(Evaluator& evaluator, diag::Builder& builder,
                     const Object& object, const KnownField& known);

/// An axis of a sweep that is named without its section: `lr = [1e-4, 2e-4]`.
bool helpWithAxisPath(Evaluator& evaluator, diag::Builder& builder,
                      const Object& object, const Member& member);

/// A path through the name of a schema or of a device, `lora.rank` for
/// `adapter.rank`: in the braces of the recipe, or on the command line. Also
/// the braces of a record in those of its own, `optimizer { adamw { ... } }`.
bool helpWithMeantPath(Evaluator& evaluator, diag::Builder& builder,
                       const Object& object, const Member& member);

/// A sweep in a section, `train { sweep { seed = [0, 1] } }`, or on the command
/// line, `train.sweep.seed=[0,1]`.
bool helpWithInnerSweep(Evaluator& evaluator, diag::Builder& builder,
                        const Object& object, const Layer& layer,
                        const Member& member);

/// `lora { rank = 8 }` for `adapter = lora { rank = 8 }`: the name of a record
/// in place of the field's.
bool helpWithRecordName(Evaluator& evaluator, diag::Builder& builder,
                        const Object& object, const Layer& layer,
                        const Member& member);

/// `train { lora { rank = 8 } }`: a record of a field of the recipe, in one of
/// its sections.
bool helpWithRecordOfRecipe(Evaluator& evaluator, diag::Builder& builder,
                            const Object& object, const Layer& layer,
                            const Member& member);

/// A key that is a field of a section of its record, or else of the recipe.
bool helpWithSection(Evaluator& evaluator, diag::Builder& builder,
                     const Object& object, const Layer& layer,
                     const Member& member);

/// A key that is a field of another record which may stand in the place of this
/// one: `decay` of `cosine` is a field of `wsd`.
bool helpWithSibling(Evaluator& evaluator, diag::Builder& builder,
                     const Object& object, const ast::Name& name);

/// Whether a field of the recipe may take what a member of another record sets.
bool mayTake(Evaluator& evaluator, const Schema& recipes, const Field& field,
             const Layer& layer, const Member& member);

/// Of the sections that have a field of a member's name, those whose field
/// takes the member's value; all of them where none does.
std::vector<std::string> sectionsTaking(Evaluator& evaluator,
                                        const Schema& recipes,
                                        const Layer& layer,
                                        const Member& member);

} // namespace recipec::sema

#endif // RECIPEC_SEMA_NAMES_MISPLACEDKEYS_H
