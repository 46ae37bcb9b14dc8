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

/// The launcher's number of processes, and what follows it on the line.
const std::regex& countedProcesses() {
  static const std::regex pattern(
      R"(\b(mpirun|mpiexec|srun)\b.*? (-np|-n|--ntasks)[ =](\d{1,7})\b(.*))");
  return pattern;
}

/// Whether the count is of one host: `8 GPUs per node`, `8 GPUs/node`, or
/// behind a number of hosts: `16 nodes x 8 GPUs`.
bool isOfHost(const std::string& before, const std::string& rest) {
  static const std::regex perHost(R"(^\s*(per|each|a|an|/|on each)(\b|\s|\w))",
                                  std::regex::icase);
  static const std::regex hosts(
      R"(\b(nodes?|hosts?|servers?|machines?|instances?)\b)",
      std::regex::icase);
  return std::regex_search(rest, perHost) || std::regex_search(before, hosts);
}

/// The ranks of a process by the options of nccl-tests' program: GPUs of a
/// thread times threads.
int64_t ranksOfProcess(const std::string& afterLauncher) {
  static const std::regex program(R"(_perf\b(.*))");
  static const std::regex option(
      R"( (-g|--ngpus|-t|--nthreads)[ =](\d{1,4})\b)");
  std::smatch match;
  if (!std::regex_search(afterLauncher, match, program))
    return 1;
  const std::string arguments = match[1];
  int64_t ranks = 1;
  for (std::sregex_iterator each(arguments.begin(), arguments.end(), option),
       end;
       each != end; ++each)
    ranks *= std::max(std::atoll(each->str(2).c_str()), 1LL);
  return ranks;
}

RankClaim claimAt(const std::string& line, size_t lineBegin, size_t at,
                  size_t length, int64_t ranks, SourceId source) {
  return {
      ranks,
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
        !isOfHost(match.prefix(), match.suffix()))
      claims.push_back(claimAt(
          line, at, size_t(match.position(2)),
          size_t(match.position(3) - match.position(2) + match.length(3)),
          std::atoll(match.str(2).c_str()), source));
    // Of a command that goes on, the rest may multiply the ranks.
    if (!line.ends_with('\\') &&
        std::regex_search(line, match, countedProcesses()))
      claims.push_back(claimAt(
          line, at, size_t(match.position(2)),
          size_t(match.position(3) - match.position(2) + match.length(3)),
          std::atoll(match.str(3).c_str()) * ranksOfProcess(match[4]), source));
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
