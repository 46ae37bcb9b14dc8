// `recipec doc [FILE | NAME]`: Markdown from `##` comments, of one file or,
// without an argument, of the whole standard library with an index.
//
// NAME is as recipes write it: of a file of the library (`std.schema.batch`),
// of what that declares (`std.adapters.lora`), or of the prelude (`lora`).

#include "compiler/driver/Documentation.h"
#include "compiler/driver/Driver.h"
#include "compiler/driver/Session.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>
#include <ostream>
#include <system_error>

namespace recipec::driver {
namespace {

/// The anchor that GitHub gives the heading of a file.
std::string anchorOf(const std::string& path) {
  std::string anchor;
  for (char c : path)
    if (c != '/' && c != '.')
      anchor += c;
  return anchor;
}

constexpr const char* preludePath = "std/prelude.recipe";

/// What an argument names: a file, or one declaration of it.
struct Subject {
  std::string path;
  std::string name; // empty: the whole file
};

/// The file of the library that `std.schema.batch` imports; empty for none.
std::string libraryFile(std::string_view dotted, const FileLoader& loader) {
  std::string path(dotted);
  std::replace(path.begin(), path.end(), '.', '/');
  std::string last = path.substr(path.rfind('/') + 1);
  for (const std::string& file : loader.standardFiles())
    if (file == path + ".recipe" || file == path + "/" + last + ".recipe")
      return file;
  return "";
}

std::optional<Subject> libraryName(std::string_view dotted,
                                   const FileLoader& loader) {
  if (std::string file = libraryFile(dotted, loader); !file.empty())
    return Subject{std::move(file), ""};
  size_t dot = dotted.rfind('.');
  std::string file = libraryFile(dotted.substr(0, dot), loader);
  if (file.empty())
    return std::nullopt;
  return Subject{std::move(file), std::string(dotted.substr(dot + 1))};
}

/// All that the prelude binds, by name.
std::map<std::string, Subject> preludeNames(FileLoader& loader) {
  std::map<std::string, Subject> names;
  const ast::File* prelude = loader.load(preludePath).file;
  if (!prelude)
    return names;
  for (const ast::Declaration& declaration : prelude->declarations) {
    auto* import = std::get_if<ast::Import>(&declaration.node);
    if (!import || !import->selection)
      continue;
    std::string dotted;
    for (const ast::Name& part : import->path)
      dotted += (dotted.empty() ? "" : ".") + part.text;
    std::string file = libraryFile(dotted, loader);
    for (const ast::Selected& each : *import->selection)
      names[each.alias ? each.alias->text : each.name.text] = {file,
                                                               each.name.text};
  }
  return names;
}

/// A file is one under any name.
bool isPath(const std::string& argument) {
  std::error_code ignored;
  return argument.find('/') != std::string::npos ||
         argument.ends_with(".recipe") ||
         std::filesystem::exists(argument, ignored);
}

int unknownName(const std::string& name,
                const std::map<std::string, Subject>& known,
                const Invocation& invocation) {
  std::vector<std::string> names;
  for (const auto& [each, subject] : known)
    names.push_back(each);
  invocation.err << "error: there is no file and no name `" << name << "`\n";
  if (auto near = diag::didYouMean(name, names))
    invocation.err << "help: did you mean `" << *near << "`?\n";
  else
    invocation.err << "help: name a file, an import as `std.schema.batch`, or "
                      "a name of `"
                   << preludePath << "`\n";
  return exitDiagnostics;
}

int documentName(const std::string& name, const Invocation& invocation) {
  SourceMap sources;
  diag::Engine engine;
  FileLoader loader(sources, engine);
  std::map<std::string, Subject> known = preludeNames(loader);
  std::optional<Subject> subject;
  if (auto found = known.find(name); found != known.end())
    subject = found->second;
  else if (name.starts_with("std."))
    subject = libraryName(name, loader);
  const ast::File* file = subject ? loader.load(subject->path).file : nullptr;
  std::string text;
  if (file)
    text = subject->name.empty()
               ? fileMarkdown(*file, sources, 1)
               : declarationMarkdown(*file, sources, subject->name);
  if (text.empty())
    return unknownName(name, known, invocation);
  invocation.out << text;
  return exitSuccess;
}

int documentFile(const std::string& path, const Invocation& invocation) {
  Session session(path);
  if (!session.target.recipe.empty())
    session.engine
        .report(diag::Kind::FileNotReadable, {},
                "there is no file `" + path + "`")
        .help("`recipec doc` takes a file, without the name of a recipe");
  else if (session.open({}))
    invocation.out << fileMarkdown(*session.file, session.sources, 1);
  return finish(session, invocation);
}

int documentLibrary(const Invocation& invocation) {
  SourceMap sources;
  diag::Engine engine;
  FileLoader loader(sources, engine);
  std::string index, sections;
  for (const std::string& path : loader.standardFiles()) {
    const ast::File* file = loader.load(path).file;
    if (!file)
      continue;
    index += "- [`" + path + "`](#" + anchorOf(path) +
             "): " + fileSummary(*file) + "\n";
    sections += "\n" + fileMarkdown(*file, sources, 2);
  }
  invocation.out << "# The standard library\n\n" << index << sections;
  return exitSuccess;
}

} // namespace

int runDoc(const Invocation& invocation) {
  if (invocation.inputs.empty())
    return documentLibrary(invocation);
  const std::string& argument = invocation.inputs[0];
  return isPath(argument) ? documentFile(argument, invocation)
                          : documentName(argument, invocation);
}

} // namespace recipec::driver
