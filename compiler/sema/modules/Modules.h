// Files, the names that they declare, and the names that their imports bind.

#ifndef RECIPEC_SEMA_MODULES_MODULES_H
#define RECIPEC_SEMA_MODULES_MODULES_H

#include "compiler/diag/Diagnostic.h"
#include "compiler/sema/modules/Loader.h"
#include "compiler/sema/values/Value.h"

#include <map>
#include <string>
#include <utility>
#include <vector>

namespace recipec::sema {

class Evaluator;

class Modules {
public:
  Modules(Evaluator& evaluator, Loader& loader)
      : evaluator(evaluator), loader(loader) {}

  /// Opens the library and the file to compile; nullptr (reported) when the
  /// library is broken.
  Module* open(const ast::File& file);
  /// Loads a file by its path; nullptr when it does not exist or is broken.
  Module* load(const std::string& path);
  /// Adds a module for an override, whose expressions see the names of `base`.
  Module* addOverride(const ast::File& file, Module& base);

  const Value& entryValue(Module& module, ModuleEntry& entry);
  /// Evaluates all declarations of a file except recipes, so that mistakes in
  /// declarations that no recipe uses are found too.
  void checkDeclarations(Module& module);

  Module* ops() const { return opsModule; }
  Module* prelude() const { return preludeModule; }
  /// The name in the prelude for a declaration of a library file, if it is
  /// another one; empty otherwise.
  std::string_view aliasInPrelude(const Module& module,
                                  std::string_view name) const;
  /// The module of a source; nullptr for a command-line argument.
  Module* find(SourceId source) const;
  /// Whether an imported file has errors. Its parser has reported them.
  bool hasBrokenImport() const { return isImportBroken; }

  /// Whether the value of any name is under evaluation.
  bool isEvaluating() const { return !running.empty(); }
  /// Labels the last `most` names that are under evaluation.
  void labelChain(diag::Builder& builder, size_t most) const;
  /// The target of an import that has been loaded; null otherwise.
  const Value* targetOf(const ast::Import& import) const;

private:
  /// A file whose imports are being loaded, and the current import.
  struct Loading {
    const Module* module;
    const ast::Import* import;
  };

  // Modules.cpp
  bool loadLibrary();
  Module* load(const std::string& path, Loaded::State& state);
  Module* add(const ast::File& file, std::string path);
  void declare(Module& module, const ast::Declaration& declaration,
               const ast::Name& name, const ast::Selected* selected);
  Value evaluateEntry(Module& module, ModuleEntry& entry);

  // Imports.cpp
  void declareImport(Module& module, const ast::Declaration& declaration,
                     const ast::Import& import);
  void loadImports(Module& module);
  bool reportFormat(const ast::Import& import);
  void reportImportNotFound(Module& module, const ast::Import& import,
                            const std::vector<std::string>& tried);
  void reportImportCycle(const ast::Import& import, const Module& target);
  /// The imported file as a Module, or the value of a data file.
  const Value& importTarget(Module& module, const ast::Import& import);
  Value findImport(Module& module, const ast::Import& import);
  Value selectedValue(Module& module, const ast::Import& import,
                      const ast::Selected& selected);
  ModuleEntry* selectedEntry(Module& target, const ast::Selected& selected);

  Evaluator& evaluator;
  Loader& loader;
  std::map<std::string, Module*> byPath;
  Module* preludeModule = nullptr;
  Module* opsModule = nullptr;
  std::vector<Loading> loading; // to detect cycles
  std::map<const ast::Import*, Value> importTargets;
  std::vector<std::pair<Module*, ModuleEntry*>> running; // under evaluation
  bool isImportBroken = false;
};

} // namespace recipec::sema

#endif // RECIPEC_SEMA_MODULES_MODULES_H
