// A Loader for tests: the embedded library, and files from memory.

#ifndef RECIPEC_TEST_COMPILER_SEMA_LIBRARYLOADER_H
#define RECIPEC_TEST_COMPILER_SEMA_LIBRARYLOADER_H

#include "compiler/diag/Render.h"
#include "compiler/parse/Parse.h"
#include "compiler/sema/recipes/Analyze.h"
#include "stdlib/Files.h"

#include <deque>
#include <map>
#include <string>

namespace recipec::sema {

class LibraryLoader : public Loader {
public:
  LibraryLoader(SourceMap& sources, diag::Engine& engine)
      : sources(sources), engine(engine) {}

  /// Files that imports find, by path.
  std::map<std::string, std::string> files;

  const ast::File* parse(const std::string& path, const std::string& text,
                         SourceKind kind) {
    return &parsed.emplace_back(
        parse::parse(sources, sources.add(path, text, kind), engine));
  }

  Loaded load(const std::string& path) override {
    if (auto known = loaded.find(path); known != loaded.end())
      return known->second;
    return loaded[path] = read(path);
  }

  std::vector<std::string> standardFiles() const override {
    std::vector<std::string> paths;
    for (const stdlib::File& file : stdlib::files())
      paths.emplace_back(file.path);
    return paths;
  }

private:
  Loaded read(const std::string& path) {
    int before = engine.errors();
    const ast::File* file = nullptr;
    if (const stdlib::File* found = stdlib::find(path))
      file = parse(path, std::string(found->text), SourceKind::standardLibrary);
    else if (auto user = files.find(path); user != files.end())
      file = parse(path, user->second, SourceKind::file);
    if (!file)
      return {};
    if (engine.errors() > before)
      return {Loaded::State::broken, nullptr};
    return {Loaded::State::parsed, file};
  }

  SourceMap& sources;
  diag::Engine& engine;
  std::deque<ast::File> parsed;
  std::map<std::string, Loaded> loaded;
};

} // namespace recipec::sema

#endif // RECIPEC_TEST_COMPILER_SEMA_LIBRARYLOADER_H
