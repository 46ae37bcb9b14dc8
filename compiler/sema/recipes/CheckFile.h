// What a file declares, checked by itself: for libraries, and for what no
// recipe of the file uses.

#ifndef RECIPEC_SEMA_RECIPES_CHECKFILE_H
#define RECIPEC_SEMA_RECIPES_CHECKFILE_H

#include "compiler/diag/Diagnostic.h"
#include "compiler/sema/modules/Loader.h"

namespace recipec::sema {

/// Reports what is wrong with the file's declarations as far as it shows
/// without a recipe that is launched:
/// - constants are evaluated, records among them checked;
/// - schemas: types, and defaults as far as the other defaults give them;
/// - models: the same, and the blocks are traced where all fields have
/// defaults;
/// - functions and blocks: names and types, without arguments;
/// - mixins and abstract recipes: as recipes, but what is missing is no
///   mistake, nor is a `require` that a recipe may still make hold.
void checkFile(const SourceMap& sources, const ast::File& file, Loader& loader,
               diag::Engine& engine);

} // namespace recipec::sema

#endif // RECIPEC_SEMA_RECIPES_CHECKFILE_H
