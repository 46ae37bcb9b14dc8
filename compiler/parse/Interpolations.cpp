// Checks how deeply strings are nested in interpolations of strings.
//
// ANTLR's lexer recurses into interpolations, so a thousand levels would
// overflow its stack. One pass with an explicit stack finds the first level
// that is too deep. It follows single-line strings and interpolations as
// grammar/Recipe.g4 defines them. Texts between `"""` are flat to the lexer; an
// interpolation in one is checked when it is lexed separately.

#include "compiler/parse/Tokens.h"

namespace recipec::parse {
namespace {

class InterpolationCheck {
public:
  InterpolationCheck(const SourceMap& sources, SourceRange range,
                     diag::Engine& engine)
      : text(sources.text(range)), range(range), engine(engine) {}

  bool run() {
    while (at < text.size()) {
      step();
      if (holes <= maxInterpolationDepth)
        continue;
      report();
      return false;
    }
    return true;
  }

private:
  bool inString() const { return !open.empty() && open.back() == '"'; }

  void step() {
    char c = text[at];
    if (c == '\n')
      closeAll();
    else if (inString())
      stepInString(c);
    else if (open.empty() && c == '#')
      at = std::min(text.find('\n', at), text.size()) - 1;
    else if (open.empty() && text.substr(at).starts_with(marks))
      skipText();
    else if (c == '"')
      open += c;
    else if (c == '}' && !open.empty())
      close();
    ++at;
  }

  void stepInString(char c) {
    if (c == '\\' && at + 1 < text.size() && text[at + 1] != '\n')
      ++at;
    else if (c == '"')
      open.pop_back();
    else if (c == '{') {
      open += c;
      ++holes;
    }
  }

  void close() {
    open.pop_back();
    --holes;
  }

  /// A string ends on its line, even if it is not closed.
  void closeAll() {
    open.clear();
    holes = 0;
  }

  /// Advances to the last of the closing quotation marks.
  void skipText() {
    for (at += marks.size(); at < text.size(); ++at) {
      if (text[at] == '\\')
        ++at;
      else if (text.substr(at).starts_with(marks))
        break;
    }
    at += marks.size() - 1;
  }

  /// Reports the innermost interpolation, up to where it closes.
  void report() {
    size_t begin = at;
    size_t outside = open.size() - 1;
    while (at < text.size() && text[at] != '\n' && open.size() > outside)
      step();
    size_t end = open.size() <= outside && at > begin ? at - 1 : at;
    auto offset = [&](size_t place) {
      return range.begin + uint32_t(std::min(place, text.size()));
    };
    engine
        .report(diag::Kind::NestingTooDeep,
                {range.source, offset(begin), offset(end)},
                "strings are interpolated more than " +
                    std::to_string(maxInterpolationDepth) + " levels deep")
        .help("give inner strings names with `let`");
  }

  static constexpr std::string_view marks = "\"\"\"";

  std::string_view text;
  SourceRange range;
  diag::Engine& engine;
  std::string open; // `"` for a string, `{` for an interpolation in one
  int holes = 0;
  size_t at = 0;
};

} // namespace

bool checkInterpolations(const SourceMap& sources, SourceRange range,
                         diag::Engine& engine) {
  return InterpolationCheck(sources, range, engine).run();
}

} // namespace recipec::parse
