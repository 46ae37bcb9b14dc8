// Text as a terminal shows it: which bytes form a character, and how many
// columns it takes. Invalid UTF-8 and unprintable characters, for example
// control characters and marks that change the direction of writing, become
// `?`. So a source cannot control the terminal or disguise its text.

#ifndef RECIPEC_DIAG_GLYPHS_H
#define RECIPEC_DIAG_GLYPHS_H

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace recipec::diag {

/// One code point as it is printed, and its width in columns.
struct Glyph {
  std::string text;
  int width;
  uint32_t offset; // in the line, in bytes
};

/// The glyphs of one line; tabs advance to the next multiple of four.
std::vector<Glyph> layOut(std::string_view line);

/// The printable text of a line. textWidth returns its width in columns.
std::string printable(std::string_view line);
int textWidth(std::string_view line);

/// Wraps text at spaces into lines of at most `columns`. Text between backticks
/// is not broken, nor is a single long word. Newlines always break; `columns` =
/// 0 turns off all other breaks.
std::vector<std::string> wrap(std::string_view text, int columns);

} // namespace recipec::diag

#endif // RECIPEC_DIAG_GLYPHS_H
