// Configuration files that accompany a model to and from Hugging Face.

#ifndef RECIPEC_EMIT_EXCHANGEJSON_H
#define RECIPEC_EMIT_EXCHANGEJSON_H

#include "compiler/ir/Ir.h"
#include "compiler/recipe/Recipe.h"

#include <string>

namespace recipec::emit {

/// A record as a JSON object: fields in their order, indented as transformers
/// does, with a final newline. `none` and `auto` become null; dimensions and
/// quantities become numbers.
std::string toJson(const recipe::Recipe& recipe, const recipe::Value& value);

/// peft's adapter_config.json for the recipe's LoRA adapter; empty without one,
/// and for a server, whose model has it merged.
/// `target_modules` are the modules that the Program adapts, in its order.
std::string adapterConfig(const ir::Module& program,
                          const recipe::Recipe& recipe);

} // namespace recipec::emit

#endif // RECIPEC_EMIT_EXCHANGEJSON_H
