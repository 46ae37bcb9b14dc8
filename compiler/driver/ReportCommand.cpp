// `recipec report FILE -o HTML`: a page about a plan.

#include "compiler/driver/Commands.h"

#include "compiler/driver/GeneratingRecipe.h"
#include "compiler/driver/OutputFile.h"
#include "compiler/driver/Pipeline.h"
#include "compiler/driver/PlanPage.h"

#include "runtime/cli/Options.h"

#include <ostream>

namespace recipec::driver {
namespace {

int runReport(const Invocation& invocation) {
  Session session(invocation.inputs[0]);
  if (isModelFolder(session.target.file) && !openModelFolder(session))
    return finish(session, invocation);
  if (!session.open(invocation.sets) || !session.selectOne())
    return finish(session, invocation);
  const auto compilation =
      compile(session, session.engine, {}, Verification::none);
  const int result = finish(session, invocation);
  if (!compilation)
    return exitDiagnostics;
  const std::string page = planPage(*compilation);
  if (invocation.output.empty() || isStandardOutput(invocation.output))
    invocation.out << page;
  else if (!writeOutput(invocation.output, page, invocation.err))
    return exitDiagnostics;
  return result;
}

} // namespace

cli::Command reportCommand(Invocation& invocation) {
  cli::Option output = cli::text(
      "--output", "HTML", "write to the file HTML instead of standard output",
      invocation.output);
  output.shortName = "-o";
  return {
      .name = "report",
      .synopsis = "FILE[:NAME] [-o HTML] [options]",
      .summary = "write a page about a plan",
      .details =
          "The page shows the memory of each stage by category, the "
          "timeline of the pipeline, where the time of a step goes, and the "
          "ranks of each node. It needs no other file. Times are those "
          "of `recipec estimate`.",
      .options = {std::move(output), setOption(invocation),
                  maxErrorsOption(invocation)},
      .operands = {1, 1, "a file", &invocation.inputs},
      .run = [&invocation] { return runReport(invocation); }};
}

} // namespace recipec::driver
