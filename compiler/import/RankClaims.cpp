// See RankClaims.h.

#include "compiler/import/RankClaims.h"

#include <algorithm>
#include <cstdlib>
#include <regex>

namespace recipec::importer {
namespace {

/// The number, and what follows it on the line.
const std::regex& countedGpus() {
  static const std::regex pattern(
      R"((^|[^\w.])(\d{1,7})[ -]?(?:x[ -]?)?(?:[A-Z]{1,2}\d{3} )?(GPUs?|ranks)\b)",
      std::regex::icase);
  return pattern;
}

const std::regex& countedProcesses() {
  static const std::regex pattern(
      R"(\b(mpirun|mpiexec|srun)\b.* (-np|-n|--ntasks)[ =](\d{1,7})\b)");
  return pattern;
}

/// Whether the count is of one host: `8 GPUs per node`, `8 GPUs/node`.
bool isOfHost(const std::string& rest) {
  static const std::regex pattern(R"(^\s*(per|each|a|an|/|on each)(\b|\s|\w))",
                                  std::regex::icase);
  return std::regex_search(rest, pattern);
}

RankClaim claimAt(const std::string& line, size_t lineBegin, size_t at,
                  size_t length, const std::string& number, SourceId source) {
  return {
      std::atoll(number.c_str()),
      line.substr(at, length),
      {source, uint32_t(lineBegin + at), uint32_t(lineBegin + at + length)}};
}

} // namespace

std::vector<RankClaim> claimsOfText(std::string_view text, size_t begin,
                                    size_t end, SourceId source) {
  std::vector<RankClaim> claims;
  constexpr size_t longestLine = 2000;
  for (size_t at = begin; at < end;) {
    const size_t lineEnd = std::min(text.find('\n', at), end);
    const std::string line(
        text.substr(at, std::min(lineEnd - at, longestLine)));
    std::smatch match;
    if (std::regex_search(line, match, countedGpus()) &&
        !isOfHost(match.suffix()))
      claims.push_back(claimAt(
          line, at, size_t(match.position(2)),
          size_t(match.position(3) - match.position(2) + match.length(3)),
          match[2], source));
    if (std::regex_search(line, match, countedProcesses()))
      claims.push_back(claimAt(
          line, at, size_t(match.position(2)),
          size_t(match.position(3) - match.position(2) + match.length(3)),
          match[3], source));
    at = lineEnd + 1;
  }
  return claims;
}

std::vector<RankClaim> claimsOfRanks(const benchlog::BenchLog& log,
                                     SourceId source) {
  if (log.ranks.empty())
    return {};
  const auto& last =
      *std::ranges::max_element(log.ranks, {}, &benchlog::RankLine::rank);
  const SourceRange range = last.span.end > 0
                                ? SourceRange{source, uint32_t(last.span.begin),
                                              uint32_t(last.span.end)}
                                : SourceRange{};
  return {{last.rank + 1, "Rank " + std::to_string(last.rank), range}};
}

} // namespace recipec::importer
