// One file a path, parsed once.

#include "compiler/driver/Loader.h"

#include "compiler/parse/Data.h"
#include "compiler/parse/Parse.h"
#include "stdlib/Files.h"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

namespace recipec::driver {
namespace {

using State = sema::Loaded::State;

constexpr std::string_view libraryPrefix = "std/";
// Far beyond any recipe; a device may never end.
constexpr size_t maxFileBytes = size_t(64) << 20;

/// The bytes of a file; on failure none, and `state` says whether it is there
/// and `reason` why it could not be read.
std::string readFile(const std::string& path, State& state,
                     std::string& reason) {
  std::error_code ignored;
  std::filesystem::file_status status = std::filesystem::status(path, ignored);
  state = State::broken;
  if (status.type() == std::filesystem::file_type::directory) {
    reason = "it is a folder";
    return {};
  }
  errno = 0;
  std::ifstream stream(path, std::ios::binary);
  if (!stream) {
    bool isThere = status.type() != std::filesystem::file_type::not_found;
    state = isThere ? State::broken : State::notFound;
    reason = std::strerror(errno);
    return {};
  }
  std::string text;
  char chunk[1 << 16];
  while (text.size() <= maxFileBytes &&
         (stream.read(chunk, sizeof chunk) || stream.gcount() > 0))
    text.append(chunk, size_t(stream.gcount()));
  if (stream.bad()) {
    reason = std::strerror(errno);
    return {};
  }
  if (text.size() > maxFileBytes) {
    reason = "it has more than " + std::to_string(maxFileBytes >> 20) + " MiB";
    return {};
  }
  state = State::parsed;
  return text;
}

/// A file of the library is one wherever it is opened from: it may declare ops.
SourceKind kindOf(const std::string& path, const std::string& text) {
  if (parse::isDataFile(path))
    return SourceKind::data;
  for (const stdlib::File& file : stdlib::files())
    if (file.text == text)
      return SourceKind::standardLibrary;
  return SourceKind::file;
}

} // namespace

SourceId FileLoader::addSource(const std::string& path, State& state) {
  if (path.starts_with(libraryPrefix)) {
    const stdlib::File* file = stdlib::find(path);
    state = file ? State::parsed : State::notFound;
    return file ? sources.add(path, std::string(file->text),
                              SourceKind::standardLibrary)
                : SourceId::none;
  }
  std::string reason;
  std::string text = textOf(path, state, reason);
  if (state == State::parsed) {
    SourceKind kind = kindOf(path, text);
    return sources.add(path, std::move(text), kind);
  }
  if (state == State::broken)
    engine.report(diag::Kind::FileNotReadable, {},
                  "`" + path + "` cannot be read: " + reason);
  return SourceId::none;
}

std::string FileLoader::textOf(const std::string& path, State& state,
                               std::string& reason) const {
  if (!texts)
    return readFile(path, state, reason);
  auto found = texts->find(path);
  state = found == texts->end() ? State::notFound : State::parsed;
  return found == texts->end() ? std::string() : found->second;
}

void FileLoader::adopt(const FileLoader& other) {
  sources.adopt(other.sources);
  entries = other.entries;
}

void FileLoader::useTexts(std::map<std::string, std::string> files) {
  texts = std::move(files);
}

FileLoader::Entry FileLoader::read(const std::string& path) {
  Entry entry;
  SourceId source = addSource(path, entry.state);
  if (source == SourceId::none)
    return entry;
  int errors = engine.errors();
  bool isData = sources.kind(source) == SourceKind::data;
  entry.file = std::make_shared<ast::File>(
      isData ? parse::parseData(sources, source, engine)
             : parse::parse(sources, source, engine));
  if (engine.errors() > errors)
    entry.state = State::broken;
  return entry;
}

sema::Loaded FileLoader::load(const std::string& path) {
  auto found = entries.find(path);
  if (found == entries.end())
    found = entries.emplace(path, read(path)).first;
  const Entry& entry = found->second;
  bool isParsed = entry.state == State::parsed;
  return {entry.state, isParsed ? entry.file.get() : nullptr};
}

std::vector<std::string> FileLoader::standardFiles() const {
  std::vector<std::string> paths;
  for (const stdlib::File& file : stdlib::files())
    paths.emplace_back(file.path);
  return paths;
}

} // namespace recipec::driver
