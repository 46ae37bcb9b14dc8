// The names of a checkpoint's `config.json` for the fields of a model.

#ifndef RECIPEC_SEMA_NAMES_HUBNAMES_H
#define RECIPEC_SEMA_NAMES_HUBNAMES_H

#include "compiler/diag/Diagnostic.h"
#include "compiler/sema/values/Value.h"

namespace recipec::sema {

class Evaluator;

/// Helps with a key of the model's `hf_config`, such as `tie_word_embeddings`:
/// names the field that the key is written from (`tied`). A key with a constant
/// value cannot be set. Returns false for other names.
bool helpWithHubName(Evaluator& evaluator, diag::Builder& builder,
                     const Schema& schema, const ast::Name& name);

} // namespace recipec::sema

#endif // RECIPEC_SEMA_NAMES_HUBNAMES_H
