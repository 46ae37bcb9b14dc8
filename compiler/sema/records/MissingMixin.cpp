// Mixins of the library that set what a recipe lacks; see MissingMixin.h.

#include "compiler/sema/records/MissingMixin.h"

#include "compiler/sema/Evaluator.h"
#include "compiler/sema/names/Sections.h"

#include <algorithm>
#include <span>
#include <string_view>

namespace recipec::sema {
namespace {

constexpr std::string_view servingFolder = "std/serving/";

/// Whether the items of a body set a path.
bool setsPath(const ast::File& file, ast::BodyId body, std::string_view path) {
  for (const ast::Item& item : file[body].items) {
    const auto* node = std::get_if<ast::Assignment>(&item.node);
    if (!node)
      continue;
    std::string own;
    for (const ast::Name& name : node->path)
      own += (own.empty() ? "" : ".") + name.text;
    if (own == path)
      return true;
    if (node->body != ast::BodyId::none && path.starts_with(own + ".") &&
        setsPath(file, node->body, path.substr(own.size() + 1)))
      return true;
  }
  return false;
}

/// Whether the file imports a declaration of the library by its name.
bool importsName(const ast::File& file, std::string_view name) {
  return std::any_of(
      file.declarations.begin(), file.declarations.end(),
      [&](const ast::Declaration& each) {
        const auto* import = std::get_if<ast::Import>(&each.node);
        return import && import->selection &&
               std::any_of(
                   import->selection->begin(), import->selection->end(),
                   [&](const auto& own) { return own.name.text == name; });
      });
}

/// The place of a new import: before the first one, or the top of the file.
SourceRange placeOfImport(const ast::File& file) {
  for (const ast::Declaration& declaration : file.declarations)
    if (std::holds_alternative<ast::Import>(declaration.node))
      return {file.source, declaration.range.begin, declaration.range.begin};
  return {file.source, 0, 0};
}

} // namespace

bool helpWithServingMixin(Evaluator& evaluator, diag::Builder& builder,
                          const std::string& path) {
  const SourceRange recipe = evaluator.recipeRange;
  if (!recipe.isValid() ||
      evaluator.sources.kind(recipe.source) != SourceKind::file ||
      !answersPrompts(taskOf(evaluator)))
    return false;
  const Module* module = evaluator.modules.find(recipe.source);
  for (const std::string& library : evaluator.loader.standardFiles()) {
    const ast::File* file = library.starts_with(servingFolder)
                                ? evaluator.loader.load(library).file
                                : nullptr;
    for (const ast::Declaration& declaration :
         file ? file->declarations : std::vector<ast::Declaration>()) {
      const auto* mixin = std::get_if<ast::MixinDecl>(&declaration.node);
      if (!mixin || !mixin->parameters.empty() ||
          !setsPath(*file, mixin->body, path))
        continue;
      const std::string& name = mixin->name.text;
      std::string import = library.substr(0, library.rfind('.'));
      std::replace(import.begin(), import.end(), '/', '.');
      import = "import " + import + " { " + name + " }";
      const bool isImported = module && importsName(*module->file, name);
      const std::string_view text = evaluator.sources.text(recipe.source);
      const size_t brace = text.find('{', recipe.end);
      if (brace == text.npos)
        return false;
      const std::string_view head = text.substr(recipe.end, brace - recipe.end);
      const size_t end =
          recipe.end + head.find_last_not_of(" \n") + 1; // npos + 1 is 0
      const std::string added =
          (head.find("with ") == head.npos ? " with " : ", ") + name;
      builder.help(
          "a recipe that answers prompts takes what only a training needs from "
          "a mixin: write `recipe " +
          std::string(evaluator.sources.text(recipe)) +
          std::string(text.substr(recipe.end, end - recipe.end)) + added +
          " { ... }`" + (isImported ? "" : ", with `" + import + "`"));
      builder.fixIt({recipe.source, uint32_t(end), uint32_t(end)}, added);
      if (!isImported && module)
        builder.fixIt(placeOfImport(*module->file), import + "\n");
      return true;
    }
  }
  return false;
}

} // namespace recipec::sema
