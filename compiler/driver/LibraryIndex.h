// What the standard library has under a name.

#ifndef RECIPEC_DRIVER_LIBRARYINDEX_H
#define RECIPEC_DRIVER_LIBRARYINDEX_H

#include "compiler/driver/Loader.h"

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace recipec::driver {

/// A file of the library, what one declares, or a field of that.
struct Subject {
  std::string path;
  std::string name;  // empty: the whole file
  std::string field; // of the schema `name`; empty: all of it

  bool operator==(const Subject&) const = default;
};

/// Finds what a user may mean: names of the prelude and of every file's
/// declarations, imports (`std.schema.batch`), paths of a recipe's fields
/// (`parallel.tp`), and what other tools call these.
class LibraryIndex {
public:
  explicit LibraryIndex(FileLoader& loader);

  /// All that have the name, what the prelude means by it first.
  std::vector<Subject> find(const std::string& name) const;
  /// The path of the recipe's field that has the name, here or in another tool;
  /// empty where none has.
  std::string settingOf(const std::string& name) const;
  /// The name that was most likely meant.
  std::optional<std::string> suggest(const std::string& name) const;

private:
  using Field = std::pair<std::string, Subject>; // by its path in a recipe

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
