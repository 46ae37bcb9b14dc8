// Renders a diagnostic as text: see Render.h for the shape.
//
//   1. The head: severity, message, kind.
//   2. The excerpt: place, line, carets under the range, label. Columns on the
//      screen differ from code points: tabs advance, wide characters take two.
//   3. Notes, each with its place; helps.

#include "compiler/diag/Render.h"

#include <algorithm>

namespace recipec::diag {

namespace {

constexpr int tabWidth = 4;

struct Palette {
  std::string_view error, warning, note, help, place, reset;
};

constexpr Palette plainPalette = {};
constexpr Palette colourPalette = {"\x1b[1;31m", "\x1b[1;33m", "\x1b[1;36m",
                                   "\x1b[1;32m", "\x1b[1;34m", "\x1b[0m"};

/// One code point as it is printed, and the columns that it takes.
struct Glyph {
  std::string text;
  int width;
  uint32_t offset; // in the line, in bytes
};

/// Decodes one code point at `text[at]`; sets its length in bytes. Returns
/// nothing for a byte that does not begin a complete sequence.
std::optional<uint32_t> decode(std::string_view text, size_t at,
                               size_t& length) {
  unsigned char first = text[at];
  length = 1;
  if (first < 0x80)
    return first;
  size_t expected = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  if (first < 0xC2 || first > 0xF4 || at + expected > text.size())
    return std::nullopt;
  uint32_t value = first & (0xFF >> (expected + 1));
  for (size_t i = 1; i < expected; ++i) {
    unsigned char next = text[at + i];
    if ((next & 0xC0) != 0x80)
      return std::nullopt;
    value = value << 6 | (next & 0x3F);
  }
  length = expected;
  return value;
}

struct CodePointRange {
  uint32_t first, last;
};

bool isIn(uint32_t value, const CodePointRange* begin,
          const CodePointRange* end) {
  return std::any_of(begin, end, [&](CodePointRange range) {
    return value >= range.first && value <= range.last;
  });
}

/// Columns on a terminal: the blocks of Unicode's EastAsianWidth W and F that
/// are in everyday use, and the combining marks that take none.
int displayWidth(uint32_t value) {
  static constexpr CodePointRange wide[] = {
      {0x1100, 0x115F}, {0x2E80, 0xA4CF},   {0xAC00, 0xD7A3},
      {0xF900, 0xFAFF}, {0xFE30, 0xFE6F},   {0xFF00, 0xFF60},
      {0xFFE0, 0xFFE6}, {0x1F300, 0x1FAFF}, {0x20000, 0x3FFFD}};
  static constexpr CodePointRange combining[] = {
      {0x300, 0x36F}, {0x200B, 0x200F}, {0xFE00, 0xFE0F}};
  if (isIn(value, std::begin(combining), std::end(combining)))
    return 0;
  return isIn(value, std::begin(wide), std::end(wide)) ? 2 : 1;
}

std::vector<Glyph> layOut(std::string_view line) {
  std::vector<Glyph> glyphs;
  int column = 0;
  for (size_t at = 0; at < line.size();) {
    size_t length = 1;
    std::optional<uint32_t> value = decode(line, at, length);
    Glyph glyph{std::string(line.substr(at, length)), 1, uint32_t(at)};
    bool isControl = value && (*value < 0x20 || *value == 0x7F);
    if (value == '\t') {
      glyph.width = tabWidth - column % tabWidth;
      glyph.text = std::string(glyph.width, ' ');
    } else if (!value || isControl) {
      glyph.text = "?";
    } else {
      glyph.width = displayWidth(*value);
    }
    column += glyph.width;
    glyphs.push_back(std::move(glyph));
    at += length;
  }
  return glyphs;
}

/// A line and the carets under bytes [begin, end) of it.
struct Excerpt {
  std::string text;
  std::string carets;
};

Excerpt makeExcerpt(std::string_view line, uint32_t begin, uint32_t end,
                    int columns) {
  std::vector<Glyph> glyphs = layOut(line);
  int caretColumn = 0, total = 0;
  for (const Glyph& glyph : glyphs) {
    if (glyph.offset < begin)
      caretColumn += glyph.width;
    total += glyph.width;
  }
  // A line that is too long shows a window around the range.
  int windowBegin = 0, windowEnd = total;
  if (total > columns) {
    windowBegin = std::clamp(caretColumn - columns / 3, 0, total - columns);
    windowEnd = windowBegin + columns;
  }
  Excerpt excerpt;
  auto elide = [&] {
    excerpt.text += "...";
    excerpt.carets += "   ";
  };
  if (windowBegin > 0)
    elide();
  int column = 0;
  for (const Glyph& glyph : glyphs) {
    bool shown = column >= windowBegin && column + glyph.width <= windowEnd;
    column += glyph.width;
    if (!shown)
      continue;
    excerpt.text += glyph.text;
    bool marked = glyph.offset >= begin && glyph.offset < end;
    excerpt.carets += std::string(glyph.width, marked ? '^' : ' ');
  }
  if (windowEnd < total)
    excerpt.text += "...";
  excerpt.carets.erase(excerpt.carets.find_last_not_of(' ') + 1);
  // An empty range, at a line's end say, still has one caret.
  if (excerpt.carets.empty())
    excerpt.carets =
        std::string(caretColumn - windowBegin + (windowBegin > 0 ? 3 : 0),
                    ' ') +
        '^';
  return excerpt;
}

class Renderer {
public:
  Renderer(const SourceMap& sources, const RenderOptions& options)
      : sources(sources), options(options),
        palette(options.colour ? colourPalette : plainPalette) {}

  std::string run(const Diagnostic& diagnostic) {
    bool isError = kindSeverity(diagnostic.kind) == Severity::error;
    head(isError ? palette.error : palette.warning,
         isError ? "error" : "warning",
         diagnostic.message + " [" + std::string(kindName(diagnostic.kind)) +
             "]");
    excerpt(diagnostic.range, diagnostic.label);
    for (const Note& note : diagnostic.notes)
      renderNote(note);
    for (const std::string& help : diagnostic.helps)
      head(palette.help, "help", help);
    return std::move(out);
  }

private:
  void head(std::string_view colour, std::string_view word,
            std::string_view message) {
    out += colour;
    out += word;
    out += ":";
    out += palette.reset;
    out += " ";
    out += message;
    out += "\n";
  }

  void renderNote(const Note& note) {
    bool hasExcerpt = note.range.isValid() &&
                      sources.kind(note.range.source) == SourceKind::file;
    std::string message = note.message;
    if (note.range.isValid() && !hasExcerpt)
      message += ", " + shortPlace(note.range);
    head(palette.note, "note", message);
    if (hasExcerpt)
      excerpt(note.range, "");
  }

  /// `std/schema/parallel.recipe:12`, or the argument of the command line.
  std::string shortPlace(SourceRange range) const {
    std::string place = sources.describe(range);
    if (sources.kind(range.source) != SourceKind::commandLine)
      return place.substr(0, place.rfind(':'));
    return "`" + place + "`";
  }

  void excerpt(SourceRange range, const std::string& label) {
    if (!range.isValid())
      return;
    bool onCommandLine = sources.kind(range.source) == SourceKind::commandLine;
    LineColumn place = sources.lineColumn(range.source, range.begin);
    std::string number = onCommandLine ? "" : std::to_string(place.line);
    std::string margin(number.size(), ' ');

    std::string line(sources.lineText(range.source, place.line));
    uint32_t lineBegin = uint32_t(sources.lineBegin(range.source, place.line));
    uint32_t begin = range.begin - std::min(range.begin, lineBegin);
    uint32_t end = range.end - std::min(range.end, lineBegin);
    if (onCommandLine) {
      std::string prefix = std::string(sources.name(range.source)) + " ";
      line = prefix + line;
      begin += uint32_t(prefix.size());
      end += uint32_t(prefix.size());
    }
    Excerpt shown = makeExcerpt(line, begin, end, options.columns);

    out += paint(margin + " --> ");
    out += onCommandLine ? "the command line" : sources.describe(range);
    out += "\n";
    out += paint(" " + number + " |");
    out += shown.text.empty() ? "\n" : " " + shown.text + "\n";
    out += paint(" " + margin + " |");
    out += " ";
    out += palette.error;
    out += shown.carets + (label.empty() ? "" : " " + label);
    out += palette.reset;
    out += "\n";
  }

  std::string paint(const std::string& text) const {
    return std::string(palette.place) + text + std::string(palette.reset);
  }

  const SourceMap& sources;
  const RenderOptions& options;
  const Palette& palette;
  std::string out;
};

} // namespace

std::string render(const Diagnostic& diagnostic, const SourceMap& sources,
                   const RenderOptions& options) {
  return Renderer(sources, options).run(diagnostic);
}

std::string render(const Engine& engine, const SourceMap& sources,
                   const RenderOptions& options) {
  std::string out;
  for (const Diagnostic& diagnostic : engine.all()) {
    if (!out.empty())
      out += "\n";
    out += render(diagnostic, sources, options);
  }
  return out;
}

} // namespace recipec::diag
