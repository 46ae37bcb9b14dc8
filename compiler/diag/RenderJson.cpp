// Renders diagnostics as JSON, for editors and scripts: see Render.h.

#include "compiler/diag/Render.h"
#include "compiler/diag/Shown.h"

#include <nlohmann/json.hpp>

namespace recipec::diag {

using Json = nlohmann::ordered_json;

static Json toJson(SourceRange range, const SourceMap& sources) {
  if (!range.isValid())
    return nullptr;
  LineColumn begin = sources.lineColumn(range.source, range.begin);
  LineColumn end = sources.lineColumn(range.source, range.end);
  return {{"file", sources.name(range.source)},
          {"line", begin.line},
          {"column", begin.column},
          {"end_line", end.line},
          {"end_column", end.column}};
}

static Json toJson(const Diagnostic& diagnostic, const SourceMap& sources,
                   bool isWarning) {
  bool isError = !isWarning && kindSeverity(diagnostic.kind) == Severity::error;
  Json labels = Json::array();
  for (const Label& label : diagnostic.labels)
    labels.push_back(
        {{"text", label.text}, {"place", toJson(label.range, sources)}});
  Json notes = Json::array();
  for (const Note& note : diagnostic.notes)
    notes.push_back(
        {{"message", note.message}, {"place", toJson(note.range, sources)}});
  Json fixIts = Json::array();
  for (const FixIt& fixIt : diagnostic.fixIts)
    fixIts.push_back({{"place", toJson(fixIt.range, sources)},
                      {"replacement", fixIt.replacement},
                      {"safe", fixIt.applicability == Applicability::safe}});
  return {{"kind", kindName(diagnostic.kind)},
          {"severity", isError ? "error" : "warning"},
          {"message", diagnostic.message},
          {"place", toJson(diagnostic.range, sources)},
          {"label", diagnostic.label},
          {"labels", labels},
          {"notes", notes},
          {"helps", diagnostic.helps},
          {"fix_its", fixIts}};
}

static Json restJson(const std::string& rest) {
  return {{"kind", nullptr},
          {"severity", "note"},
          {"message", rest},
          {"place", nullptr},
          {"label", ""},
          {"labels", Json::array()},
          {"notes", Json::array()},
          {"helps", {restHelp}},
          {"fix_its", Json::array()}};
}

std::string renderJson(const Engine& engine, const SourceMap& sources,
                       const RenderOptions& options) {
  Json all = Json::array();
  Shown shown = chooseShown(engine, options);
  for (const Diagnostic* diagnostic : shown.diagnostics)
    all.push_back(toJson(*diagnostic, sources, options.areWarnings));
  if (!shown.rest.empty())
    all.push_back(restJson(shown.rest));
  // File names may hold any bytes; invalid UTF-8 is replaced.
  return all.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

} // namespace recipec::diag
