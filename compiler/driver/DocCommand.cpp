// `recipec doc [FILE]`: Markdown from `##` comments, of one file or, without
// FILE, of the whole standard library with an index.

#include "compiler/driver/Documentation.h"
#include "compiler/driver/Driver.h"
#include "compiler/driver/Session.h"

#include <ostream>

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
  return documentFile(invocation.inputs[0], invocation);
}

} // namespace recipec::driver
