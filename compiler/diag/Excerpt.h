// A source line with marks under it, and texts at the marks.
//
//   5 |   parallel { dp = 2, tp = 3 }
//     |              ------  ^^^^^^ the degree
//     |              |
//     |              `dp` is 2
//
// The text of the rightmost mark follows it in the same row; the others hang
// below.

#ifndef RECIPEC_DIAG_EXCERPT_H
#define RECIPEC_DIAG_EXCERPT_H

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace recipec::diag {

/// The bytes [begin, end) of a line, marked with `^` (primary) or `-`
/// (secondary).
struct Mark {
  uint32_t begin = 0;
  uint32_t end = 0;
  bool isPrimary = false;
  std::string text; // may be empty
};

enum class Style { plain, primary, secondary };

struct Segment {
  std::string text;
  Style style = Style::plain;
};

/// One line of output, without the gutter to the left of `|`.
using Row = std::vector<Segment>;

struct ExcerptOptions {
  int columns = 0;    // the widest row; a longer line shows a window
  bool wraps = false; // whether texts are wrapped to `columns` as well
};

/// Returns the line, then the rows below it. Every mark is drawn: an empty mark
/// takes one column, and a mark outside the window takes the column at its
/// edge.
std::vector<Row> annotate(std::string_view line, std::vector<Mark> marks,
                          const ExcerptOptions& options);

} // namespace recipec::diag

#endif // RECIPEC_DIAG_EXCERPT_H
