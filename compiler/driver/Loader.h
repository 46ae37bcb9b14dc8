// Reads and parses the files of a compilation.

#ifndef RECIPEC_DRIVER_LOADER_H
#define RECIPEC_DRIVER_LOADER_H

#include "compiler/diag/Diagnostic.h"
#include "compiler/sema/modules/Loader.h"

#include <map>
#include <memory>
#include <optional>
#include <string>

namespace recipec::driver {

/// Paths below `std/` name the standard library, which is part of recipec; all
/// others are files. The first load of a file reports its syntax errors, or the
/// reason why an existing file cannot be read.
class FileLoader : public sema::Loader {
public:
  FileLoader(SourceMap& sources, diag::Engine& engine)
      : sources(sources), engine(engine) {}

  sema::Loaded load(const std::string& path) override;
  std::vector<std::string> standardFiles() const override;
  /// The text of a range of a file that was loaded.
  std::string_view textAt(SourceRange range) const {
    return sources.text(range);
  }
  /// The user's files that have been opened.
  std::vector<std::string> openedFiles() const;

  /// Adds a file's text to the sources without parsing it. Without a text, sets
  /// `state` to `notFound` or `broken`.
  SourceId addSource(const std::string& path, sema::Loaded::State& state);

  /// Takes over the files that another loader has parsed, so that a process
  /// parses the standard library once. The sources and this loader must be
  /// empty.
  void adopt(const FileLoader& other);

  /// Replaces the text of the file at `path`, on disk and parsed, from now on.
  void replaceText(const std::string& path, std::string text);

  /// Makes these texts, by path, the only files from now on. Nothing is read
  /// from disk.
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
