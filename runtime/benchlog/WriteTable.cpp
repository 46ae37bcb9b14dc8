// Prints the table in the columns of nccl-tests.

#include "runtime/benchlog/BenchLog.h"

#include <cstdarg>
#include <cstdio>

namespace reciperun::benchlog {
namespace {

/// The text of a printf of any length.
[[gnu::format(printf, 1, 2)]] std::string formatted(const char* format, ...) {
  va_list arguments, again;
  va_start(arguments, format);
  va_copy(again, arguments);
  const int length = std::vsnprintf(nullptr, 0, format, arguments);
  va_end(arguments);
  std::string text(size_t(length), '\0');
  std::vsnprintf(text.data(), text.size() + 1, format, again);
  va_end(again);
  return text;
}

std::string settingsText(const Settings& settings) {
  std::string text = formatted(
      "# nThread %d nGpus %d minBytes %ld maxBytes %ld step: %ld(%s) warmup "
      "iters: %d iters: %d agg iters: %d validation: %d graph: %d unalign: "
      "%d\n",
      settings.threads, settings.gpus, long(settings.minBytes),
      long(settings.maxBytes), long(settings.step),
      settings.isFactor ? "factor" : "bytes", settings.warmups,
      settings.iterations, settings.aggregated, settings.validation,
      settings.graph, settings.unalign);
  if (settings.blocking == 1)
    text += "# Blocking Enabled: wait for completion and barrier after each "
            "collective\n";
  if (settings.blocking > 1)
    text += "# Blocking Enabled: wait for completion after each collective (no "
            "barrier)\n";
  return text;
}

std::string rankText(const RankLine& rank) {
  return formatted("#  Rank %2d Group %2d Pid %6ld on %10s device %2d [%s] "
                   "%s\n",
                   rank.rank, rank.group, long(rank.pid), rank.host.c_str(),
                   rank.device, rank.address.c_str(), rank.name.c_str());
}

std::string columnTitles(const char* time, bool hasTimestamps) {
  const char* stamp = hasTimestamps ? "          timestamp" : "";
  const char* form = hasTimestamps ? "  %Y-%m-%d %H:%M:%S" : "";
  constexpr const char* format = "# %10s  %12s  %8s  %6s  %6s  %7s  %6s  %6s  "
                                 "%6s  %7s  %6s  %6s  %6s %s\n";
  std::string text =
      formatted("# %10s  %12s  %8s  %6s  %6s           out-of-place            "
                "           in-place          \n",
                "", "", "", "", "");
  text +=
      formatted(format, "size", "count", "type", "redop", "root", time, "algbw",
                "busbw", "#wrong", time, "algbw", "busbw", "#wrong", stamp);
  text += formatted(format, "(B)", "(elements)", "", "", "", "(us)", "(GB/s)",
                    "(GB/s)", "", "(us)", "(GB/s)", "(GB/s)", "", form);
  return text;
}

std::string halfText(const Half& half) {
  return "  " + columnText(half.microseconds.value, 7) + "  " +
         columnText(half.algorithm.value, 6) + "  " +
         columnText(half.bus.value, 6) + "  " +
         (half.wrong ? formatted("%6g", *half.wrong) : "   N/A");
}

} // namespace

std::string columnText(double value, int width) {
  int digits = 0; // before the point
  for (double power = 1; value >= power; power *= 10)
    ++digits;
  const int decimals = digits < width - 2 ? 2 : digits < width - 1 ? 1 : 0;
  if (digits <= width)
    return formatted("%*.*f", width, decimals, value);
  return formatted("%*.*e", width, width >= 7 ? 1 : 0, value);
}

std::string headerText(const BenchLog& log, const std::string& firstLine,
                       bool isCpuTime, bool hasTimestamps) {
  std::string text = "# " + firstLine + "\n";
  text += "# Collective test starting: " + log.test + "_perf\n";
  if (log.settings)
    text += settingsText(*log.settings);
  text += "#\n# Using devices\n";
  for (const RankLine& rank : log.ranks)
    text += rankText(rank);
  return text + "#\n" +
         columnTitles(isCpuTime ? "cputime" : "time", hasTimestamps);
}

std::string rowText(const Row& row) {
  std::string text =
      formatted("%12ld  %12ld  %8s  %6s  %6d", long(row.size), long(row.count),
                row.type.c_str(), row.redop.c_str(), row.root);
  for (const auto& half : {row.outOfPlace, row.inPlace})
    if (half)
      text += halfText(*half);
  if (!row.timestamp.empty())
    text += "  " + row.timestamp;
  return text + "\n";
}

std::string footerText(const BenchLog& log) {
  const long wrong = long(log.outOfBounds.value_or(0));
  const double average = log.average ? log.average->value : 0;
  return formatted("# %-20s : %ld %s\n", "Out of bounds values", wrong,
                   wrong ? "FAILED" : "OK") +
         formatted("# %-20s : %g %s\n", "Avg bus bandwidth", average,
                   log.verdict.c_str()) +
         "#\n# Collective test concluded: " + log.test + "_perf\n#\n";
}

} // namespace reciperun::benchlog
