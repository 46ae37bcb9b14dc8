// Source text and positions in it: see Source.h.
//
// `add` finds the line starts of a source once, so the line of an offset is a
// binary search. Columns count code points. They are computed on demand,
// because only messages need them. A byte order mark at the start of a file
// takes no column.

#include "compiler/base/Source.h"

#include "compiler/base/Utf8.h"

#include <algorithm>
#include <cassert>

namespace recipec {

struct SourceMap::Entry {
  std::string name;
  std::string text;
  SourceKind kind;
  std::vector<uint32_t> lineStarts;
};

SourceRange cover(SourceRange first, SourceRange last) {
  if (!first.isValid())
    return last;
  if (!last.isValid())
    return first;
  assert(first.source == last.source && "a range lies in one source");
  return {first.source, std::min(first.begin, last.begin),
          std::max(first.end, last.end)};
}

static std::vector<uint32_t> findLineStarts(std::string_view text) {
  std::vector<uint32_t> starts = {0};
  for (size_t i = 0; i < text.size(); ++i)
    if (text[i] == '\n')
      starts.push_back(uint32_t(i + 1));
  return starts;
}

SourceMap::SourceMap() = default;
SourceMap::~SourceMap() = default;

SourceId SourceMap::add(std::string name, std::string text, SourceKind kind) {
  auto entry = std::make_shared<Entry>();
  entry->name = std::move(name);
  entry->text = std::move(text);
  entry->kind = kind;
  entry->lineStarts = findLineStarts(entry->text);
  entries.push_back(std::move(entry));
  return SourceId(entries.size() - 1);
}

void SourceMap::adopt(const SourceMap& other) {
  assert(entries.empty() && "ids are those of the other map");
  entries = other.entries;
}

std::string_view SourceMap::name(SourceId id) const {
  return entries[size_t(id)]->name;
}

std::string_view SourceMap::text(SourceId id) const {
  return entries[size_t(id)]->text;
}

SourceKind SourceMap::kind(SourceId id) const {
  return entries[size_t(id)]->kind;
}

std::string_view SourceMap::text(SourceRange range) const {
  if (!range.isValid())
    return {};
  return text(range.source).substr(range.begin, range.end - range.begin);
}

LineColumn SourceMap::lineColumn(SourceId id, uint32_t offset) const {
  const Entry& entry = *entries[size_t(id)];
  const auto& starts = entry.lineStarts;
  offset = std::min(offset, uint32_t(entry.text.size()));
  auto next = std::upper_bound(starts.begin(), starts.end(), offset);
  int line = int(next - starts.begin());
  std::string_view text = entry.text;
  text = text.substr(0, offset);
  text.remove_prefix(std::min<size_t>(lineBegin(id, line), offset));
  return {line, 1 + int(countCodePoints(text))};
}

uint32_t SourceMap::lineBegin(SourceId id, int line) const {
  const Entry& entry = *entries[size_t(id)];
  assert(line >= 1 && size_t(line) <= entry.lineStarts.size() &&
         "no such line");
  if (line == 1 && entry.text.starts_with(byteOrderMark))
    return uint32_t(byteOrderMark.size());
  return entry.lineStarts[size_t(line) - 1];
}

std::string_view SourceMap::lineText(SourceId id, int line) const {
  const Entry& entry = *entries[size_t(id)];
  uint32_t begin = lineBegin(id, line);
  bool isLast = size_t(line) == entry.lineStarts.size();
  uint32_t end =
      isLast ? uint32_t(entry.text.size()) : entry.lineStarts[size_t(line)] - 1;
  std::string_view text = entry.text;
  text = text.substr(begin, end - begin);
  if (text.ends_with('\r'))
    text.remove_suffix(1);
  return text;
}

int SourceMap::lineCount(SourceId id) const {
  return int(entries[size_t(id)]->lineStarts.size());
}

std::string SourceMap::describe(SourceRange range) const {
  if (!range.isValid())
    return {};
  std::string result(name(range.source));
  if (kind(range.source) == SourceKind::commandLine)
    return result + " " + std::string(text(range.source));
  LineColumn place = lineColumn(range.source, range.begin);
  return result + ":" + std::to_string(place.line) + ":" +
         std::to_string(place.column);
}

} // namespace recipec
