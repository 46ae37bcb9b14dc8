// Applies replacements to texts; see Fixes.h.
//
// 1. Collect the safe fix-its in the user's recipes, in source order.
// 2. Copy each text, with the replacements in place of their ranges.

#include "compiler/driver/Fixes.h"

#include <algorithm>
#include <cctype>
#include <map>

namespace recipec::driver {

EditedText edited(std::string_view text,
                  std::vector<const diag::FixIt*> fixIts) {
  std::stable_sort(fixIts.begin(), fixIts.end(),
                   [](const diag::FixIt* a, const diag::FixIt* b) {
                     return a->range.begin < b->range.begin;
                   });
  EditedText result;
  size_t end = 0;
  const diag::FixIt* last = nullptr;
  for (const diag::FixIt* fixIt : fixIts) {
    bool overlaps = last && (fixIt->range.begin < end ||
                             fixIt->range.begin == last->range.begin);
    if (overlaps)
      continue;
    result.text += text.substr(end, fixIt->range.begin - end);
    uint32_t begin = uint32_t(result.text.size());
    result.text += fixIt->replacement;
    result.made.emplace_back(fixIt, SourceRange{fixIt->range.source, begin,
                                                uint32_t(result.text.size())});
    end = fixIt->range.end;
    last = fixIt;
  }
  result.text += text.substr(end);
  return result;
}

std::optional<SourceRange>
beforeEdits(const std::map<const diag::FixIt*, SourceRange>& places,
            SourceRange range) {
  int64_t shift = 0;
  for (const auto& [fixIt, place] : places) {
    if (place.source != range.source)
      continue;
    if (place.end <= range.begin)
      shift += int64_t(place.end - place.begin) -
               int64_t(fixIt->range.end - fixIt->range.begin);
    else if (place.begin < range.end)
      return std::nullopt;
  }
  return SourceRange{range.source, uint32_t(range.begin - shift),
                     uint32_t(range.end - shift)};
}

std::string replacedOnce(std::string text, const std::string& word,
                         const std::string& replacement) {
  const size_t at = text.find(word);
  auto isWord = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || c == '_';
  };
  const size_t end = at + word.size();
  if (word.empty() || at == text.npos || text.find(word, at + 1) != text.npos ||
      (at > 0 && isWord(text[at - 1]) && isWord(word[0])) ||
      (end < text.size() && isWord(text[end]) && isWord(word.back())))
    return {};
  return text.replace(at, word.size(), replacement);
}

namespace {

FixedFile fixed(SourceId source, std::vector<const diag::FixIt*> fixIts,
                const SourceMap& sources) {
  EditedText result = edited(sources.text(source), std::move(fixIts));
  FixedFile file{std::string(sources.name(source)), std::move(result.text), {}};
  for (const auto& [fixIt, range] : result.made)
    file.changes.push_back(sources.describe(fixIt->range) + ": `" +
                           std::string(sources.text(fixIt->range)) + "` -> `" +
                           fixIt->replacement + "`");
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
