// Parses each file once, by path.

#include "compiler/driver/Loader.h"

#include "compiler/driver/InputFile.h"
#include "compiler/parse/Data.h"
#include "compiler/parse/Parse.h"
#include "stdlib/Files.h"

#include <filesystem>

namespace recipec::driver {
namespace {

using State = sema::Loaded::State;

constexpr std::string_view libraryPrefix = "std/";
/// The text of a file. On failure it is empty, `state` says whether the file
/// exists, and `reason` says why it could not be read.
std::string readFile(const std::string& path, State& state,
                     std::string& reason) {
  size_t most = parse::isDataFile(path) ? parse::maxDataFile : parse::maxText;
  InputText input = readInput(path, most);
  state = input.text        ? State::parsed
          : input.isMissing ? State::notFound
                            : State::broken;
  reason = std::move(input.reason);
  return std::move(input.text).value_or("");
}

/// A file with the text of a library file counts as one whatever its path is,
/// so that it may declare ops.
SourceKind kindOf(const std::string& path, const std::string& text) {
  if (parse::isDataFile(path))
    return SourceKind::data;
  for (const stdlib::File& file : stdlib::files())
    if (file.text == text)
      return SourceKind::standardLibrary;
  return SourceKind::file;
}

/// The first recipe file in a folder, by name; empty if there is none or `path`
/// is not a folder.
std::string recipeIn(const std::string& path) {
  std::string first;
  std::error_code failure;
  for (const auto& entry : std::filesystem::directory_iterator(path, failure))
    if (std::string name = entry.path().string();
        name.ends_with(".recipe") && (first.empty() || name < first))
      first = std::move(name);
  return first;
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
  if (state == State::broken) {
    auto report = engine.report(diag::Kind::FileNotReadable, {},
                                "`" + path + "` cannot be read: " + reason);
    if (std::string recipe = recipeIn(path); !recipe.empty())
      report.help("name a recipe in it, such as `" + recipe + "`");
  }
  return SourceId::none;
}

std::string FileLoader::textOf(const std::string& path, State& state,
                               std::string& reason) const {
  if (auto found = replaced.find(path); found != replaced.end()) {
    state = State::parsed;
    return found->second;
  }
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

void FileLoader::replaceText(const std::string& path, std::string text) {
  entries.erase(path);
  replaced[path] = std::move(text);
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

std::vector<std::string> FileLoader::openedFiles() const {
  std::vector<std::string> paths;
  for (const auto& [path, entry] : entries)
    if (!path.starts_with(libraryPrefix))
      paths.push_back(path);
  return paths;
}

std::vector<std::string> FileLoader::standardFiles() const {
  std::vector<std::string> paths;
  for (const stdlib::File& file : stdlib::files())
    paths.emplace_back(file.path);
  return paths;
}

} // namespace recipec::driver
