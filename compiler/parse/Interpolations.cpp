// How deep strings are nested in interpolations of strings.
//
// ANTLR's lexer is recursive in them, so that a text of a thousand levels would
// take its stack. One pass with a stack of what is open finds the first level
// too many: strings and holes of one line, as grammar/Recipe.g4 has them. The
// texts between `"""` are flat to the lexer; a hole in one is checked when it
// is lexed by itself.

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

  /// A string ends on its line, whether it is closed or not.
  void closeAll() {
    open.clear();
    holes = 0;
  }

  /// To the last of the closing marks.
  void skipText() {
    for (at += marks.size(); at < text.size(); ++at) {
      if (text[at] == '\\')
        ++at;
      else if (text.substr(at).starts_with(marks))
        break;
    }
    at += marks.size() - 1;
  }

  /// The innermost hole, to where it is closed.
  void report() {
    size_t begin = at;
    size_t outside = open.size() - 1;
    while (at < text.size() && text[at] != '\n' && open.size() > outside)
      step();
    size_t end = open.size() <= outside && at > begin ? at - 1 : at;
    auto offset = [&](size_t place) {
      return range.begin + uint32_t(std::min(place, text.size()));
    };
    engine.report(diag::Kind::NestingTooDeep,
                  {range.source, offset(begin), offset(end)},
                  "strings are interpolated more than " +
                      std::to_string(maxInterpolationDepth) + " levels deep");
  }

  static constexpr std::string_view marks = "\"\"\"";

  std::string_view text;
  SourceRange range;
  diag::Engine& engine;
  std::string open; // `"` for a string, `{` for a hole of one
  int holes = 0;
  size_t at = 0;
};

} // namespace

bool checkInterpolations(const SourceMap& sources, SourceRange range,
                         diag::Engine& engine) {
  return InterpolationCheck(sources, range, engine).run();
}

} // namespace recipec::parse
