// libFuzzer target: the compiler, from text to plan.
//
// An input is a recipe, perhaps with further files and settings behind it:
//
//   recipe a { data = file.rows }
//   ==== file.yaml
//   rows: [1, 2]
//   ==== --set
//   parallel.tp=2
//
// Whatever it is, the compiler ends with a plan or with diagnostics that can be
// rendered; what parses is formatted without a change of its tree, once and for
// all; what is printed by one phase is read again as the same.

#include "compiler/ast/Print.h"
#include "compiler/diag/Render.h"
#include "compiler/driver/Pipeline.h"
#include "compiler/format/Format.h"
#include "compiler/ir/Parse.h"
#include "compiler/ir/Print.h"
#include "compiler/recipe/Print.h"
#include "runtime/plan/PlanJson.h"
#include "stdlib/Files.h"
#include "test/fuzz/Require.h"

#include <map>
#include <sstream>

using namespace recipec;
using fuzz::require;

namespace {

constexpr const char* mainFile = "fuzz.recipe";

struct Input {
  std::map<std::string, std::string> files;
  std::vector<std::string> sets;
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
    else
      input.files[name] += line + '\n';
  }
  // Most files end in a newline, and some do not.
  if (!text.ends_with('\n') && input.files[name].ends_with('\n'))
    input.files[name].pop_back();
  input.files.erase("--set");
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

/// The printed tree without its places: the second word of each line.
std::string withoutPlaces(const std::string& tree) {
  std::string result;
  std::istringstream lines(tree);
  for (std::string line; std::getline(lines, line);) {
    size_t word = line.find(' ', line.find_first_not_of(' '));
    size_t end = word == std::string::npos ? word : line.find(' ', word + 1);
    if (word != std::string::npos)
      line.erase(word, end == std::string::npos ? end : end - word);
    result += line + '\n';
  }
  return result;
}

void checkFormat(const ast::File& file, const SourceMap& sources) {
  std::string formatted = format::format(file, sources);
  SourceMap others;
  diag::Engine engine;
  SourceId source = others.add(mainFile, formatted, SourceKind::file);
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

void compileSelected(driver::Session& session, diag::Engine& engine) {
  auto compilation = driver::compile(session, engine);
  if (!compilation)
    return;
  recipe::print(compilation->recipe, session.sources);
  checkProgram(compilation->program);
  if (auto plan = driver::makePlan(session, engine, *compilation))
    require(bool(reciperun::plan::fromJson(reciperun::plan::toJson(*plan))),
            "a plan is read");
}

/// As `recipec check` does, over a few points of what may be a thousand.
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

void renderAll(const driver::Session& session) {
  for (bool colour : {false, true})
    for (int columns : {20, 120}) {
      diag::RenderOptions options;
      options.colour = colour;
      options.columns = columns;
      diag::render(session.engine, session.sources, options);
    }
  diag::renderJson(session.engine, session.sources);
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  Input input = split({reinterpret_cast<const char*>(data), size});
  driver::Session session(mainFile);
  session.loader.adopt(library());
  session.loader.useTexts(std::move(input.files));
  bool isOpen = session.open(input.sets);
  if (session.file)
    checkFormat(*session.file, session.sources);
  if (isOpen)
    compileRecipes(session);
  renderAll(session);
  return 0;
}
