// Reads and parses the files that a compilation needs.

#ifndef RECIPEC_DRIVER_LOADER_H
#define RECIPEC_DRIVER_LOADER_H

#include "compiler/diag/Diagnostic.h"
#include "compiler/sema/Loader.h"

#include <map>
#include <memory>

namespace recipec::driver {

/// Paths under `std/` are the standard library that recipec carries; all others
/// are files. Syntax errors, and files that are there and cannot be read, are
/// reported to the engine on the first load.
class FileLoader : public sema::Loader {
public:
  FileLoader(SourceMap& sources, diag::Engine& engine)
      : sources(sources), engine(engine) {}

  sema::Loaded load(const std::string& path) override;
  std::vector<std::string> standardFiles() const override;

  /// Adds a file's text to the sources without parsing it; `state` is
  /// `notFound` or `broken` where there is none.
  SourceId addSource(const std::string& path, sema::Loaded::State& state);

private:
  struct Entry {
    sema::Loaded::State state = sema::Loaded::State::notFound;
    std::unique_ptr<ast::File> file;
  };
  Entry read(const std::string& path);

  SourceMap& sources;
  diag::Engine& engine;
  std::map<std::string, Entry> entries;
};

} // namespace recipec::driver

#endif // RECIPEC_DRIVER_LOADER_H
