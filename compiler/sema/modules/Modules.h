// Files, the names that they declare, and what their imports bind.

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

  /// The library and the file that is compiled; none (reported) when the
  /// library is broken.
  Module* open(const ast::File& file);
  /// A file by its path; none where it is not there, or broken.
  Module* load(const std::string& path);
  /// Names that an override's expressions see: those of `base`.
  Module* addOverride(const ast::File& file, Module& base);

  const Value& entryValue(Module& module, ModuleEntry& entry);
  /// Evaluates what a file declares beside recipes, so that mistakes in what no
  /// recipe uses are found too.
  void checkDeclarations(Module& module);

  Module* ops() const { return opsModule; }
  Module* prelude() const { return preludeModule; }
  /// The module of a source; none for an argument of the command line.
  Module* find(SourceId source) const;
  /// An imported file has errors, which whoever parsed it has reported.
  bool hasBrokenImport() const { return isImportBroken; }

  /// Whether the value of a name is under evaluation.
  bool isEvaluating() const { return !running.empty(); }
  /// Labels the last names, up to `most`, that are under evaluation.
  void labelChain(diag::Builder& builder, size_t most) const;

private:
  /// A file whose imports are being loaded, and the one that is at present.
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
  std::vector<Loading> loading; // for cycles
  std::map<const ast::Import*, Value> importTargets;
  std::vector<std::pair<Module*, ModuleEntry*>> running; // under evaluation
  bool isImportBroken = false;
};

} // namespace recipec::sema

#endif // RECIPEC_SEMA_MODULES_MODULES_H
