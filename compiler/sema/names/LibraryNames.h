// LibraryNames: the library's declarations by the names that users and other
// tools give them.

#ifndef RECIPEC_SEMA_NAMES_LIBRARYNAMES_H
#define RECIPEC_SEMA_NAMES_LIBRARYNAMES_H

#include "compiler/diag/Diagnostic.h"
#include "compiler/sema/values/Value.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace recipec::sema {

class Evaluator;

struct Suggestion;

/// A declaration of the prelude for which other tools have another name.
struct KnownDeclaration {
  std::string name;
  std::string values; // how to write the other tool's values here; may be empty
};

/// A declaration of the standard library by the name that an expression has to
/// use, `llama.llama3_8b`, and the import that this name needs.
struct LibraryName {
  std::string text;
  std::string import;               // empty: the file already has it
  std::optional<diag::FixIt> added; // the edit that adds the import
};

class LibraryNames {
public:
  explicit LibraryNames(Evaluator& evaluator) : evaluator(evaluator) {}

  /// Finds a declaration of the library by its name or by a similar spelling,
  /// such as `Meta-Llama-3-8B`. `isModel` searches only models.
  std::optional<LibraryName> find(std::string_view name, const Module& module,
                                  bool isModel);
  /// Finds the declaration of the prelude that other tools call `name`.
  std::optional<KnownDeclaration> knownAs(std::string_view name);
  /// The name that the module's file gives to a file it imports as a whole;
  /// empty when the file does not import it.
  std::string aliasOf(const std::string& import, const Module& module) const;
  /// The names in the prelude whose values are records of the schema: devices.
  std::vector<std::string> recordsOf(const Schema& schema);
  /// Helps with a name that is no misspelling of a record of the type.
  bool helpWithRecord(diag::Builder& builder, const ast::Name& name,
                      const Type& type);
  std::optional<Suggestion> modelNamed(const Value& value, const Type& type,
                                       SourceRange range);

private:
  Evaluator& evaluator;
};

} // namespace recipec::sema

#endif // RECIPEC_SEMA_NAMES_LIBRARYNAMES_H
