// `recipec check FILE...`: everything short of writing the plan.

#include "compiler/driver/Driver.h"

#include "compiler/diag/Render.h"
#include "compiler/driver/MemoryReport.h"
#include "compiler/driver/Pipeline.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <ostream>

namespace recipec::driver {
namespace {

/// Compiles one target; none with diagnostics.
std::optional<Compilation> check(Session& session,
                                 const Invocation& invocation) {
  if (!session.open(invocation.sets))
    return std::nullopt;
  auto compilation = compile(session, session.engine);
  if (!compilation || !makePlan(session, *compilation))
    return std::nullopt;
  return compilation;
}

void printSummary(const std::string& input, const Compilation& compilation,
                  std::ostream& out) {
  const cost::MemoryTable& memory = compilation.estimate.memory;
  out << input << ": `" << compilation.recipe.name << "` can be launched on "
      << compilation.estimate.ranks << " rank"
      << (compilation.estimate.ranks == 1 ? "" : "s") << ", "
      << formatBytes(memory.total) << " of " << formatBytes(memory.capacity)
      << " each\n";
}

} // namespace

int runCheck(const Invocation& invocation) {
  using Json = nlohmann::ordered_json;
  int result = exitSuccess;
  Json diagnostics = Json::array();
  for (const std::string& input : invocation.inputs) {
    Session session(input);
    auto compilation = check(session, invocation);
    if (!compilation)
      result = exitDiagnostics;
    if (invocation.json) {
      session.engine.arrange();
      for (Json& each :
           Json::parse(diag::renderJson(session.engine, session.sources)))
        diagnostics.push_back(std::move(each));
      continue;
    }
    result = std::max(result, finish(session, invocation));
    if (compilation)
      printSummary(input, *compilation, invocation.out);
  }
  if (invocation.json)
    invocation.out << diagnostics.dump(2) << '\n';
  return result;
}

} // namespace recipec::driver
