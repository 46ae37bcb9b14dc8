// Opens the target of the command line.

#include "compiler/driver/Session.h"

#include "compiler/diag/Render.h"
#include "compiler/driver/GeneratingRecipe.h"
#include "compiler/driver/Proposals.h"
#include "compiler/driver/SettingRepair.h"
#include "compiler/driver/Subjects.h"
#include "compiler/driver/SweptValues.h"
#include "compiler/driver/Terminal.h"
#include "compiler/parse/Data.h"
#include "compiler/sema/recipes/CheckFile.h"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <ostream>

namespace recipec::driver {
namespace {

using State = sema::Loaded::State;

/// Whether the text is a recipe's name, optionally with `@` and a point.
bool namesRecipe(std::string_view text) {
  text = text.substr(0, text.find('@'));
  auto isPart = [](unsigned char c) { return std::isalnum(c) || c == '_'; };
  return !text.empty() && !std::isdigit(static_cast<unsigned char>(text[0])) &&
         std::all_of(text.begin(), text.end(), isPart);
}

/// The recipe files in the folder of a path, spelt like the path.
std::vector<std::string> recipesBeside(const std::string& path) {
  namespace fs = std::filesystem;
  fs::path folder = fs::path(path).parent_path();
  std::error_code error;
  std::vector<std::string> files;
  for (fs::directory_iterator at(folder.empty() ? "." : folder, error), end;
       !error && at != end; at.increment(error))
    if (at->path().extension() == ".recipe")
      files.push_back((folder / at->path().filename()).string());
  std::sort(files.begin(), files.end());
  return files;
}

} // namespace

Target parseTarget(const std::string& argument) {
  size_t colon = argument.rfind(':');
  std::error_code ignored;
  if (colon == std::string::npos || colon == 0 ||
      !namesRecipe(std::string_view(argument).substr(colon + 1)) ||
      std::filesystem::exists(argument, ignored))
    return {argument, "", ""};
  std::string file = argument.substr(0, colon);
  size_t at = argument.find('@', colon);
  if (at == std::string::npos)
    return {std::move(file), argument.substr(colon + 1), ""};
  return {std::move(file), argument.substr(colon + 1, at - colon - 1),
          argument.substr(at + 1)};
}

std::string folderOf(const Target& target) {
  std::string parent = std::filesystem::path(target.file).parent_path();
  bool isStandard = target.file.starts_with("std/");
  return parent.empty() || isStandard ? "." : parent;
}

/// Whether a file begins as the plans that `recipec plan` writes.
static bool holdsPlan(const std::string& path) {
  std::string head(32, '\0');
  std::ifstream(path).read(head.data(), std::streamsize(head.size()));
  return head.starts_with("{\n\"major\":");
}

bool Session::open(const std::vector<std::string>& arguments) {
  sets = arguments;
  if (parse::isDataFile(target.file)) {
    const bool isPlan = holdsPlan(target.file);
    engine
        .report(diag::Kind::FileNotReadable, {},
                "`" + target.file + "` is a " +
                    (isPlan ? "plan" : "data file") + ", not a recipe")
        .help(isPlan ? "carry it out with `mpirun -np N reciperun train " +
                           target.file + "`"
                     : "import it in a recipe: `import \"" + target.file +
                           "\" as run`");
    return false;
  }
  if (isModelFolder(target.file)) {
    engine
        .report(diag::Kind::FileNotReadable, {},
                "`" + target.file +
                    "` is a Hugging Face directory, and this command takes a "
                    "recipe")
        .help("`recipec plan " + target.file +
              "` compiles a plan that answers prompts from it, and `recipec "
              "estimate " +
              target.file + "` prints the plan's memory");
    return false;
  }
  sema::Loaded loaded = loader.load(target.file);
  if (loaded.state == State::notFound) {
    auto builder = engine.report(diag::Kind::FileNotReadable, {},
                                 "there is no file `" + target.file + "`");
    if (target.file.starts_with("std/"))
      builder.suggest({}, target.file, loader.standardFiles());
    const std::vector<std::string> beside = recipesBeside(target.file);
    constexpr size_t mostListed = 8;
    if (auto near = diag::didYouMean(target.file, beside))
      builder.help("did you mean `" + *near + "`?");
    else if (!target.file.starts_with("std/"))
      builder.help(beside.empty() ? "its folder has no recipe"
                                  : "its folder has " +
                                        diag::quotedList(beside, mostListed));
  }
  file = loaded.file;
  bool areSound = true;
  for (const std::string& set : sets)
    areSound &= addOverride(overrides, set, "--set");
  return file && areSound;
}

std::optional<std::vector<sema::Selection>>
Session::select(sema::Extent extent) {
  sema::Naming naming = {file, target.recipe, target.point, overrides, {}, {},
                         {}};
  if (target.recipe.empty()) {
    SourceId source =
        sources.add("argument", target.file, SourceKind::commandLine);
    naming.fileRange = {source, 0, static_cast<uint32_t>(target.file.size())};
  } else {
    std::string text = target.recipe;
    if (!target.point.empty())
      text += "@" + target.point;
    SourceId source = sources.add("argument", text, SourceKind::commandLine);
    auto length = static_cast<uint32_t>(target.recipe.size());
    auto end = static_cast<uint32_t>(text.size());
    naming.recipeRange = {source, 0, length};
    naming.pointRange = {source, std::min(length + 1, end), end};
  }
  auto found = sema::select(sources, naming, extent, loader, engine);
  if (found)
    selection = *found;
  return found;
}

void Session::take(const diag::Engine& found) {
  engine.append(found, selected.name);
}

void Session::doubt(const diag::Engine& found, const recipe::Recipe& recipe) {
  diag::Engine kept = found;
  for (const recipe::Value& name :
       std::get<recipe::List>(recipe.at("silence").data))
    kept.remove(*diag::findKind(std::get<std::string>(name.data)));
  doubts.append(kept, selected.name);
}

void Session::arrange() {
  for (diag::Engine* each : {&engine, &doubts})
    each->arrange();
  helpWithSweptValues(*this);
  tryProposals(*this);
  for (diag::Engine* each : {&engine, &doubts})
    noteSubjects(*each, selection);
}

void Session::checkDeclarations() {
  hasCheckedDeclarations = true;
  sema::checkFile(sources, *file, loader, engine);
}

bool Session::selectOne() {
  auto selection = select(sema::Extent::launch);
  if (!selection)
    return false;
  selected = selection->front();
  return true;
}

bool Session::addOverride(std::vector<sema::Override>& list,
                          const std::string& text, const std::string& origin) {
  SourceId source = sources.add(origin, text, SourceKind::commandLine);
  diag::Engine found;
  std::optional<parse::Override> made =
      parse::parseOverride(sources, source, found);
  if (!made) {
    reportWrongSetting(sources, source, found, loader, engine);
    return false;
  }
  parsed.push_back(std::move(*made));
  const parse::Override& kept = parsed.back();
  list.push_back({&kept.file, kept.path, kept.value});
  return true;
}

int finish(Session& session, const Invocation& invocation) {
  session.arrange();
  diag::RenderOptions options = renderOptions(invocation);
  invocation.err << diag::render(session.engine, session.sources, options);
  options.areWarnings = true;
  invocation.err << diag::render(session.doubts, session.sources, options);
  return session.engine.hasErrors() ? exitDiagnostics : exitSuccess;
}

} // namespace recipec::driver
