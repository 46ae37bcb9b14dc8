// See Cluster.h. A client-side apply would copy the plan into an annotation,
// for which it is too large, so objects are applied by the server.

#include "compiler/launch/kubernetes/Cluster.h"

#include "compiler/launch/Process.h"

#include <optional>

namespace recipec::launch {
namespace {

std::optional<Answer> apply(const std::string& file, bool isTest) {
  std::vector<std::string> command = {"kubectl", "apply", "--server-side",
                                      "--filename=" + file};
  if (isTest)
    command.push_back("--dry-run=server");
  return ask(command);
}

std::string joinedLines(const std::string& text) {
  std::string joined;
  for (const std::string& line : linesOf(text))
    joined += (joined.empty() ? "" : "; ") + line;
  return joined;
}

} // namespace

std::string applyToKubernetes(const Subject& subject, const std::string& file,
                              diag::Engine& engine) {
  for (const bool isTest : {true, false}) {
    const auto answer = apply(file, isTest);
    if (!answer) {
      engine
          .report(diag::Kind::FileNotReadable, {},
                  "this machine has no program `kubectl`")
          .help("submit where there is one: `kubectl apply --server-side -f " +
                file + "`");
      return {};
    }
    if (!answer->isOk()) {
      engine.report(diag::Kind::InvalidValue, subject.recipe.range,
                    "the cluster refuses the job: " + joinedLines(answer->err));
      return {};
    }
    if (!isTest)
      return answer->out;
  }
  return {};
}

} // namespace recipec::launch
