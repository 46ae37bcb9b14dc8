// See DeviceReport.h.

#include "runtime/bench/DeviceReport.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <string_view>

namespace reciperun::bench {
namespace {

/// The GPUs of std.hardware.
constexpr std::string_view knownGpus[] = {"a100", "h100", "h200", "b200",
                                          "gb200"};

template <class... Values>
std::string formatted(const char* format, Values... values) {
  char text[256];
  std::snprintf(text, sizeof text, format, values...);
  return text;
}

/// The hardware of the library that the device's name contains as a word, empty
/// when there is none: `h200` for `NVIDIA H200`.
std::string libraryName(const DeviceReport& report) {
  if (!report.isGpu)
    return "cpu";
  std::string word;
  for (const char c : report.device + " ") {
    if (std::isalnum(static_cast<unsigned char>(c))) {
      word += char(std::tolower(static_cast<unsigned char>(c)));
      continue;
    }
    if (std::ranges::find(knownGpus, word) != std::end(knownGpus))
      return word;
    word.clear();
  }
  return {};
}

/// A rate with its unit: `775.1 TFLOP/s`.
std::string rateText(const Measurement& each, double seconds) {
  const bool isMemoryBound = each.flops == 0;
  const double rate = (isMemoryBound ? each.bytes : each.flops) / seconds;
  const bool isLarge = rate >= 1e12;
  return formatted("%.1f %s%s", rate / (isLarge ? 1e12 : 1e9),
                   isLarge ? "T" : "G", isMemoryBound ? "B/s" : "FLOP/s");
}

/// Four digits, as a recipe writes them: `7.751e+14`.
std::string figureText(double value) {
  return formatted("%.4g", value);
}

} // namespace

std::string toTable(const DeviceReport& report) {
  std::string text = report.device + "\n" +
                     formatted("%-20s %-7s %-36s %11s %16s %16s\n", "op",
                               "type", "sizes", "ms", "fastest", "sustained");
  for (const Measurement& each : report.measurements)
    text += formatted("%-20s %-7s %-36s %11.4f %16s %16s\n", each.op.c_str(),
                      each.type.c_str(), each.sizes.c_str(),
                      each.timing.fastest * 1e3,
                      rateText(each, each.timing.fastest).c_str(),
                      rateText(each, each.timing.sustained).c_str());
  text += "\nhardware figures\n";
  for (const HardwareFigure& each :
       hardwareFigures(report.measurements, report.isGpu))
    text += formatted("  %-20s %10s  %s\n", each.field.c_str(),
                      figureText(each.value).c_str(), each.source.c_str());
  return text;
}

std::string toRecipe(const DeviceReport& report) {
  std::string base = libraryName(report);
  std::string text =
      "# Measured by `reciperun bench device` on " +
      (report.isGpu ? report.device : "a CPU, " + report.device) + ".\n";
  if (base.empty()) {
    base = "h100";
    text += "# The standard library does not describe this GPU: set its\n"
            "# `memory`, peaks, `bandwidth` and links, too.\n";
  }
  text += "\nlet measured = " + base + " {\n";
  for (const HardwareFigure& each :
       hardwareFigures(report.measurements, report.isGpu))
    text += "  " + each.field + " = " + figureText(each.value) + "  # " +
            each.source + "\n";
  return text + "}\n";
}

std::string toJson(const DeviceReport& report) {
  nlohmann::ordered_json json = {{"device", report.device}};
  auto& hardware = json["hardware"] = nlohmann::ordered_json::object();
  for (const HardwareFigure& each :
       hardwareFigures(report.measurements, report.isGpu))
    hardware[each.field] = each.value;
  auto& measurements = json["measurements"] = nlohmann::ordered_json::array();
  for (const Measurement& each : report.measurements)
    measurements.push_back({{"op", each.op},
                            {"type", each.type},
                            {"sizes", each.sizes},
                            {"flops", each.flops},
                            {"bytes", each.bytes},
                            {"fastest", each.timing.fastest},
                            {"sustained", each.timing.sustained}});
  return json.dump(2) + "\n";
}

} // namespace reciperun::bench
