// Helps with a call of an unknown name, and with a string that reads one.

#ifndef RECIPEC_SEMA_NAMES_UNKNOWNCALLS_H
#define RECIPEC_SEMA_NAMES_UNKNOWNCALLS_H

#include "compiler/diag/Diagnostic.h"
#include "compiler/sema/values/Value.h"

namespace recipec::sema {

class Evaluator;

// Each function adds a help for an unknown name in the value of a field, and
// returns false if it has none.

/// `batch = dict(global = 16)`, if the field holds a record with these fields:
/// proposes braces.
bool helpWithSectionCall(Evaluator& evaluator, diag::Builder& builder,
                         const ast::Name& name, const Object& object,
                         const Slot& slot);
/// `warmup = fraction(10%)` or `AutoTokenizer.from_pretrained("out/base")`, if
/// the field takes the argument itself: proposes the argument.
bool helpWithArgumentAlone(Evaluator& evaluator, diag::Builder& builder,
                           const ast::Name& name, const Object& object,
                           const Slot& slot);
/// `chat = "<s>{role}"`, if the field holds a record whose first field is a
/// string: proposes the record with the string, its braces escaped.
bool helpWithTemplate(Evaluator& evaluator, diag::Builder& builder,
                      const ast::Name& name, const Object& object,
                      const Slot& slot);

/// `lamb { ... }`, if the field takes records: lists the schemas that it takes.
bool helpWithSchemas(Evaluator& evaluator, diag::Builder& builder,
                     const ast::Name& name, const Object& object,
                     const Slot& slot);

/// `prompt = "Q: {question}"`: a template where the field takes the name of a
/// field in the data file.
bool helpWithFieldTemplate(diag::Builder& builder, const ast::Name& name,
                           const Object& object, const Slot& slot);

/// `base.decoder_layer`, a block of a model: only that model can call it.
/// `base` is the model or its file.
bool helpWithBlockOfModel(diag::Builder& builder, const Value& base,
                          std::string_view name);

/// Helps with an unknown word that is the whole value of a field: describes the
/// field's type and quotes its comment.
void helpWithValue(Evaluator& evaluator, diag::Builder& builder,
                   const ast::Name& name, Object& object, Slot& slot);

} // namespace recipec::sema

#endif // RECIPEC_SEMA_NAMES_UNKNOWNCALLS_H
