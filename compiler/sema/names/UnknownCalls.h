// What was meant by a call of an unknown name, and by a string that reads one.

#ifndef RECIPEC_SEMA_NAMES_UNKNOWNCALLS_H
#define RECIPEC_SEMA_NAMES_UNKNOWNCALLS_H

#include "compiler/diag/Diagnostic.h"
#include "compiler/sema/values/Value.h"

namespace recipec::sema {

class Evaluator;

// Each adds a help for an unknown name in the value of a field; false where it
// has none.

/// `batch = dict(global = 16)`, where the field holds a record of a schema that
/// has these fields: its braces.
bool helpWithSectionCall(Evaluator& evaluator, diag::Builder& builder,
                         const ast::Name& name, const Object& object,
                         const Slot& slot);
/// `warmup = fraction(10%)`, or `AutoTokenizer.from_pretrained("out/base")`,
/// where the field takes the argument itself.
bool helpWithArgumentAlone(Evaluator& evaluator, diag::Builder& builder,
                           const ast::Name& name, const Object& object,
                           const Slot& slot);
/// `chat = "<s>{role}"`, where the field holds a record whose first field is a
/// string: the record with the string, its braces escaped.
bool helpWithTemplate(Evaluator& evaluator, diag::Builder& builder,
                      const ast::Name& name, const Object& object,
                      const Slot& slot);

/// `lamb { ... }`, where the field takes records of certain schemas: which.
bool helpWithSchemas(Evaluator& evaluator, diag::Builder& builder,
                     const ast::Name& name, const Object& object,
                     const Slot& slot);

/// `prompt = "Q: {question}"`, a template where the name of a field of a file
/// is due.
bool helpWithFieldTemplate(diag::Builder& builder, const ast::Name& name,
                           const Object& object, const Slot& slot);

/// `llama.decoder_layer`, a block of a model of the file `base`, or of the
/// model `base`: only that model calls it.
bool helpWithBlockOfModel(diag::Builder& builder, const Value& base,
                          std::string_view name);

/// Helps with a word for which nothing is known, the whole value of a field:
/// the field's type, and what its comment says that it is.
void helpWithValue(Evaluator& evaluator, diag::Builder& builder,
                   const ast::Name& name, Object& object, Slot& slot);

} // namespace recipec::sema

#endif // RECIPEC_SEMA_NAMES_UNKNOWNCALLS_H
