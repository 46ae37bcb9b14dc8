#include "compiler/base/Text.h"

#include <cctype>

namespace recipec {

std::string onOneLine(std::string_view text) {
  std::string line;
  for (unsigned char c : text) {
    const bool isSpace = std::isspace(c) != 0;
    if (isSpace && (line.empty() || line.back() == ' '))
      continue;
    line += isSpace ? ' ' : char(c);
  }
  if (line.ends_with(' '))
    line.pop_back();
  return line;
}

} // namespace recipec
