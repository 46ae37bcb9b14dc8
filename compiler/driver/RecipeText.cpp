// See RecipeText.h.

#include "compiler/driver/RecipeText.h"

#include "compiler/format/Format.h"
#include "compiler/parse/Parse.h"

namespace recipec::driver {

std::string inOneStyle(const std::string& text) {
  SourceMap sources;
  diag::Engine engine;
  const SourceId source =
      sources.add("imported.recipe", text, SourceKind::file);
  const ast::File file = parse::parse(sources, source, engine);
  return engine.hasErrors() ? text : format::format(file, sources);
}

} // namespace recipec::driver
