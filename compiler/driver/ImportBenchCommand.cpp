// `recipec import-bench FILE`: the results of nccl-tests and findings on them.
//
//   1. Read the logs of the file: tables in a text, or JSON.
//   2. Report the findings of each, with what the text around it claims.
//   3. Print each as a table.

#include "compiler/driver/Commands.h"

#include "compiler/driver/InputFile.h"
#include "compiler/driver/Session.h"
#include "compiler/import/BenchFindings.h"
#include "compiler/import/BenchTable.h"
#include "compiler/import/RankClaims.h"

#include <algorithm>
#include <ostream>
#include <utility>

namespace recipec::driver {
namespace {

using reciperun::benchlog::BenchLog;

/// The log of a job on many ranks may be large.
constexpr size_t mostLogBytes = size_t(256) << 20;

/// Adds the file as a source; none, with a diagnostic, if it cannot be read.
SourceId addLog(Session& session, const std::string& path) {
  InputText read = readInput(path, mostLogBytes);
  if (read.text)
    return session.sources.add(path, *std::move(read.text), SourceKind::file);
  session.engine.report(diag::Kind::FileNotReadable, {},
                        read.isMissing
                            ? "there is no file `" + path + "`"
                            : "`" + path + "` cannot be read: " + read.reason);
  return SourceId::none;
}

/// Reads the logs; errors go to the session's engine.
std::vector<BenchLog> readLogs(Session& session, SourceId source) {
  auto logs = reciperun::benchlog::readBenchLogs(session.sources.text(source));
  if (!logs) {
    session.engine.report(diag::Kind::FileNotReadable, {source, 0, 0},
                          logs.message());
    return {};
  }
  if (logs->empty())
    session.engine
        .report(diag::Kind::FileNotReadable, {},
                "`" + std::string(session.sources.name(source)) +
                    "` has no table of nccl-tests")
        .help("name the output of a test, such as `all_reduce_perf -b 8 -e "
              "128M -f 2`, or the JSON of its option `-J`");
  return std::move(*logs);
}

/// Where the log's rows end in the text; 0 for JSON.
size_t endOf(const BenchLog& log) {
  return log.rows.empty()
             ? 0
             : std::max(log.rows.back().span.end, log.averageSpan.end);
}

/// A log's text begins where the log before it ends.
void reportLogs(Session& session, const std::vector<BenchLog>& logs,
                SourceId source) {
  size_t begin = 0;
  for (const BenchLog& log : logs) {
    const size_t end = endOf(log);
    std::vector<importer::RankClaim> claims = importer::claimsOfText(
        session.sources.text(source), begin, std::max(begin, end), source);
    for (importer::RankClaim& claim : importer::claimsOfRanks(log, source))
      claims.push_back(std::move(claim));
    importer::reportFindings(log, claims, source, session.engine);
    begin = std::max(begin, end);
  }
}

int runImportBench(const Invocation& invocation) {
  Session session(Target{invocation.inputs[0], "", ""});
  const SourceId source = addLog(session, invocation.inputs[0]);
  std::vector<BenchLog> logs;
  if (source != SourceId::none)
    logs = readLogs(session, source);
  reportLogs(session, logs, source);
  const int result = finish(session, invocation);
  for (size_t i = 0; i < logs.size(); ++i)
    invocation.out << (i ? "\n" : "") << importer::benchTable(logs[i]);
  return logs.empty() ? exitDiagnostics : result;
}

} // namespace

cli::Command importBenchCommand(Invocation& invocation) {
  return {.name = "import-bench",
          .synopsis = "FILE",
          .summary = "read results of nccl-tests and check them",
          .details =
              "Reads the output of nccl-tests or of `reciperun bench "
              "COLLECTIVE`, alone or in the log of a job, or the JSON of their "
              "option `-J`, and prints the rows as a table.\n\n"
              "Findings are printed as diagnostics: wrong elements; a number "
              "of ranks that busbw / algbw contradicts; rows above the "
              "settings' `maxBytes`; bandwidths that do not follow from size "
              "and time; an average that is not that of the rows; a bus "
              "bandwidth above NVLink's. `recipec explain BenchContradiction` "
              "has the formulas. The exit code is 1 where elements are wrong.",
          .options = {maxErrorsOption(invocation)},
          .operands = {1, 1, "a file", &invocation.inputs},
          .run = [&invocation] { return runImportBench(invocation); }};
}

} // namespace recipec::driver
