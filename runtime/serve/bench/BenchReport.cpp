// Formats numbers in columns, and the same numbers as JSON.

#include "runtime/serve/bench/BenchReport.h"

#include <nlohmann/json.hpp>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>
#include <vector>

namespace reciperun::serve {
namespace {

using ReportJson = nlohmann::ordered_json;

constexpr int nameWidth = 50, numberWidth = 11;

std::string formatted(double value, const char* format) {
  char text[64];
  std::snprintf(text, sizeof text, format, value);
  return text;
}

std::string padded(std::string text, int width) {
  const bool isLeft = width > 0;
  const size_t length = size_t(isLeft ? width : -width);
  if (text.size() < length)
    text.insert(isLeft ? text.size() : 0, length - text.size(), ' ');
  return text;
}

std::string line(const std::string& name, const std::string& value) {
  return padded(name, nameWidth) + padded(value, -2 * numberWidth) + "\n";
}

std::string line(const std::string& name, double value) {
  return line(name, formatted(value, "%.2f"));
}

/// The columns of a summary, in milliseconds.
std::vector<std::pair<const char*, double>>
columnsOf(const BenchSummary& summary) {
  return {{"min", summary.least},   {"max", summary.most},
          {"avg", summary.average}, {"p50", summary.p50},
          {"p90", summary.p90},     {"p95", summary.p95},
          {"p99", summary.p99}};
}

std::string latencyRow(const std::string& name, const BenchSummary& summary) {
  std::string text = padded(name, 18);
  for (const auto& [column, value] : columnsOf(summary))
    text += padded(formatted(value, "%.2f"), -numberWidth);
  return text + "\n";
}

std::string latencyHead() {
  std::string text = padded("(ms)", 18);
  for (std::string name : {"MIN", "MAX", "AVG", "P50", "P90", "P95", "P99"})
    text += padded(std::move(name), -numberWidth);
  return text + "\n";
}

double acceptanceRate(const BenchStatistics& statistics) {
  return double(statistics.acceptedTokens) / double(statistics.draftedTokens);
}

ReportJson jsonOf(const BenchSummary& summary) {
  ReportJson json;
  json["count"] = summary.count;
  for (const auto& [name, value] : columnsOf(summary))
    json[name] = value;
  return json;
}

} // namespace

std::string benchTable(const BenchStatistics& statistics,
                       const BenchSettings& settings) {
  std::string text =
      line("Requests", std::to_string(statistics.completed) + " completed, " +
                           std::to_string(statistics.failed) + " failed");
  text += line("Input tokens", std::to_string(statistics.inputTokens));
  text += line("Output tokens", std::to_string(statistics.outputTokens));
  if (statistics.draftedTokens > 0)
    text += line("Draft Acceptance Rate", acceptanceRate(statistics));
  text += line("Concurrency", settings.load.concurrency == BenchLoad::unlimited
                                  ? "unlimited"
                                  : std::to_string(settings.load.concurrency));
  text += line("Request rate (req/sec)",
               settings.load.requestRate == 0
                   ? "all at the start"
                   : formatted(settings.load.requestRate, "%g"));
  text += "\n";
  text += line("Request Throughput (req/sec)", statistics.requestThroughput);
  text +=
      line("Total Output Throughput (tokens/sec)", statistics.outputThroughput);
  text +=
      line("Total Token Throughput (tokens/sec)", statistics.totalThroughput);
  text +=
      line("Per User Output Throughput (tps/user)", statistics.userThroughput);
  text += line("Per GPU Output Throughput (tps/gpu)", statistics.gpuThroughput);
  text +=
      line("Per User Output Speed [1/TPOT] (tps/user)", statistics.userSpeed);
  text += line("Total Latency (ms)", statistics.seconds * 1e3);
  text += line("Average request latency (ms)", statistics.latency.average);
  text += "\n" + latencyHead();
  text += latencyRow("TTFT", statistics.ttft);
  text += latencyRow("TPOT", statistics.tpot);
  text += latencyRow("ITL", statistics.itl);
  text += latencyRow("Request latency", statistics.latency);
  return text;
}

std::string benchJson(const BenchStatistics& statistics,
                      const BenchSettings& settings) {
  const BenchLoad& load = settings.load;
  ReportJson json;
  json["settings"] = {
      {"model", settings.model},
      {"dataset",
       settings.dataset.empty() ? ReportJson() : ReportJson(settings.dataset)},
      {"concurrency", load.concurrency == BenchLoad::unlimited
                          ? ReportJson()
                          : ReportJson(load.concurrency)},
      {"request_rate",
       load.requestRate == 0 ? ReportJson() : ReportJson(load.requestRate)},
      {"seed", load.seed},
      {"warmup", settings.warmup},
      {"ranks", settings.ranks}};
  json["requests"] = {{"completed", statistics.completed},
                      {"failed", statistics.failed}};
  if (statistics.failed > 0)
    json["requests"]["first_error"] = statistics.firstError;
  json["tokens"] = {{"input", statistics.inputTokens},
                    {"output", statistics.outputTokens}};
  if (statistics.draftedTokens > 0)
    json["draft"] = {{"drafted", statistics.draftedTokens},
                     {"accepted", statistics.acceptedTokens},
                     {"acceptance_rate", acceptanceRate(statistics)}};
  json["throughput"] = {
      {"requests_per_second", statistics.requestThroughput},
      {"output_tokens_per_second", statistics.outputThroughput},
      {"total_tokens_per_second", statistics.totalThroughput},
      {"output_tokens_per_second_per_user", statistics.userThroughput},
      {"output_tokens_per_second_per_gpu", statistics.gpuThroughput},
      {"output_speed_per_user", statistics.userSpeed}};
  json["total_latency_ms"] = statistics.seconds * 1e3;
  json["ttft_ms"] = jsonOf(statistics.ttft);
  json["tpot_ms"] = jsonOf(statistics.tpot);
  json["itl_ms"] = jsonOf(statistics.itl);
  json["request_latency_ms"] = jsonOf(statistics.latency);
  // A path or an error may have bytes that are not UTF-8.
  return json.dump(2, ' ', false, ReportJson::error_handler_t::replace) + "\n";
}

Status writeReport(const std::string& path, const std::string& text) {
  std::FILE* file = std::fopen(path.c_str(), "we");
  const bool isOpen = file != nullptr;
  const bool isWritten =
      isOpen && std::fwrite(text.data(), 1, text.size(), file) == text.size();
  int error = errno;
  if (isOpen && std::fclose(file) != 0 && isWritten)
    error = errno;
  else if (isWritten)
    return Status::ok();
  return Status::error("cannot write the report to `" + path +
                       "`: " + std::strerror(error));
}

} // namespace reciperun::serve
