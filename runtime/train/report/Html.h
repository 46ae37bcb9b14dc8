// Pieces of HTML and SVG.

#ifndef RECIPERUN_TRAIN_REPORT_HTML_H
#define RECIPERUN_TRAIN_REPORT_HTML_H

#include <string>
#include <string_view>

namespace reciperun::train {

/// The text as content or as the value of an attribute in quotation marks.
inline std::string escaped(std::string_view text) {
  std::string made;
  for (const char each : text)
    switch (each) {
    case '<':
      made += "&lt;";
      break;
    case '>':
      made += "&gt;";
      break;
    case '&':
      made += "&amp;";
      break;
    case '"':
      made += "&quot;";
      break;
    case '\'':
      made += "&#39;";
      break;
    default:
      made += each;
    }
  return made;
}

} // namespace reciperun::train

#endif // RECIPERUN_TRAIN_REPORT_HTML_H
