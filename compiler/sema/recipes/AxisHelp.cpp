// Finds the values in the text of an axis that is no list.

#include "compiler/sema/recipes/AxisHelp.h"

namespace recipec::sema {

std::string helpWithAxis(std::string_view written) {
  // `"none, optimizer"`
  if (written.starts_with('"') && written.find(',') != written.npos) {
    std::string list;
    for (char c : written)
      if (c == ',')
        list += "\", \"";
      else if (c != ' ')
        list += c;
    return "write `[" + list + "]`";
  }
  std::string values;
  if (written.starts_with('{'))
    for (size_t at = written.find('='); at != written.npos;
         at = written.find('=', at + 1)) {
      const size_t begin = written.find_first_not_of("= ", at);
      if (begin == written.npos)
        break;
      const std::string_view value =
          written.substr(begin, written.find_first_of(",} \n", begin) - begin);
      const bool isNumber =
          value.find_first_not_of("0123456789.eE+-_") == value.npos;
      if (isNumber && !value.empty())
        values += (values.empty() ? "" : ", ") + std::string(value);
    }
  const bool areBounds = written.find("min") != written.npos ||
                         written.find("max") != written.npos ||
                         written.find("low") != written.npos ||
                         written.find("high") != written.npos;
  if (areBounds && !values.empty())
    return "an axis lists each value: write `[" + values +
           "]`, with those between that are to run";
  return "write `[" + std::string(written) + "]`";
}

} // namespace recipec::sema
