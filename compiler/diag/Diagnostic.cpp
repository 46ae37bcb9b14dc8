// The table of kinds and the engine that collects diagnostics.

#include "compiler/diag/Diagnostic.h"

#include <algorithm>
#include <array>

namespace recipec::diag {

namespace {

struct KindInfo {
  std::string_view name;
  Severity severity;
};

constexpr auto kinds = std::to_array<KindInfo>({
#define DIAGNOSTIC(Name, Level) {#Name, Severity::Level},
#include "compiler/diag/DiagnosticKinds.def"
});

} // namespace

std::string_view kindName(Kind kind) {
  return kinds[size_t(kind)].name;
}

Severity kindSeverity(Kind kind) {
  return kinds[size_t(kind)].severity;
}

std::optional<Kind> findKind(std::string_view name) {
  for (size_t i = 0; i < kinds.size(); ++i)
    if (kinds[i].name == name)
      return Kind(i);
  return std::nullopt;
}

std::vector<std::string> kindNames() {
  std::vector<std::string> names;
  for (const KindInfo& info : kinds)
    names.emplace_back(info.name);
  return names;
}

Builder& Builder::label(std::string text) {
  diagnostic.label = std::move(text);
  return *this;
}

Builder& Builder::note(std::string message, SourceRange range) {
  diagnostic.notes.push_back({std::move(message), range});
  return *this;
}

Builder& Builder::help(std::string message) {
  diagnostic.helps.push_back(std::move(message));
  return *this;
}

Builder& Builder::fixIt(SourceRange range, std::string replacement) {
  diagnostic.fixIts.push_back({range, std::move(replacement)});
  return *this;
}

Builder Engine::report(Kind kind, SourceRange range, std::string message) {
  if (kindSeverity(kind) == Severity::error)
    ++errorCount;
  diagnostics.push_back({kind, range, std::move(message), {}, {}, {}, {}});
  return Builder(diagnostics.back());
}

void Engine::sortByPlace() {
  std::stable_sort(diagnostics.begin(), diagnostics.end(),
                   [](const Diagnostic& a, const Diagnostic& b) {
                     if (a.range.source != b.range.source)
                       return a.range.source < b.range.source;
                     return a.range.begin < b.range.begin;
                   });
}

} // namespace recipec::diag
