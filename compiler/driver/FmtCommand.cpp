// `recipec fmt [--check] FILE...`: the one style.
//
//   1. Read and parse each file; one with syntax errors is left alone.
//   2. Format it. With `--check`, name it where that changes it.
//   3. Otherwise write the text beside the file and rename it over, so that the
//      file is whole at any time. `-` reads standard input and prints.

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

/// The file's bytes; nothing, and a message, where it cannot be read.
std::optional<std::string> textOf(const std::string& path, std::ostream& err) {
  InputText input = readInput(path, parse::maxText, path == "-");
  if (!input.text)
    err << "error: cannot read `" << path << "`: " << input.reason << '\n';
  return std::move(input.text);
}

/// Formats one file; gives its exit code.
int formatFile(const std::string& path, const Invocation& invocation) {
  std::optional<std::string> text = textOf(path, invocation.err);
  if (!text)
    return exitDiagnostics;
  SourceMap sources;
  diag::Engine engine;
  std::string name = path == "-" ? "<stdin>" : path;
  // Where a file may declare ops is not a question of style.
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
