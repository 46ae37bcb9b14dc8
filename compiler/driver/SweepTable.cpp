// See SweepTable.h. The values are from each run's metrics.jsonl.

#include "compiler/driver/SweepTable.h"

#include "llvm/Support/FormatVariadic.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <ostream>

namespace recipec::driver {
namespace {

struct Figures {
  std::optional<double> loss, validLoss;
  std::vector<double> tokensPerSecond;
};

std::optional<double> numberOf(const nlohmann::json& row, const char* key) {
  auto found = row.find(key);
  if (found == row.end() || !found->is_number())
    return std::nullopt;
  return found->get<double>();
}

Figures figuresOf(const std::filesystem::path& metrics) {
  Figures figures;
  std::ifstream file(metrics);
  for (std::string text; std::getline(file, text);) {
    const nlohmann::json row =
        nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
    if (!row.is_object())
      continue;
    figures.loss = numberOf(row, "loss");
    if (auto valid = numberOf(row, "valid_loss"))
      figures.validLoss = valid;
    if (auto rate = numberOf(row, "tokens_per_second"))
      figures.tokensPerSecond.push_back(*rate);
  }
  return figures;
}

std::optional<double> medianOf(std::vector<double> numbers) {
  if (numbers.empty())
    return std::nullopt;
  auto middle = numbers.begin() + ptrdiff_t(numbers.size() / 2);
  std::nth_element(numbers.begin(), middle, numbers.end());
  return *middle;
}

std::string text(const char* format, std::optional<double> number) {
  if (!number)
    return "-";
  char buffer[32];
  std::snprintf(buffer, sizeof buffer, format, *number);
  return buffer;
}

/// `42 s`, `12:31`, `3:05:00`.
std::string timeText(double seconds) {
  const long whole = std::lround(seconds);
  if (whole < 60)
    return llvm::formatv("{0} s", whole);
  if (whole < 3600)
    return llvm::formatv("{0}:{1:d2}", whole / 60, whole % 60);
  return llvm::formatv("{0}:{1:d2}:{2:d2}", whole / 3600, whole / 60 % 60,
                       whole % 60);
}

} // namespace

void printSweep(const std::vector<FinishedPoint>& points, std::ostream& out) {
  size_t width = 5;
  for (const FinishedPoint& point : points)
    width = std::max(width, point.name.size());
  std::string head = "point";
  head.resize(width, ' ');
  out << '\n' << head << "      loss  val_loss  tokens/s      time  folder\n";
  for (const FinishedPoint& point : points) {
    const Figures figures = figuresOf(point.folder / "metrics.jsonl");
    std::string name = point.name;
    name.resize(width, ' ');
    out << name
        << llvm::formatv("{0,10}{1,10}{2,10}{3,10}  {4}\n",
                         text("%.5g", figures.loss),
                         text("%.5g", figures.validLoss),
                         text("%.0f", medianOf(figures.tokensPerSecond)),
                         timeText(point.seconds), point.folder.string())
               .str();
  }
}

} // namespace recipec::driver
