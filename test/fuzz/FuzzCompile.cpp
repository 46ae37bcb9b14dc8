// libFuzzer target: the compiler, from text to plan.
//
// An input is a recipe, perhaps with further files and settings behind it:
//
//   recipe a { data = file.rows }
//   ==== file.yaml
//   rows: [1, 2]
//   ==== --set
//   parallel.tp=2
//   ==== explain
//   parallel.dp
//
// Whatever it is, the compiler ends soon, with a plan or with diagnostics that
// can be rendered and fixed; what parses is formatted without a change of its
// tree, once and for all; what is printed by one phase is read again as the
// same.

#include "compiler/ast/Print.h"
#include "compiler/diag/Render.h"
#include "compiler/driver/Documentation.h"
#include "compiler/driver/Fixes.h"
#include "compiler/driver/Pipeline.h"
#include "compiler/driver/Provenance.h"
#include "compiler/format/Format.h"
#include "compiler/ir/Parse.h"
#include "compiler/ir/Print.h"
#include "compiler/recipe/Print.h"
#include "runtime/plan/PlanJson.h"
#include "stdlib/Files.h"
#include "test/fuzz/Require.h"

#include <algorithm>
#include <ctime>
#include <map>
#include <sstream>

using namespace recipec;
using fuzz::require;

namespace {

constexpr const char* mainFile = "fuzz.recipe";

/// Each of them evaluates the recipe again.
constexpr size_t mostExplained = 4;

struct Input {
  std::map<std::string, std::string> files;
  std::vector<std::string> sets;
  std::vector<std::string> explained; // paths
};

Input split(std::string_view text) {
  constexpr std::string_view mark = "==== ";
  Input input;
  std::string name = mainFile;
  input.files[name];
  std::istringstream lines{std::string(text)};
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with(mark))
      input.files[name = line.substr(mark.size())];
    else if (name == "--set")
      input.sets.push_back(line);
    else if (name == "explain")
      input.explained.push_back(line);
    else
      input.files[name] += line + '\n';
  }
  // Most files end in a newline, and some do not.
  if (!text.ends_with('\n') && input.files[name].ends_with('\n'))
    input.files[name].pop_back();
  input.files.erase("--set");
  input.files.erase("explain");
  std::erase(input.explained, "");
  if (input.explained.size() > mostExplained)
    input.explained.resize(mostExplained);
  return input;
}

/// The standard library, parsed once.
const driver::FileLoader& library() {
  static SourceMap sources;
  static diag::Engine engine;
  static driver::FileLoader loader(sources, engine);
  static const bool isParsed = [] {
    for (const stdlib::File& file : stdlib::files())
      loader.load(std::string(file.path));
    require(!engine.hasErrors(), "the standard library parses");
    return true;
  }();
  (void)isParsed;
  return loader;
}

/// Whether a word of the printed tree is a source range, `4:3-4:15`.
bool isPlace(std::string_view word) {
  return std::count(word.begin(), word.end(), ':') == 2 &&
         std::count(word.begin(), word.end(), '-') == 1 &&
         word.find_first_not_of("0123456789:-") == std::string_view::npos;
}

/// The printed tree without the source range that each line starts with.
std::string withoutPlaces(const std::string& tree) {
  std::string result;
  std::istringstream lines(tree);
  for (std::string line; std::getline(lines, line);) {
    for (size_t word = line.find_first_not_of(' '); word < line.size();) {
      size_t end = std::min(line.find(' ', word), line.size());
      if (isPlace(std::string_view(line).substr(word, end - word))) {
        line.erase(word, end - word);
        break;
      }
      word = end + 1;
    }
    result += line + '\n';
  }
  return result;
}

void checkFormat(const ast::File& file, const SourceMap& sources) {
  std::string formatted = format::format(file, sources);
  SourceMap others;
  diag::Engine engine;
  // The formatter does not check whether ops may be declared here.
  SourceId source =
      others.add(mainFile, formatted, SourceKind::standardLibrary);
  ast::File again = parse::parse(others, source, engine);
  require(!engine.hasErrors(), "what is formatted parses");
  require(withoutPlaces(ast::print(file, sources)) ==
              withoutPlaces(ast::print(again, others)),
          "formatting keeps the tree");
  require(format::format(again, others) == formatted, "formatting is stable");
}

void checkProgram(const ir::Module& program) {
  std::string text = ir::print(program), error;
  std::optional<ir::Module> again = ir::parse(text, error);
  require(again && ir::print(*again) == text, "a printed program is read");
}

/// A thousand layers take much longer to compile and test nothing more.
constexpr size_t mostCalls = 400;

void compileSelected(driver::Session& session, diag::Engine& engine) {
  diag::Engine found;
  auto recipe = driver::evaluateRecipe(session, found);
  if (!recipe || recipe->model.calls.size() > mostCalls) {
    engine.append(found);
    return;
  }
  auto compilation = driver::compile(session, engine);
  if (!compilation)
    return;
  recipe::printSettings(compilation->recipe, session.sources);
  recipe::printDataflow(compilation->recipe, session.sources);
  for (const ir::Module& stage : compilation->stages)
    checkProgram(stage);
  if (auto plan = driver::makePlan(session, engine, *compilation))
    require(bool(reciperun::plan::fromJson(reciperun::plan::toJson(*plan))),
            "a plan is read");
}

/// Compiles as `recipec check` does, limited to a few points of a sweep.
void compileRecipes(driver::Session& session) {
  constexpr size_t mostCompiled = 4;
  session.checkDeclarations();
  auto selection = session.select(sema::Extent::file);
  for (size_t i = 0; selection && i < selection->size(); ++i) {
    if (i == mostCompiled)
      return;
    session.selected = (*selection)[i];
    diag::Engine engine;
    compileSelected(session, engine);
    session.engine.append(engine);
  }
}

/// Explains as `recipec explain` does, for the last compiled recipe.
void explain(driver::Session& session, const std::string& path) {
  std::vector<sema::PathStep> steps;
  std::istringstream names(path);
  for (std::string name; std::getline(names, name, '.');)
    steps.push_back({name, {}});
  sema::Request request;
  request.file = session.file;
  request.recipe = session.selected.recipe;
  request.point = session.selected.point;
  request.overrides = session.overrides;
  auto explanation = sema::explain(session.sources, request, steps,
                                   session.loader, session.engine);
  if (!explanation)
    return;
  driver::provenanceText(*explanation, session.sources);
  driver::provenanceJson(*explanation, session.sources);
}

void renderAll(driver::Session& session) {
  session.engine.arrange();
  for (bool colour : {false, true})
    for (int columns : {20, 120}) {
      diag::RenderOptions options;
      options.colour = colour;
      options.columns = columns;
      diag::render(session.engine, session.sources, options);
    }
  diag::renderJson(session.engine, session.sources);
  driver::applySafeFixes(session.engine, session.sources);
}

/// CPU time: libFuzzer's own limit uses wall time, which depends on other load.
double cpuSeconds() {
  return double(std::clock()) / CLOCKS_PER_SEC;
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  Input input = split({reinterpret_cast<const char*>(data), size});
  driver::Session session(mainFile);
  session.loader.adopt(library());
  session.loader.useTexts(std::move(input.files));
  constexpr double longest = 30; // with sanitizers; a twentieth without
  double begin = cpuSeconds();
  bool isOpen = session.open(input.sets);
  if (session.file) {
    checkFormat(*session.file, session.sources);
    driver::fileMarkdown(*session.file, session.sources, 1);
  }
  if (isOpen)
    compileRecipes(session);
  if (!session.selected.recipe.empty())
    for (const std::string& path : input.explained)
      explain(session, path);
  renderAll(session);
  require(cpuSeconds() - begin < longest, "an input takes at most 30 s");
  return 0;
}
