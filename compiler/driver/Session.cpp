// Opens what the command line names.

#include "compiler/driver/Session.h"

#include "compiler/diag/Render.h"
#include "compiler/driver/Terminal.h"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <ostream>

namespace recipec::driver {
namespace {

using State = sema::Loaded::State;

bool isIdentifier(std::string_view text) {
  auto isPart = [](unsigned char c) { return std::isalnum(c) || c == '_'; };
  return !text.empty() && !std::isdigit(static_cast<unsigned char>(text[0])) &&
         std::all_of(text.begin(), text.end(), isPart);
}

} // namespace

Target parseTarget(const std::string& argument) {
  size_t colon = argument.rfind(':');
  std::error_code ignored;
  if (colon == std::string::npos || colon == 0 ||
      !isIdentifier(std::string_view(argument).substr(colon + 1)) ||
      std::filesystem::exists(argument, ignored))
    return {argument, ""};
  return {argument.substr(0, colon), argument.substr(colon + 1)};
}

bool Session::open(const std::vector<std::string>& sets) {
  sema::Loaded loaded = loader.load(target.file);
  if (loaded.state == State::notFound) {
    auto builder = engine.report(diag::Kind::FileNotReadable, {},
                                 "there is no file `" + target.file + "`");
    if (target.file.starts_with("std/"))
      if (auto near = diag::didYouMean(target.file, loader.standardFiles()))
        builder.help("did you mean `" + *near + "`?");
  }
  file = loaded.file;
  bool areSound = true;
  for (const std::string& set : sets)
    areSound &= addOverride(overrides, set, "--set");
  return file && areSound;
}

bool Session::addOverride(std::vector<sema::Override>& list,
                          const std::string& text, const std::string& origin) {
  SourceId source = sources.add(origin, text, SourceKind::commandLine);
  std::optional<parse::Override> made =
      parse::parseOverride(sources, source, engine);
  if (!made)
    return false;
  parsed.push_back(std::move(*made));
  const parse::Override& kept = parsed.back();
  list.push_back({&kept.file, kept.path, kept.value});
  return true;
}

int finish(Session& session, const Invocation& invocation) {
  if (session.engine.all().empty())
    return exitSuccess;
  session.engine.arrange();
  invocation.err << diag::render(session.engine, session.sources,
                                 renderOptions(invocation.err));
  return session.engine.hasErrors() ? exitDiagnostics : exitSuccess;
}

} // namespace recipec::driver
