// See StatusPage.h.

#include "runtime/server/front/StatusPage.h"

#include <nlohmann/json.hpp>

#include <cstdio>
#include <random>

namespace reciperun::server {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view nonceMark = "@NONCE@";

std::string newNonce() {
  std::random_device random;
  std::string made;
  for (int i = 0; i < 4; ++i) {
    char text[9];
    std::snprintf(text, sizeof text, "%08x", unsigned(random()));
    made += text;
  }
  return made;
}

std::string pageWith(const std::string& nonce) {
  std::string page(statusPageHtml);
  for (size_t at = page.find(nonceMark); at != std::string::npos;
       at = page.find(nonceMark, at))
    page.replace(at, nonceMark.size(), nonce);
  return page;
}

std::string policyWith(const std::string& nonce) {
  return "default-src 'none'; script-src 'nonce-" + nonce +
         "'; style-src 'nonce-" + nonce +
         "'; connect-src 'self'; img-src data:; base-uri 'none'; form-action "
         "'none'; frame-ancestors 'none'";
}

Json quantilesJson(const RecentQuantiles& of) {
  return {{"count", of.count}, {"p50", of.p50}, {"p95", of.p95}};
}

Json answersJson(const EngineStatus& status) {
  Json made;
  for (AnswerEnd end :
       {AnswerEnd::stop, AnswerEnd::length, AnswerEnd::abort, AnswerEnd::error})
    made[nameOf(end)] = status.answers[size_t(end)];
  return made;
}

Json engineJson(const EngineFacts& facts, const EngineStatus& status) {
  const serve::EngineStatistics& now = status.statistics;
  return {{"name", facts.model},
          {"running", now.running},
          {"slots", facts.limits.maxBatch},
          {"waiting", now.waiting},
          {"pages", now.pages},
          {"pages_used", now.heldPages},
          {"page_tokens", facts.limits.page},
          {"prompt_tokens", status.promptTokens},
          {"answer_tokens", status.answerTokens},
          {"answers", answersJson(status)},
          {"prefix_lookups", now.scheduler.lookedUpTokens},
          {"prefix_hits", now.scheduler.foundTokens},
          {"preemptions", now.scheduler.preemptions},
          {"steps", now.scheduler.steps},
          {"ttft", quantilesJson(status.firstToken)},
          {"itl", quantilesJson(status.interval)}};
}

Json modelJson(const ModelStatistics& model) {
  const uint64_t compute = model.computeInput.nanoseconds +
                           model.computeInfer.nanoseconds +
                           model.computeOutput.nanoseconds;
  return {{"name", model.name},
          {"version", model.version},
          {"pending", model.pending},
          {"success", model.success.count},
          {"failure", model.fail.count},
          {"inferences", model.inferenceCount},
          {"executions", model.executionCount},
          {"request_ns", model.success.nanoseconds},
          {"queue_ns", model.queue.nanoseconds},
          {"compute_ns", compute}};
}

template <class T> Json orNull(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}

Json machineJson(const MachineStatus& machine) {
  Json gpus = Json::array();
  for (const nvml::GpuStatus& gpu : machine.gpus)
    gpus.push_back({{"utilization", orNull(gpu.utilization)},
                    {"memory_total", orNull(gpu.memoryTotal)},
                    {"memory_used", orNull(gpu.memoryUsed)},
                    {"power", orNull(gpu.powerUsage)}});
  Json made = {{"cpu", orNull(machine.cpuUtilization)},
               {"memory_total", nullptr},
               {"memory_used", nullptr},
               {"gpus", std::move(gpus)}};
  if (machine.memory) {
    made["memory_total"] = machine.memory->total;
    made["memory_used"] = machine.memory->used;
  }
  return made;
}

void addHeaders(HttpReply& reply) {
  reply.addHeader("Cache-Control", "no-store");
  reply.addHeader("X-Content-Type-Options", "nosniff");
}

} // namespace

void StatusPage::sendPage(HttpReply& reply) const {
  const std::string nonce = newNonce();
  addHeaders(reply);
  reply.addHeader("Content-Security-Policy", policyWith(nonce));
  reply.addHeader("Referrer-Policy", "no-referrer");
  reply.send(200, "text/html; charset=utf-8", pageWith(nonce));
}

void StatusPage::sendStatus(HttpReply& reply, const std::string& version,
                            const std::string& state) {
  addHeaders(reply);
  reply.send(200, "application/json", statusJson(version, state));
}

std::string StatusPage::statusJson(const std::string& version,
                                   const std::string& state) {
  const std::chrono::duration<double> uptime =
      std::chrono::steady_clock::now() - start;
  Json engines = Json::array(), models = Json::array();
  for (const ServerMetrics::EngineView& each : metrics.engines())
    engines.push_back(engineJson(*each.facts, each.status));
  for (const ModelStatistics& each : metrics.modelStatistics())
    models.push_back(modelJson(each));
  const Json made = {{"version", version},
                     {"state", state},
                     {"uptime", uptime.count()},
                     {"engines", std::move(engines)},
                     {"models", std::move(models)},
                     {"machine", machineJson(metrics.machineStatus())}};
  return made.dump(-1, ' ', false, Json::error_handler_t::replace);
}

} // namespace reciperun::server
