// Checks the declarations of a file that no launched recipe has to use: for
// libraries, and for unused declarations.

#ifndef RECIPEC_SEMA_RECIPES_CHECKFILE_H
#define RECIPEC_SEMA_RECIPES_CHECKFILE_H

#include "compiler/diag/Diagnostic.h"
#include "compiler/sema/modules/Loader.h"

namespace recipec::sema {

/// Reports the errors in the file's declarations that show without launching a
/// recipe:
/// - constants: evaluated; records among them are also checked;
/// - schemas: types, and defaults as far as they follow from other defaults;
/// - models: like schemas, and the blocks are traced when all fields have
///   defaults;
/// - functions and blocks: names and types, without arguments;
/// - mixins and abstract recipes: like recipes, but a missing value is no
///   error, nor is a `require` that a recipe may still satisfy.
void checkFile(const SourceMap& sources, const ast::File& file, Loader& loader,
               diag::Engine& engine);

} // namespace recipec::sema

#endif // RECIPEC_SEMA_RECIPES_CHECKFILE_H
