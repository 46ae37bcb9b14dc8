// Reads and parses the files that a compilation needs.

#ifndef RECIPEC_DRIVER_LOADER_H
#define RECIPEC_DRIVER_LOADER_H

#include "compiler/diag/Diagnostic.h"
#include "compiler/sema/modules/Loader.h"

#include <map>
#include <memory>
#include <optional>
#include <string>

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
  /// The files of the user that have been opened.
  std::vector<std::string> openedFiles() const;

  /// Adds a file's text to the sources without parsing it; `state` is
  /// `notFound` or `broken` where there is none.
  SourceId addSource(const std::string& path, sema::Loaded::State& state);

  /// Begins with what another loader has parsed, so that many sessions of one
  /// process parse the standard library once. Both sources and loader are new.
  void adopt(const FileLoader& other);

  /// From now on the file at `path` has this text, whatever is on disk and has
  /// been parsed.
  void replaceText(const std::string& path, std::string text);

  /// From now on these texts, by path, are all the files there are: nothing is
  /// read from disk.
  void useTexts(std::map<std::string, std::string> files);

private:
  struct Entry {
    sema::Loaded::State state = sema::Loaded::State::notFound;
    std::shared_ptr<const ast::File> file;
  };
  Entry read(const std::string& path);
  std::string textOf(const std::string& path, sema::Loaded::State& state,
                     std::string& reason) const;

  SourceMap& sources;
  diag::Engine& engine;
  std::map<std::string, Entry> entries;
  std::optional<std::map<std::string, std::string>> texts;
  std::map<std::string, std::string> replaced;
};

} // namespace recipec::driver

#endif // RECIPEC_DRIVER_LOADER_H
