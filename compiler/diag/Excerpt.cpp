// Draws the marks of one line; see Excerpt.h for the shape.
//
//   1. Lay out the line as glyphs. For a very long line, lay out only the part
//      near the primary mark. For a line wider than the limit, choose a window
//      around that mark.
//   2. Compute the columns of each mark in the window. They differ from code
//      points, because tabs advance and wide characters take two columns.
//   3. Draw the row of marks, primary ones over secondary ones. The text of the
//      rightmost mark follows in the same row if there is space.
//   4. Draw the other texts below, from right to left, each under a line from
//      its mark.

#include "compiler/diag/Excerpt.h"

#include "compiler/diag/Glyphs.h"

#include <algorithm>

namespace recipec::diag {

namespace {

constexpr std::string_view elision = "...";
/// Texts are not wrapped to fewer columns: one word a line reads worse than a
/// long line.
constexpr int narrowestText = 24;

/// A mark in columns of the output row.
struct Span {
  int begin;
  int end;
  Style style;
  std::string text;
};

/// The visible part of a line, in columns of the line.
struct Window {
  int begin = 0;
  int end = 0;
  int total = 0;

  bool isSliceOfMore[2] = {}; // on the left, on the right

  bool isCutLeft() const { return begin > 0 || isSliceOfMore[0]; }
  bool isCutRight() const { return end < total || isSliceOfMore[1]; }
  /// Converts a column of the line to a column of the row.
  int place(int column) const {
    int inside = std::clamp(column, begin, end) - begin;
    return inside + (isCutLeft() ? int(elision.size()) : 0);
  }
};

class Annotation {
public:
  Annotation(std::string_view line, std::vector<Mark> marks,
             const ExcerptOptions& options)
      : line(line), marks(std::move(marks)), options(options) {}

  std::vector<Row> run() {
    slice();
    glyphs = layOut(line);
    placeWindow();
    rows.push_back({{lineText(), Style::plain}});
    for (const Mark& mark : marks)
      addSpan(mark);
    std::stable_sort(
        spans.begin(), spans.end(),
        [](const Span& a, const Span& b) { return a.begin < b.begin; });
    const Span* inlined = findInlined();
    drawMarks(inlined);
    drawHanging(inlined);
    return std::move(rows);
  }

private:
  /// The offset around which the line is shown: the one of the primary mark if
  /// it is on this line, else of the first mark.
  uint32_t centre() const {
    auto found = std::max_element(
        marks.begin(), marks.end(),
        [](const Mark& a, const Mark& b) { return a.isPrimary < b.isPrimary; });
    return found == marks.end() ? 0 : found->begin;
  }

  /// Cuts a very long line to the bytes that the window can show, plus a margin
  /// for characters of zero width. A thousand errors on one line lay the line
  /// out a thousand times, so this bounds the cost.
  void slice() {
    constexpr size_t bytesOfGlyph = 4;
    size_t reach = 2 * bytesOfGlyph * size_t(options.columns);
    if (line.size() <= 2 * reach)
      return;
    size_t middle = std::min<size_t>(centre(), line.size());
    size_t begin = middle - std::min(middle, reach);
    size_t end = std::min(middle + reach, line.size());
    window.isSliceOfMore[0] = begin > 0;
    window.isSliceOfMore[1] = end < line.size();
    line = line.substr(begin, end - begin);
    for (Mark& mark : marks)
      for (uint32_t* offset : {&mark.begin, &mark.end})
        *offset = uint32_t(std::clamp<size_t>(*offset, begin, end + 1) - begin);
  }

  int columnOf(uint32_t offset) const {
    int column = 0;
    for (const Glyph& glyph : glyphs)
      if (glyph.offset < offset)
        column += glyph.width;
    return column;
  }

  void placeWindow() {
    for (const Glyph& glyph : glyphs)
      window.total += glyph.width;
    window.end = window.total;
    if (window.total <= options.columns)
      return;
    int shown = std::max(1, options.columns - 2 * int(elision.size()));
    window.begin =
        std::clamp(columnOf(centre()) - shown / 3, 0, window.total - shown);
    window.end = window.begin + shown;
  }

  std::string lineText() const {
    std::string text(window.isCutLeft() ? elision : "");
    int column = 0;
    for (const Glyph& glyph : glyphs) {
      if (column >= window.begin && column + glyph.width <= window.end)
        text += glyph.text;
      column += glyph.width;
    }
    return text + std::string(window.isCutRight() ? elision : "");
  }

  void addSpan(const Mark& mark) {
    int begin = window.place(columnOf(mark.begin));
    int end = window.place(columnOf(mark.end));
    spans.push_back({begin, std::max(end, begin + 1),
                     mark.isPrimary ? Style::primary : Style::secondary,
                     mark.text});
  }

  /// The rightmost span with a text if the text fits after it, else nullptr.
  const Span* findInlined() const {
    const Span* last = nullptr;
    for (const Span& span : spans)
      if (!span.text.empty())
        last = &span;
    if (!last || last->text.find('\n') != std::string::npos)
      return nullptr;
    bool isFree =
        std::all_of(spans.begin(), spans.end(), [&](const Span& span) {
          bool isTwin = span.begin == last->begin && !span.text.empty();
          return &span == last || (span.end <= last->end && !isTwin);
        });
    int end = last->end + 1 + textWidth(last->text);
    return isFree && (!options.wraps || end <= options.columns) ? last
                                                                : nullptr;
  }

  void drawMarks(const Span* inlined) {
    int width = 0;
    for (const Span& span : spans)
      width = std::max(width, span.end);
    std::vector<Style> styles(size_t(width), Style::plain);
    for (Style style : {Style::secondary, Style::primary})
      for (const Span& span : spans)
        if (span.style == style)
          std::fill(styles.begin() + span.begin, styles.begin() + span.end,
                    style);
    Row row;
    for (Style style : styles) {
      if (row.empty() || row.back().style != style)
        row.push_back({"", style});
      row.back().text += style == Style::primary     ? '^'
                         : style == Style::secondary ? '-'
                                                     : ' ';
    }
    if (inlined)
      row.push_back({" " + printable(inlined->text), inlined->style});
    rows.push_back(std::move(row));
  }

  /// Draws a row with a vertical line below each of the first `count` hanging
  /// spans, and `text` at `column`.
  void drawRow(const std::vector<const Span*>& hanging, size_t count,
               int column, std::string text, Style style) {
    Row row;
    int width = 0;
    auto put = [&](int at, std::string part, Style partStyle) {
      if (at < width)
        return;
      row.push_back({std::string(size_t(at - width), ' '), Style::plain});
      width = at + textWidth(part);
      row.push_back({std::move(part), partStyle});
    };
    for (size_t i = 0; i < count; ++i)
      if (hanging[i]->begin < column)
        put(hanging[i]->begin, "|", hanging[i]->style);
    put(column, std::move(text), style);
    rows.push_back(std::move(row));
  }

  void drawHanging(const Span* inlined) {
    std::vector<const Span*> hanging;
    for (const Span& span : spans)
      if (!span.text.empty() && &span != inlined)
        hanging.push_back(&span);
    if (hanging.empty())
      return;
    const Span& last = *hanging.back();
    drawRow(hanging, hanging.size() - 1, last.begin, "|", last.style);
    for (size_t i = hanging.size(); i > 0; --i) {
      const Span& span = *hanging[i - 1];
      int columns = options.wraps
                        ? std::max(narrowestText, options.columns - span.begin)
                        : 0;
      for (std::string& line : wrap(span.text, columns))
        drawRow(hanging, i - 1, span.begin, std::move(line), span.style);
    }
  }

  std::string_view line;
  std::vector<Mark> marks;
  std::vector<Glyph> glyphs;
  const ExcerptOptions& options;
  Window window;
  std::vector<Span> spans;
  std::vector<Row> rows;
};

} // namespace

std::vector<Row> annotate(std::string_view line, std::vector<Mark> marks,
                          const ExcerptOptions& options) {
  return Annotation(line, std::move(marks), options).run();
}

} // namespace recipec::diag
