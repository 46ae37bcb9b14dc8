// Text as a terminal shows it: which bytes make a character, and how many
// columns that takes. Bytes that are no text, and what is not printable, such
// as control characters and marks that turn the direction of writing, become
// `?`: nothing in a source can steer the terminal, or look like another text.

#ifndef RECIPEC_DIAG_GLYPHS_H
#define RECIPEC_DIAG_GLYPHS_H

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace recipec::diag {

/// One code point as it is printed, and the columns that it takes.
struct Glyph {
  std::string text;
  int width;
  uint32_t offset; // in the line, in bytes
};

/// The glyphs of one line; tabs advance to the next multiple of four.
std::vector<Glyph> layOut(std::string_view line);

/// The printable text of a line, and its width in columns.
std::string printable(std::string_view line);
int textWidth(std::string_view line);

/// Breaks text at spaces into lines of at most `columns`. What stands between
/// backticks stays together, and a longer word is not broken. Newlines break
/// too; with `columns` = 0 they alone do.
std::vector<std::string> wrap(std::string_view text, int columns);

} // namespace recipec::diag

#endif // RECIPEC_DIAG_GLYPHS_H
