// An index of the names in the standard library.

#ifndef RECIPEC_DRIVER_LIBRARYINDEX_H
#define RECIPEC_DRIVER_LIBRARYINDEX_H

#include "compiler/driver/Loader.h"

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace recipec::driver {

/// A file of the library, a declaration in it, or a field of the declaration.
struct Subject {
  std::string path;
  std::string name;  // empty: the whole file
  std::string field; // of the schema `name`; empty: the whole schema

  bool operator==(const Subject&) const = default;
};

/// The field of a recipe for a name of another program.
struct Setting {
  std::string path;       // `parallel.tp`
  std::string value;      // `VALUE` if no value is known
  std::string derivation; // the expression of a derived field; else empty
};

/// A field of a recipe by its path, and the first sentence of its comment.
struct DescribedSetting {
  std::string path;
  std::string summary; // may be empty
};

/// "the nearest setting by its description is `batch.micro`: ...", for one or
/// two settings.
std::string listed(const std::vector<DescribedSetting>& settings);

/// Finds the meanings of a name: names of the prelude and of every file's
/// declarations, imports (`std.schema.batch`), paths of a recipe's fields
/// (`parallel.tp`), and the names of fields in other tools.
class LibraryIndex {
public:
  explicit LibraryIndex(FileLoader& loader);

  /// All subjects with this name, the prelude's first.
  std::vector<Subject> find(const std::string& name) const;
  /// The path of the recipe field that has this name here or in another tool;
  /// empty if there is none.
  std::string settingOf(const std::string& name) const;
  /// Whether the recipe's field at this path takes lists.
  bool takesLists(const std::string& path) const;
  /// That field, with its value as `--set` takes it. `value` is the value on
  /// another program's command line: a string without quotation marks, or a
  /// value of other tools that the field's comment lists. It may be empty.
  /// Returns nullopt if there is no such field.
  std::optional<Setting> settingFor(const std::string& name,
                                    const std::string& value) const;
  /// The one or two recipe fields whose names and comments best match the words
  /// of a name; none if no field is clearly nearer than the rest.
  std::vector<DescribedSetting> nearestSettings(const std::string& name) const;
  /// The name that the user most likely meant.
  std::optional<std::string> suggest(const std::string& name) const;

private:
  using Field = std::pair<std::string, Subject>; // by its path in a recipe

  std::string valueOf(const ast::Item& field, const ast::File& file,
                      const std::string& name, const std::string& value) const;
  const ast::Item* itemOf(const Subject& field) const;
  bool isSection(const std::string& path) const;
  const ast::File* fileOf(const std::string& path) const;
  std::string importedFile(std::string_view dotted) const;
  void addPrelude();
  void addDeclarations(const std::string& path);
  void addFields(const std::string& prefix, const Subject& schema);
  std::vector<Subject> schemasOf(const ast::File& file, ast::TypeId type) const;
  void addFieldsCalled(const std::string& name,
                       std::vector<Subject>& found) const;

  FileLoader& loader;
  std::map<std::string, Subject> prelude;
  std::multimap<std::string, Subject> declarations;
  std::vector<Field> fields;
  std::multimap<std::string, Subject> otherNames; // of fields, in other tools
};

} // namespace recipec::driver

#endif // RECIPEC_DRIVER_LIBRARYINDEX_H
