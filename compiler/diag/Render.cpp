// Renders a diagnostic as text: see Render.h for the shape.
//
//   1. The head: severity, message, kind.
//   2. An excerpt of each source with a label, the source of the primary range
//      first: its place, the marked lines, the marks with their texts. A single
//      line between two marked lines is shown; `...` replaces several.
//   3. Notes, each with its place; helps.

#include "compiler/diag/Render.h"

#include "compiler/diag/Excerpt.h"
#include "compiler/diag/Glyphs.h"
#include "compiler/diag/Shown.h"

#include <algorithm>
#include <map>

namespace recipec::diag {

namespace {

struct Palette {
  std::string_view error, warning, note, help, place, reset;
};

constexpr Palette plainPalette = {};
constexpr Palette colourPalette = {"\x1b[1;31m", "\x1b[1;33m", "\x1b[1;36m",
                                   "\x1b[1;32m", "\x1b[1;34m", "\x1b[0m"};

/// Texts are not wrapped to fewer columns.
constexpr int narrowest = 24;

/// A range that is marked in an excerpt.
struct Marked {
  SourceRange range;
  std::string text;
  bool isPrimary;
};

class Renderer {
public:
  Renderer(const SourceMap& sources, const RenderOptions& options)
      : sources(sources), options(options),
        palette(options.colour ? colourPalette : plainPalette) {}

  std::string run(const Diagnostic& diagnostic) {
    bool isError = !options.areWarnings &&
                   kindSeverity(diagnostic.kind) == Severity::error;
    primaryColour = isError ? palette.error : palette.warning;
    head(primaryColour, isError ? "error" : "warning",
         diagnostic.message + " [" + std::string(kindName(diagnostic.kind)) +
             "]");
    renderExcerpts(diagnostic);
    for (const Label& label : diagnostic.labels)
      if (!isMarkable(label.range))
        renderNote({label.text, label.range});
    for (const Note& note : diagnostic.notes)
      renderNote(note);
    for (const std::string& help : diagnostic.helps)
      head(palette.help, "help", help);
    return std::move(out);
  }

  /// Renders the count of diagnostics that are not shown.
  std::string runRest(const std::string& rest) {
    head(palette.note, "note", rest);
    head(palette.help, "help", restHelp);
    return std::move(out);
  }

private:
  void head(std::string_view colour, std::string_view word,
            std::string_view message) {
    int indentation = int(word.size()) + 2;
    int columns =
        options.wraps ? std::max(narrowest, options.columns - indentation) : 0;
    std::string margin = std::string(colour) + std::string(word) + ":" +
                         std::string(palette.reset) + " ";
    for (const std::string& line : wrap(message, columns)) {
      out += line.empty() ? "" : margin + line;
      out += "\n";
      margin = std::string(size_t(indentation), ' ');
    }
  }

  // ---- notes

  void renderNote(const Note& note) {
    bool hasExcerpt = note.range.isValid() && isUsers(note.range.source);
    std::string message = note.message;
    if (note.range.isValid() && !hasExcerpt)
      message += ", " + shortPlace(note.range);
    head(palette.note, "note", message);
    if (hasExcerpt)
      excerpt({{note.range, "", true}});
  }

  bool isUsers(SourceId source) const {
    return sources.kind(source) == SourceKind::file ||
           sources.kind(source) == SourceKind::data;
  }

  /// `std/schema/parallel.recipe:12`, or the argument of the command line.
  std::string shortPlace(SourceRange range) const {
    std::string place = sources.describe(range);
    if (sources.kind(range.source) != SourceKind::commandLine)
      return place.substr(0, place.rfind(':'));
    return "`" + place + "`";
  }

  // ---- excerpts

  /// Ranges in the standard library become notes instead of marks.
  bool isMarkable(SourceRange range) const {
    return range.isValid() &&
           sources.kind(range.source) != SourceKind::standardLibrary;
  }

  void renderExcerpts(const Diagnostic& diagnostic) {
    std::vector<std::vector<Marked>> bySource;
    auto add = [&](Marked marked) {
      auto found = std::find_if(
          bySource.begin(), bySource.end(), [&](const auto& excerpt) {
            return excerpt.front().range.source == marked.range.source;
          });
      if (found == bySource.end())
        found = bySource.emplace(found);
      found->push_back(std::move(marked));
    };
    if (diagnostic.range.isValid())
      add({diagnostic.range, diagnostic.label, true});
    for (const Label& label : diagnostic.labels)
      if (isMarkable(label.range))
        add({label.range, label.text, false});
    for (const std::vector<Marked>& marked : bySource)
      excerpt(marked);
  }

  bool isOnCommandLine(SourceId source) const {
    return sources.kind(source) == SourceKind::commandLine;
  }

  /// Draws one excerpt with all marked ranges of a source. The first range
  /// gives the place.
  void excerpt(const std::vector<Marked>& marked) {
    SourceId source = marked.front().range.source;
    bool isArgument = isOnCommandLine(source);
    std::map<int, std::vector<Mark>> lines;
    for (const Marked& each : marked) {
      int line = sources.lineColumn(source, each.range.begin).line;
      lines[line].push_back(markOf(each, line));
    }
    size_t width =
        isArgument ? 0 : std::to_string(lines.rbegin()->first).size();
    std::string margin(width, ' ');
    out += paint(margin + " --> ");
    out += printable(isArgument ? "the command line"
                                : sources.describe(marked.front().range));
    out += "\n";
    int last = 0;
    for (auto& [line, marks] : lines) {
      if (last > 0 && line == last + 2)
        drawLine(source, last + 1, {}, width);
      else if (last > 0 && line > last + 2)
        out += paint("...") + "\n";
      drawLine(source, line, std::move(marks), width);
      last = line;
    }
  }

  /// The option before the text of a command line argument, for example `--set
  /// `.
  std::string prefixOf(SourceId source) const {
    return isOnCommandLine(source) ? std::string(sources.name(source)) + " "
                                   : "";
  }

  Mark markOf(const Marked& marked, int line) const {
    SourceId source = marked.range.source;
    uint32_t lineBegin = sources.lineBegin(source, line);
    uint32_t length = uint32_t(sources.lineText(source, line).size());
    uint32_t shift = uint32_t(prefixOf(source).size());
    auto inLine = [&](uint32_t offset) {
      return std::min(offset - std::min(offset, lineBegin), length + 1) + shift;
    };
    return {inLine(marked.range.begin), inLine(marked.range.end),
            marked.isPrimary, marked.text};
  }

  void drawLine(SourceId source, int line, std::vector<Mark> marks,
                size_t width) {
    std::string number = isOnCommandLine(source) ? "" : std::to_string(line);
    number.insert(0, width - number.size(), ' ');
    std::string margin = paint(" " + std::string(width, ' ') + " |");
    int marginWidth = int(width) + 4; // ` 14 | `
    std::string text =
        prefixOf(source) + std::string(sources.lineText(source, line));
    bool isMarked = !marks.empty();
    std::vector<Row> rows = annotate(
        text, std::move(marks),
        {std::max(narrowest, options.columns - marginWidth), options.wraps});
    if (!isMarked)
      rows.resize(1);
    for (size_t i = 0; i < rows.size(); ++i) {
      out += i == 0 ? paint(" " + number + " |") : margin;
      out += textOf(rows[i]);
      out += "\n";
    }
  }

  std::string textOf(const Row& row) const {
    std::string text;
    for (const Segment& segment : row) {
      std::string_view colour = segment.style == Style::primary ? primaryColour
                                : segment.style == Style::secondary
                                    ? palette.place
                                    : std::string_view();
      text += colour;
      text += segment.text;
      text += colour.empty() ? std::string_view() : palette.reset;
    }
    return text.empty() ? text : " " + text;
  }

  std::string paint(const std::string& text) const {
    return std::string(palette.place) + text + std::string(palette.reset);
  }

  const SourceMap& sources;
  const RenderOptions& options;
  const Palette& palette;
  std::string_view primaryColour;
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
  Shown shown = chooseShown(engine, options);
  for (const Diagnostic* diagnostic : shown.diagnostics) {
    if (!out.empty())
      out += "\n";
    out += render(*diagnostic, sources, options);
  }
  if (!shown.rest.empty())
    out += (out.empty() ? "" : "\n") +
           Renderer(sources, options).runRest(shown.rest);
  return out;
}

} // namespace recipec::diag
