// `recipec doc [FILE | NAME | models | variables]`: Markdown from `##`
// comments, of one file or, without an argument, of the whole standard library
// with an index.
//
// NAME is a name as recipes write it: a file of the library
// (`std.schema.batch`), a declaration (`lora`, `llama3_8b`, `attention`), a
// recipe's field (`parallel.tp`), or a function of the language (`sum`).
// `models` prints a table of the models, `variables` one of the environment.

#include "compiler/driver/Commands.h"
#include "compiler/driver/Documentation.h"
#include "compiler/driver/LibraryIndex.h"
#include "compiler/driver/ModelList.h"
#include "compiler/driver/Session.h"
#include "compiler/environment/Reference.h"
#include "compiler/sema/builtins/Builtins.h"

#include <filesystem>
#include <ostream>
#include <string>
#include <system_error>
#include <vector>

namespace recipec::driver {
namespace {

/// GitHub's anchor for the heading of a file.
std::string anchorOf(const std::string& path) {
  std::string anchor;
  for (char c : path)
    if (c != '/' && c != '.')
      anchor += c;
  return anchor;
}

/// Whether the argument is a path: it has a slash, ends in `.recipe`, or is a
/// file. `std.schema.recipe` is an import, and a folder is no file.
bool isPath(const std::string& argument) {
  std::error_code ignored;
  const bool isImport =
      argument.starts_with("std.") && argument.find('/') == std::string::npos;
  return std::filesystem::is_regular_file(argument, ignored) ||
         (!isImport && (argument.find('/') != std::string::npos ||
                        argument.ends_with(".recipe")));
}

/// The longest beginning or end of a name, cut at an underscore, that the
/// library has: `attention` for `flash_attention`. Empty if there is none.
std::string knownPartOf(const std::string& name, const LibraryIndex& index) {
  for (size_t at = name.find('_'); at != name.npos; at = name.find('_', at + 1))
    if (const std::string part = name.substr(at + 1); !index.find(part).empty())
      return part;
  for (size_t at = name.rfind('_'); at != name.npos && at > 0;
       at = name.rfind('_', at - 1))
    if (const std::string part = name.substr(0, at); !index.find(part).empty())
      return part;
  return {};
}

int unknownName(const std::string& name, const LibraryIndex& index,
                const Invocation& invocation) {
  invocation.err << "error: there is no file and no name `" << name << "`\n";
  // `optimizer.learning_rate`: a section, then another tool's name for a field
  const std::string last = name.substr(name.rfind('.') + 1);
  const std::string setting = last == name ? "" : index.settingOf(last);
  if (!setting.empty())
    invocation.err << "help: `" << last << "` is `" << setting << "`: write `"
                   << "recipec doc " << setting << "`\n";
  else if (auto settings = index.nearestSettings(last); !settings.empty())
    invocation.err << "help: " << listed(settings) << "\n";
  else if (const std::string part = knownPartOf(name, index); !part.empty())
    invocation.err << "help: did you mean `" << part << "`?\n";
  else if (auto near = index.suggest(name))
    invocation.err << "help: did you mean `" << *near << "`?\n";
  else
    invocation.err << "help: name a file, a model, an op, a field as "
                      "`parallel.tp`, or an import as `std.schema.batch`; "
                      "`recipec doc models` lists the models, `recipec doc "
                      "std/ops.recipe` the ops\n";
  return exitDiagnostics;
}

std::string subjectMarkdown(const Subject& subject, FileLoader& loader,
                            const SourceMap& sources) {
  const ast::File* file = loader.load(subject.path).file;
  if (!file)
    return "";
  if (subject.name.empty())
    return fileMarkdown(*file, sources, 1);
  if (subject.field.empty())
    return declarationMarkdown(*file, sources, subject.name);
  return fieldMarkdown(*file, sources, subject.name, subject.field);
}

/// The documentation of a built-in function; empty if there is none.
std::string builtinMarkdown(const std::string& name) {
  const sema::BuiltinFunction* function = sema::findBuiltin(name);
  if (!function)
    return "";
  return "# `" + sema::formOf(*function) + "`\n\n" +
         std::string(function->summary) + "\n";
}

/// Documents all subjects with this name. If there are several, each names its
/// file.
int documentName(const std::string& name, const Invocation& invocation) {
  SourceMap sources;
  diag::Engine engine;
  FileLoader loader(sources, engine);
  LibraryIndex index(loader);
  std::string text = builtinMarkdown(name);
  std::vector<Subject> found = index.find(name);
  for (const Subject& subject : found) {
    std::string part = subjectMarkdown(subject, loader, sources);
    if (!part.empty() && found.size() > 1)
      part += "\nDeclared in `" + subject.path + "`.\n";
    text += (text.empty() || part.empty() ? "" : "\n") + part;
  }
  if (text.empty())
    return unknownName(name, index, invocation);
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

int runDoc(const Invocation& invocation) {
  if (invocation.inputs.empty())
    return documentLibrary(invocation);
  const std::string& argument = invocation.inputs[0];
  if (argument == "models") {
    invocation.out << modelListMarkdown();
    return exitSuccess;
  }
  if (argument == "variables") {
    invocation.out << environment::variablesPage();
    return exitSuccess;
  }
  return isPath(argument) ? documentFile(argument, invocation)
                          : documentName(argument, invocation);
}

} // namespace

cli::Command docCommand(Invocation& invocation) {
  return {.name = "doc",
          .synopsis = "[FILE | NAME | models | variables]",
          .summary = "print documentation made from `##` comments",
          .details =
              "Prints Markdown: of FILE; of NAME, an op, a function, a model, "
              "a schema or a field as a recipe writes it (`attention`, `sum`, "
              "`llama3_8b`, `lora`, `parallel.tp`, `std.schema.batch`); a "
              "table of the `models`; a table of the environment `variables` "
              "of NCCL; or without an argument the whole standard library.",
          .operands = {0, 1, "", &invocation.inputs},
          .run = [&invocation] { return runDoc(invocation); }};
}

} // namespace recipec::driver
