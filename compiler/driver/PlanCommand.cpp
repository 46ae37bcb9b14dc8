// `recipec plan FILE [-o OUT] [--emit=KIND]`: the plan, or any stage before it.
//
// One function a kind gives its text; a stage runs only the phases before it.

#include "compiler/driver/Driver.h"

#include "compiler/ast/Print.h"
#include "compiler/driver/MemoryFit.h"
#include "compiler/driver/MemoryReport.h"
#include "compiler/driver/OutputFile.h"
#include "compiler/driver/Pipeline.h"
#include "compiler/ir/Print.h"
#include "compiler/passes/Schedule.h"
#include "compiler/recipe/Print.h"
#include "runtime/plan/PlanJson.h"

#include <algorithm>
#include <cstdio>
#include <ostream>

namespace recipec::driver {
namespace {

/// The text of a stage; none with diagnostics.
using Text = std::optional<std::string>;

Text emitTokens(Session& session) {
  sema::Loaded::State state;
  SourceId source = session.loader.addSource(session.target.file, state);
  if (source == SourceId::none) {
    session.open({}); // says what is wrong
    return std::nullopt;
  }
  return parse::printTokens(session.sources, source, session.engine);
}

Text emitAst(Session& session) {
  return ast::print(*session.file, session.sources);
}

Text emitRecipe(Session& session) {
  auto recipe = evaluateRecipe(session, session.engine);
  if (!recipe)
    return std::nullopt;
  return recipe::print(*recipe, session.sources);
}

Text emitGraph(Session& session) {
  auto recipe = evaluateRecipe(session, session.engine);
  if (!recipe)
    return std::nullopt;
  auto graph = makeGraph(*recipe, session.engine);
  if (!graph)
    return std::nullopt;
  return ir::print(*graph);
}

Text emitProgram(Session& session) {
  auto compilation = compile(session, session.engine);
  if (!compilation)
    return std::nullopt;
  return ir::print(compilation->program);
}

Text emitSchedule(Session& session) {
  auto compilation = compile(session, session.engine);
  if (!compilation)
    return std::nullopt;
  return passes::drawSchedules(compilation->program);
}

/// The table is printed also when it is too much; then with the diagnostic.
Text emitMemory(Session& session) {
  auto compilation = compile(session, session.engine);
  if (!compilation)
    return std::nullopt;
  const ir::Module& program = compilation->program;
  std::string text =
      "memory of each of the " + std::to_string(compilation->estimate.ranks) +
      " ranks, in bytes\n" + memoryTableText(compilation->estimate.memory) +
      "\nlargest buffers\n";
  for (const LargestBuffer& buffer : largestBuffers(program, 16)) {
    char line[64];
    std::snprintf(line, sizeof line, "  %-12s %16lld  ",
                  buffer.category.c_str(),
                  static_cast<long long>(buffer.bytes));
    text += line + buffer.name + '\n';
  }
  checkFit(session, session.engine, *compilation);
  return text;
}

Text emitPlan(Session& session) {
  auto compilation = compile(session, session.engine);
  if (!compilation)
    return std::nullopt;
  auto plan = makePlan(session, session.engine, *compilation);
  if (!plan)
    return std::nullopt;
  return reciperun::plan::toJson(*plan);
}

/// What a stage is made of.
enum class Needs { text, file, recipe };

struct EmitKind {
  std::string_view name;
  Needs needs;
  Text (*text)(Session&);
};

constexpr EmitKind emitKinds[] = {
    {"tokens", Needs::text, emitTokens},
    {"ast", Needs::file, emitAst},
    {"recipe", Needs::recipe, emitRecipe},
    {"graph", Needs::recipe, emitGraph},
    {"program", Needs::recipe, emitProgram},
    {"schedule", Needs::recipe, emitSchedule},
    {"memory", Needs::recipe, emitMemory},
    {"plan", Needs::recipe, emitPlan},
};

const EmitKind* findKind(std::string_view name) {
  for (const EmitKind& kind : emitKinds)
    if (kind.name == name)
      return &kind;
  return nullptr;
}

int unknownKind(const Invocation& invocation) {
  std::vector<std::string> names;
  std::string list;
  for (const EmitKind& kind : emitKinds) {
    names.emplace_back(kind.name);
    list += (list.empty() ? "`" : ", `") + std::string(kind.name) + "`";
  }
  invocation.err << "error: `--emit` has no kind `" << invocation.emit << "`\n";
  if (auto near = diag::didYouMean(invocation.emit, names))
    invocation.err << "help: did you mean `" << *near << "`?\n";
  else
    invocation.err << "help: the kinds are " << list << '\n';
  return exitUsage;
}

} // namespace

int runPlan(const Invocation& invocation) {
  const EmitKind* kind =
      findKind(invocation.emit.empty() ? "plan" : invocation.emit);
  if (!kind)
    return unknownKind(invocation);
  Session session(invocation.inputs[0]);
  Text text;
  bool isReady = kind->needs == Needs::text || session.open(invocation.sets);
  if (isReady && kind->needs == Needs::recipe)
    isReady = session.selectOne();
  if (isReady)
    text = kind->text(session);
  int code = finish(session, invocation);
  if (!text)
    return code == exitSuccess ? exitDiagnostics : code;
  if (invocation.output.empty())
    invocation.out << *text << std::flush;
  else if (!writeOutput(invocation.output, *text, invocation.err))
    return exitDiagnostics;
  return code;
}

} // namespace recipec::driver
