// Transfers between stages: each side has its counterpart, and the messages of
// a link are sent in the order in which they are received.

#include "runtime/plan/Validate.h"

#include <map>
#include <utility>
#include <vector>

namespace reciperun::plan {
namespace {

/// The other side of a transfer, or null when no stage has it.
const Transfer* counterpart(const Plan& plan, int stage,
                            const Transfer& transfer) {
  for (const Transfer& other : plan.stages[size_t(transfer.peer)].transfers)
    if (other.channel == transfer.channel && other.kind != transfer.kind &&
        other.peer == stage)
      return &other;
  return nullptr;
}

/// The direction of a link between two stages.
struct Way {
  int from = 0, to = 0, link = 0;
  auto operator<=>(const Way&) const = default;
};

Way wayOf(int stage, const Transfer& transfer) {
  const bool isSend = transfer.kind == Transfer::Kind::send;
  return {isSend ? stage : transfer.peer, isSend ? transfer.peer : stage,
          transfer.link};
}

/// The messages of one schedule by direction, as pairs of channel and
/// micro-batch, in the order in which a stage begins to send or receive them.
using Traffic = std::map<Way, std::vector<std::pair<int, int>>>;

void addTraffic(const Stage& stage, int number, const Schedule& schedule,
                ScheduleStep::Kind kind, Traffic& traffic) {
  for (const ScheduleStep& step : schedule.steps)
    if (step.kind == kind) {
      const Transfer& transfer = stage.transfers[size_t(step.transfer)];
      traffic[wayOf(number, transfer)].emplace_back(transfer.channel,
                                                    step.microBatch);
    }
}

/// The traffic of each schedule, by name.
std::map<std::string, Traffic> trafficOf(const Plan& plan,
                                         ScheduleStep::Kind kind) {
  std::map<std::string, Traffic> traffic;
  for (size_t i = 0; i < plan.stages.size(); ++i)
    for (const Schedule& schedule : plan.stages[i].schedules)
      addTraffic(plan.stages[i], int(i), schedule, kind,
                 traffic[schedule.name]);
  return traffic;
}

/// Checks that a link leads from one stage to one other.
Status linesAreApart(const Plan& plan) {
  std::map<int, Way> ways; // by link
  for (size_t i = 0; i < plan.stages.size(); ++i)
    for (const Transfer& transfer : plan.stages[i].transfers) {
      const Way way = wayOf(int(i), transfer);
      if (ways.try_emplace(transfer.link, way).first->second != way)
        return damaged("link " + std::to_string(transfer.link) +
                       " joins more than two stages");
    }
  return Status::ok();
}

/// Checks that the messages of each link are received in the order in which
/// they are sent. Otherwise a rank would take one message for another.
Status linesKeepOrder(const Plan& plan) {
  const auto received = trafficOf(plan, ScheduleStep::Kind::receive);
  for (const auto& [schedule, traffic] :
       trafficOf(plan, ScheduleStep::Kind::send)) {
    const auto found = received.find(schedule);
    if (found == received.end() || found->second != traffic)
      return damaged("in schedule " + quoted(schedule) +
                     " messages are not sent in the order in which they are "
                     "received");
  }
  return Status::ok();
}

} // namespace

Status validateTransfers(const Plan& plan) {
  for (size_t i = 0; i < plan.stages.size(); ++i)
    for (const Transfer& transfer : plan.stages[i].transfers) {
      const Transfer* other = counterpart(plan, int(i), transfer);
      if (!other)
        return damaged("transfer " + std::to_string(transfer.channel) +
                       " of stage " + std::to_string(i) + " has no other side");
      const Buffer& here = plan.stages[i].buffers[size_t(transfer.buffer)];
      const Buffer& there =
          plan.stages[size_t(transfer.peer)].buffers[size_t(other->buffer)];
      if (here.dtype != there.dtype || here.shape != there.shape)
        return damaged("transfer " + std::to_string(transfer.channel) +
                       " is of " + quoted(here.name) + " and of " +
                       quoted(there.name) + ", which differ");
    }
  RECIPERUN_TRY(linesAreApart(plan));
  return linesKeepOrder(plan);
}

} // namespace reciperun::plan
