// See HealthReport.h.

#include "runtime/bench/health/HealthReport.h"

#include "runtime/base/ParseJson.h"
#include "runtime/base/Text.h"

#include <nlohmann/json.hpp>

#include <algorithm>

namespace reciperun::bench {
namespace {

using Json = nlohmann::ordered_json;

constexpr int versionOfHealth = 1;

Json objectOf(const RankHealth& rank) {
  Json figures = Json::array();
  for (const HealthFigure& each : rank.figures)
    figures.push_back(
        {{"name", each.name}, {"unit", each.unit}, {"rate", each.rate}});
  return {{"rank", rank.rank},       {"host", rank.host},
          {"place", rank.place},     {"device", rank.device},
          {"address", rank.address}, {"figures", std::move(figures)},
          {"faults", rank.faults},   {"notes", rank.notes}};
}

Json objectOf(const LinkHealth& link) {
  return {{"ranks", {link.first, link.second}},
          {"kind", link.kind},
          {"rate", link.rate}};
}

RankHealth rankOf(const nlohmann::json& object) {
  RankHealth rank;
  rank.rank = object.at("rank");
  rank.host = object.at("host");
  rank.place = object.at("place");
  rank.device = object.at("device");
  rank.address = object.at("address");
  for (const auto& each : object.at("figures"))
    rank.figures.push_back({each.at("name"), each.at("unit"), each.at("rate")});
  rank.faults = object.at("faults");
  rank.notes = object.at("notes");
  return rank;
}

LinkHealth linkOf(const nlohmann::json& object) {
  const auto& ranks = object.at("ranks");
  return {ranks.at(0), ranks.at(1), object.at("kind"), object.at("rate")};
}

/// Calls `read` with the JSON of a text; the library's exceptions become a
/// Status.
template <class Result, class Read>
Expected<Result> readObject(std::string_view text, const Read& read) {
  const auto json = parseJson(text);
  RECIPERUN_TRY(json);
  try {
    return read(*json);
  } catch (const nlohmann::json::exception& exception) {
    return Status::error("this is no output of `reciperun bench health -J`: " +
                         std::string(exception.what()));
  }
}

std::string padded(const std::string& text, size_t width) {
  return std::string(width > text.size() ? width - text.size() : 0, ' ') + text;
}

/// The slowest link of a rank; null when it has none.
const LinkHealth* slowestLink(const HealthReport& report, int rank) {
  const LinkHealth* slowest = nullptr;
  for (const LinkHealth& link : report.links)
    if ((link.first == rank || link.second == rank) &&
        (!slowest || link.rate < slowest->rate))
      slowest = &link;
  return slowest;
}

} // namespace

std::string nameOf(const RankHealth& rank) {
  return rank.host + (rank.address.empty() ? " place " : " GPU ") +
         std::to_string(rank.place) + " (rank " + std::to_string(rank.rank) +
         (rank.address.empty() ? "" : ", " + rank.address) + ")";
}

std::string rateText(double rate, const std::string& unit) {
  const bool isLarge = rate >= 1e13;
  return formatted("%.*f %s%s",
                   rate < 1e8    ? 5
                   : rate < 1e10 ? 2
                                 : 1,
                   rate / (isLarge ? 1e12 : 1e9), isLarge ? "T" : "G",
                   unit.c_str());
}

std::string tableOf(const HealthReport& report) {
  if (report.ranks.empty())
    return "";
  constexpr size_t hostWidth = 16, cell = 16;
  std::string text =
      padded("rank", 5) + padded("host", hostWidth) + padded("place", 7);
  for (const HealthFigure& each : report.ranks.front().figures)
    text += padded(each.name, cell);
  if (!report.links.empty())
    text += padded("slowest link", cell + 4);
  text += "\n";
  for (const RankHealth& rank : report.ranks) {
    text += padded(std::to_string(rank.rank), 5) +
            padded(rank.host, hostWidth) +
            padded(std::to_string(rank.place), 7);
    for (const HealthFigure& each : rank.figures)
      text += padded(rateText(each.rate, each.unit), cell);
    if (const LinkHealth* link = slowestLink(report, rank.rank))
      text += padded(rateText(link->rate, "B/s") + " " + link->kind, cell + 4);
    text += "\n";
  }
  return text;
}

std::string toJson(const HealthReport& report,
                   const std::vector<std::string>& problems) {
  Json object = {{"version", versionOfHealth},
                 {"ranks", Json::array()},
                 {"links", Json::array()},
                 {"problems", problems}};
  for (const RankHealth& each : report.ranks)
    object["ranks"].push_back(objectOf(each));
  for (const LinkHealth& each : report.links)
    object["links"].push_back(objectOf(each));
  return object.dump(2) + "\n";
}

Expected<HealthReport> readHealthReport(std::string_view text) {
  return readObject<HealthReport>(
      text, [](const nlohmann::json& object) -> Expected<HealthReport> {
        if (object.at("version") != versionOfHealth)
          return Status::error("it is of version " +
                               object.at("version").dump() + ", not of " +
                               std::to_string(versionOfHealth));
        HealthReport report;
        for (const auto& each : object.at("ranks"))
          report.ranks.push_back(rankOf(each));
        for (const auto& each : object.at("links"))
          report.links.push_back(linkOf(each));
        return report;
      });
}

std::string toJson(const RankHealth& rank) {
  return objectOf(rank).dump();
}

Expected<RankHealth> readRankHealth(std::string_view text) {
  return readObject<RankHealth>(
      text, [](const nlohmann::json& object) -> Expected<RankHealth> {
        return rankOf(object);
      });
}

} // namespace reciperun::bench
