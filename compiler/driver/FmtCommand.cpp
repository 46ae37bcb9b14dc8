// `recipec fmt [--check] FILE...`: formats recipes.
//
//   1. Read and parse each file. A file with syntax errors is not changed.
//   2. Format it. With `--check`, print its name if that would change it.
//   3. Otherwise write the text to a temporary file and rename it over the
//      original, so that the file is never incomplete. `-` reads standard input
//      and prints.

#include "compiler/driver/Commands.h"

#include "compiler/diag/Render.h"
#include "compiler/driver/InputFile.h"
#include "compiler/driver/OutputFile.h"
#include "compiler/driver/Terminal.h"
#include "compiler/format/Format.h"
#include "compiler/parse/Parse.h"
#include "runtime/cli/Options.h"

#include <algorithm>
#include <optional>
#include <ostream>

namespace recipec::driver {

namespace {

/// The bytes of a file. Returns nullopt, with a message, if it cannot be read.
std::optional<std::string> textOf(const std::string& path, std::ostream& err) {
  InputText input = readInput(path, parse::maxText, path == "-");
  if (!input.text)
    err << "error: cannot read `" << path << "`: " << input.reason << '\n';
  if (const size_t end = path.rfind(".recipe:");
      !input.text && end != path.npos)
    err << "help: `fmt` formats whole files: write `" << path.substr(0, end)
        << ".recipe`\n";
  else if (!input.text)
    err << "help: name a recipe's file that is there, or `-` for standard "
           "input\n";
  return std::move(input.text);
}

/// Formats one file and returns the exit code.
int formatFile(const std::string& path, const Invocation& invocation) {
  std::optional<std::string> text = textOf(path, invocation.err);
  if (!text)
    return exitDiagnostics;
  SourceMap sources;
  diag::Engine engine;
  std::string name = path == "-" ? "<stdin>" : path;
  // Treat it as a library file, so that it may declare ops.
  SourceId source = sources.add(name, *text, SourceKind::standardLibrary);
  ast::File file = parse::parse(sources, source, engine);
  if (engine.hasErrors()) {
    invocation.err << diag::render(engine, sources, renderOptions(invocation));
    return exitDiagnostics;
  }
  std::string formatted = format::format(file, sources);
  if (invocation.checkOnly) {
    if (formatted == *text)
      return exitSuccess;
    invocation.out << name << '\n';
    return exitDiagnostics;
  }
  if (path == "-") {
    invocation.out << formatted;
    return exitSuccess;
  }
  if (formatted == *text || writeOutput(path, formatted, invocation.err))
    return exitSuccess;
  return exitDiagnostics;
}

int runFmt(const Invocation& invocation) {
  int result = exitSuccess;
  for (const std::string& path : invocation.inputs)
    result = std::max(result, formatFile(path, invocation));
  return result;
}

} // namespace

cli::Command fmtCommand(Invocation& invocation) {
  return {
      .name = "fmt",
      .synopsis = "FILE... [options]",
      .summary = "format recipes in the one style",
      .details = "Rewrites each file in the one style. `-` formats standard "
                 "input to standard output.",
      .options = {cli::flag("--check",
                            "change nothing; exit 1 where a file would "
                            "change",
                            invocation.checkOnly),
                  maxErrorsOption(invocation)},
      .operands = {1, cli::Operands::anyNumber, "a file", &invocation.inputs},
      .run = [&invocation] { return runFmt(invocation); }};
}

} // namespace recipec::driver
