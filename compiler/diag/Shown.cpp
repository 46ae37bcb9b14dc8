// Counts the diagnostics that are shown and those that are not.

#include "compiler/diag/Shown.h"

namespace recipec::diag {
namespace {

/// `1,234 more errors`
std::string counted(size_t count, const std::string& noun) {
  std::string digits = std::to_string(count);
  for (size_t at = digits.size(); at > 3;)
    digits.insert(at -= 3, ",");
  return digits + " more " + noun + (count == 1 ? "" : "s");
}

} // namespace

Shown chooseShown(const Engine& engine, const RenderOptions& options) {
  Shown shown;
  size_t errors = 0, warnings = 0, allWarnings = 0;
  for (const Diagnostic& diagnostic : engine.all()) {
    bool isError = kindSeverity(diagnostic.kind) == Severity::error;
    allWarnings += !isError;
    size_t& count = isError ? errors : warnings;
    if (count == options.most)
      continue;
    ++count;
    shown.diagnostics.push_back(&diagnostic);
  }
  size_t hiddenErrors = size_t(engine.errors()) - errors;
  size_t hiddenWarnings = allWarnings - warnings;
  if (hiddenErrors)
    shown.rest = "and " + counted(hiddenErrors,
                                  options.areWarnings ? "warning" : "error");
  if (hiddenWarnings)
    shown.rest +=
        (hiddenErrors ? " and " : "and ") + counted(hiddenWarnings, "warning");
  return shown;
}

} // namespace recipec::diag
