// Dates and times are those of RFC 3339 (no leap seconds), with the days of
// each month and of leap years; addresses those of RFC 5321 without quoted
// names and RFC 791.

#include "runtime/grammar/schema/StringFormats.h"

#include <utility>
#include <vector>

namespace reciperun::grammar {
namespace {

std::string datePattern() {
  const std::string leapYear = "(?:[0-9]{2}(?:0[48]|[2468][048]|[13579][26])|"
                               "(?:[02468][048]|[13579][26])00)";
  return "(?:[0-9]{4}-(?:(?:0[13578]|1[02])-(?:0[1-9]|[12][0-9]|3[01])|"
         "(?:0[469]|11)-(?:0[1-9]|[12][0-9]|30)|"
         "02-(?:0[1-9]|1[0-9]|2[0-8]))|" +
         leapYear + "-02-29)";
}

std::string timePattern() {
  return "(?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](?:\\.[0-9]{1,9})?"
         "(?:Z|[+-](?:[01][0-9]|2[0-3]):[0-5][0-9])";
}

std::string uuidPattern() {
  return "[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-"
         "[0-9a-fA-F]{12}";
}

std::string hostPattern() {
  const std::string label = "[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?";
  return label + "(?:\\." + label + "){0,7}";
}

std::string emailPattern() {
  const std::string atom = "[a-zA-Z0-9!#$%&'*+/=?^_`{|}~-]{1,64}";
  return atom + "(?:\\." + atom + "){0,3}@" + hostPattern();
}

std::string ipv4Pattern() {
  const std::string byte = "(?:25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])";
  return byte + "(?:\\." + byte + "){3}";
}

const std::vector<std::pair<std::string, std::string>>& formats() {
  static const std::vector<std::pair<std::string, std::string>> all = {
      {"date", datePattern()},
      {"time", timePattern()},
      {"date-time", datePattern() + "T" + timePattern()},
      {"uuid", uuidPattern()},
      {"email", emailPattern()},
      {"hostname", hostPattern()},
      {"ipv4", ipv4Pattern()},
  };
  return all;
}

} // namespace

std::string patternOfFormat(std::string_view format) {
  for (const auto& [name, pattern] : formats())
    if (name == format)
      return pattern;
  return "";
}

std::string knownFormats() {
  std::string names;
  for (const auto& [name, pattern] : formats())
    names += (names.empty() ? "`" : ", `") + name + "`";
  return names;
}

} // namespace reciperun::grammar
