// Puts replacements into texts; see Fixes.h.
//
// 1. Collect the safe fix-its in recipes of the user, in order of place.
// 2. Copy each text, with the replacements in the place of their ranges.

#include "compiler/driver/Fixes.h"

#include <algorithm>
#include <map>

namespace recipec::driver {
namespace {

FixedFile fixed(SourceId source, std::vector<const diag::FixIt*> fixIts,
                const SourceMap& sources) {
  std::stable_sort(fixIts.begin(), fixIts.end(),
                   [](const diag::FixIt* a, const diag::FixIt* b) {
                     return a->range.begin < b->range.begin;
                   });
  std::string_view text = sources.text(source);
  FixedFile file{std::string(sources.name(source)), {}, {}};
  size_t end = 0;
  const diag::FixIt* last = nullptr;
  for (const diag::FixIt* fixIt : fixIts) {
    bool overlaps = last && (fixIt->range.begin < end ||
                             fixIt->range.begin == last->range.begin);
    if (overlaps)
      continue;
    file.text += text.substr(end, fixIt->range.begin - end);
    file.text += fixIt->replacement;
    file.changes.push_back(sources.describe(fixIt->range) + ": `" +
                           std::string(sources.text(fixIt->range)) + "` -> `" +
                           fixIt->replacement + "`");
    end = fixIt->range.end;
    last = fixIt;
  }
  file.text += text.substr(end);
  return file;
}

} // namespace

std::vector<FixedFile> applySafeFixes(const diag::Engine& engine,
                                      const SourceMap& sources) {
  std::map<SourceId, std::vector<const diag::FixIt*>> bySource;
  for (const diag::Diagnostic& diagnostic : engine.all())
    for (const diag::FixIt& fixIt : diagnostic.fixIts)
      if (fixIt.applicability == diag::Applicability::safe &&
          fixIt.range.isValid() &&
          sources.kind(fixIt.range.source) == SourceKind::file)
        bySource[fixIt.range.source].push_back(&fixIt);
  std::vector<FixedFile> files;
  for (auto& [source, fixIts] : bySource)
    files.push_back(fixed(source, std::move(fixIts), sources));
  return files;
}

} // namespace recipec::driver
