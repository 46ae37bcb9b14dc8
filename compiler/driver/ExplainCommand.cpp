// `recipec explain KIND`: the long text of a diagnostic.
// `recipec explain VARIABLE`: an environment variable of NCCL.
// `recipec explain FILE[:NAME] PATH`: a value and its origin.

#include "compiler/driver/Commands.h"

#include "compiler/base/Text.h"
#include "compiler/diag/Diagnostic.h"
#include "compiler/driver/Provenance.h"
#include "compiler/driver/Session.h"
#include "compiler/environment/Reference.h"
#include "runtime/cli/Options.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <ostream>

namespace recipec::driver {
namespace {

// ---- the path

bool isNamePart(unsigned char c) {
  return std::isalnum(c) || c == '_';
}

/// Reads `data.train`, `optimizer.betas[0]` or `labels["a b"]`.
class PathReader {
public:
  PathReader(SourceId source, std::string_view text, diag::Engine& engine)
      : source(source), text(text), engine(engine) {}

  std::optional<std::vector<sema::PathStep>> run() {
    std::vector<sema::PathStep> steps;
    do {
      bool isFirst = steps.empty();
      bool isIndex = !isFirst && next() == '[';
      if (!isFirst && !isIndex && !take('.'))
        return fail();
      if (!(isIndex ? readIndex(steps) : readName(steps)))
        return fail();
    } while (at < text.size());
    return steps;
  }

private:
  char next() const { return at < text.size() ? text[at] : '\0'; }
  bool take(char expected) {
    bool isThere = next() == expected;
    at += isThere;
    return isThere;
  }
  SourceRange from(size_t begin) const {
    return {source, uint32_t(begin), uint32_t(at)};
  }

  bool readName(std::vector<sema::PathStep>& steps) {
    size_t begin = at;
    while (at < text.size() && isNamePart(static_cast<unsigned char>(text[at])))
      ++at;
    steps.push_back({std::string(text.substr(begin, at - begin)), from(begin)});
    return at > begin;
  }

  bool readIndex(std::vector<sema::PathStep>& steps) {
    size_t begin = at++;
    if (take('"')) {
      size_t end = text.find("\"]", at);
      if (end == std::string_view::npos)
        return false;
      std::string key(text.substr(at, end - at));
      at = end + 2;
      steps.push_back({std::move(key), from(begin)});
      return true;
    }
    int64_t index = 0;
    const char* last = text.data() + text.size();
    auto [end, error] = std::from_chars(text.data() + at, last, index);
    if (error != std::errc() || end == last || *end != ']')
      return false;
    at = size_t(end - text.data()) + 1;
    steps.push_back({index, from(begin)});
    return true;
  }

  std::nullopt_t fail() {
    size_t end = std::min(at + 1, text.size());
    engine
        .report(diag::Kind::ExpectedName,
                {source, uint32_t(std::min(at, end)), uint32_t(end)},
                "a path is names joined by `.`")
        .help("write `parallel.tp`, or `optimizer.betas[0]` for an element of "
              "a list");
    return std::nullopt;
  }

  SourceId source;
  std::string_view text;
  diag::Engine& engine;
  size_t at = 0;
};

// ---- explaining

/// The recipe to explain if it is abstract: either named, or the only one in
/// the file. An abstract recipe can be explained but not launched.
const ast::RecipeDecl* abstractRecipe(const Session& session) {
  std::vector<std::string> names = sema::recipeNames(*session.file);
  std::string name = session.target.recipe;
  if (name.empty() && names.size() == 1)
    name = names[0];
  const ast::RecipeDecl* recipe = sema::findRecipe(*session.file, name);
  return recipe && recipe->isAbstract ? recipe : nullptr;
}

/// Selects the recipe, without its sweep unless a point is named.
bool choose(Session& session, const Invocation& invocation) {
  if (const ast::RecipeDecl* recipe = abstractRecipe(session)) {
    session.selected = {recipe->name.text, std::nullopt, recipe->name.text};
    return true;
  }
  auto selection = session.select(sema::Extent::recipe);
  if (!selection || selection->empty())
    return false;
  session.selected = selection->front();
  if (selection->size() == 1 || !session.target.point.empty())
    return true;
  if (!session.selected.point) {
    invocation.err << "note: this is the first of " << selection->size()
                   << " layouts, `" << session.selected.name << "`\n";
    return true;
  }
  session.selected.point.reset();
  session.selected.layout.reset();
  invocation.err << "note: this is the recipe without its sweep of "
                 << selection->size() << " points; name one of them, say `"
                 << session.target.file << ":" << selection->front().name
                 << "`\n";
  return true;
}

std::optional<sema::Explanation> explainPath(Session& session,
                                             const Invocation& invocation) {
  const std::string& path = invocation.inputs[1];
  if (!session.open(invocation.sets))
    return std::nullopt;
  SourceId source = session.sources.add(
      "recipec explain " + invocation.inputs[0], path, SourceKind::commandLine);
  auto steps = PathReader(source, path, session.engine).run();
  if (!steps || !choose(session, invocation))
    return std::nullopt;
  sema::Request request;
  request.file = session.file;
  request.recipe = session.selected.recipe;
  request.point = session.selected.point;
  request.layout = session.selected.layout;
  request.overrides = session.overrides;
  return sema::explain(session.sources, request, *steps, session.loader,
                       session.engine);
}

int runExplainPath(const Invocation& invocation) {
  Session session(invocation.inputs[0]);
  if (auto explanation = explainPath(session, invocation))
    invocation.out << (invocation.json
                           ? provenanceJson(*explanation, session.sources)
                           : provenanceText(*explanation, session.sources));
  return finish(session, invocation);
}

int runExplainKind(const Invocation& invocation) {
  const std::string& name = invocation.inputs[0];
  if (auto kind = diag::findKind(name)) {
    invocation.out << diag::kindName(*kind) << "\n\n"
                   << diag::explanation(*kind) << '\n';
    return exitSuccess;
  }
  if (auto text = environment::variableText(name)) {
    invocation.out << *text;
    return exitSuccess;
  }
  invocation.err << "error: there is no kind of diagnostic `" << name << "`\n";
  constexpr size_t mostNamed = 5;
  const std::vector<std::string> near = diag::nearKinds(name);
  const std::string list = "`recipec explain --list` lists the kinds";
  if (auto meant = diag::didYouMean(name, diag::kindNames()))
    invocation.err << "help: did you mean `" << *meant << "`?\n";
  else if (near.size() == 1)
    invocation.err << "help: did you mean `" << near[0] << "`? " << list
                   << "\n";
  else if (!near.empty())
    invocation.err << "help: near ones are "
                   << diag::quotedList(near, mostNamed) << "; " << list << "\n";
  else
    invocation.err << "help: a message prints its kind in brackets, as in "
                      "`[UnknownKey]`; "
                   << list << "\n";
  return exitDiagnostics;
}

/// Prints each kind with the first sentence of its explanation.
int listKinds(const Invocation& invocation) {
  const std::vector<std::string> names = diag::kindNames();
  size_t width = 0;
  for (const std::string& name : names)
    width = std::max(width, name.size());
  for (const std::string& name : names) {
    const std::string text =
        onOneLine(diag::explanation(*diag::findKind(name)));
    const size_t end = std::min(text.find(". "), text.find(": "));
    invocation.out << name << std::string(width + 2 - name.size(), ' ')
                   << text.substr(0, end) << '\n';
  }
  return exitSuccess;
}

/// Checks that `explain KIND` has no path and no options for files.
cli::Check checkKind(const Invocation& invocation) {
  if (invocation.listsKinds && !invocation.inputs.empty())
    return cli::UsageError{"`--list` lists all kinds, and `" +
                               invocation.inputs[0] + "` is named",
                           "leave one of them out"};
  if (!invocation.listsKinds && invocation.inputs.empty())
    return cli::UsageError{
        "`recipec explain` needs a kind, or a file and a path",
        "usage: recipec explain KIND | VARIABLE | FILE[:NAME] PATH "
        "[options]"};
  if (invocation.inputs.size() != 1)
    return std::nullopt;
  const std::string& name = invocation.inputs[0];
  if (invocation.json || !invocation.sets.empty())
    return cli::UsageError{"`--" +
                               std::string(invocation.json ? "json" : "set") +
                               "` goes with a file and a path",
                           "write `recipec explain FILE PATH`"};
  std::error_code ignored;
  const bool isPath = name.find_first_of("/:") == std::string::npos &&
                      name.find('.') != std::string::npos &&
                      name.find(".recipe") == std::string::npos &&
                      !std::filesystem::exists(name, ignored);
  if (isPath)
    return cli::UsageError{"no file is named, whose `" + name +
                               "` is to be explained",
                           "write `recipec explain FILE " + name + "`"};
  if (name.find_first_of("./:") != std::string::npos)
    return cli::UsageError{"no value of `" + name + "` is named",
                           "which value? `recipec explain " + name +
                               " PATH`, say `parallel.tp` as PATH"};
  return std::nullopt;
}

} // namespace

cli::Command explainCommand(Invocation& invocation) {
  return {
      .name = "explain",
      .synopsis = "KIND | VARIABLE | FILE[:NAME] PATH [options]",
      .summary = "explain a diagnostic, or where a value came from",
      .details =
          "Explains the diagnostic that prints KIND in brackets; or the "
          "environment variable VARIABLE of NCCL; or says of the value at "
          "PATH (`parallel.dp`) what it is, its type, how it came about, and "
          "what was overridden.",
      .options = {cli::flag("--list", "list the kinds of diagnostics",
                            invocation.listsKinds),
                  setOption(invocation), jsonOption(invocation),
                  maxErrorsOption(invocation)},
      .operands = {0, 2, "a kind, or a file and a path", &invocation.inputs},
      .check = [&invocation] { return checkKind(invocation); },
      .run =
          [&invocation] {
            if (invocation.listsKinds)
              return listKinds(invocation);
            return invocation.inputs.size() == 1 ? runExplainKind(invocation)
                                                 : runExplainPath(invocation);
          }};
}

} // namespace recipec::driver
