// 1. Take the channels from one stage to another.
// 2. A channel joins the first line between them by which, in every schedule,
//    messages then still leave in the order in which they are awaited. Where
//    none is, it begins one.
//
// Messages that go one behind the other let no stages wait for one another that
// do not without: what is awaited first is sent first, and a stage that has
// come to await a message has come past all that it awaits before.

#include "compiler/passes/schedule/Channels.h"

#include <map>
#include <set>
#include <string>
#include <utility>

namespace recipec::passes {
namespace {

using ir::Transfer;

/// A message of a channel, by its micro-batch.
using Message = std::pair<int, int>;
using Channels = std::set<int>;

Channels channelsOf(const ir::Module& from, int to) {
  Channels channels;
  for (const Transfer& transfer : from.transfers)
    if (transfer.kind == Transfer::Kind::send && transfer.peer == to)
      channels.insert(transfer.channel);
  return channels;
}

/// In the order in which one side begins to send or to receive them.
std::vector<Message> messagesOf(const ir::Module& stage,
                                const std::string& schedule,
                                const Channels& channels,
                                ir::ScheduleStep::Kind kind) {
  std::vector<Message> messages;
  for (const ir::Schedule& each : stage.schedules)
    if (each.name == schedule)
      for (const ir::ScheduleStep& step : each.steps)
        if (step.kind == kind)
          if (const int channel =
                  stage.transfers[size_t(step.transfer)].channel;
              channels.contains(channel))
            messages.emplace_back(channel, step.microBatch);
  return messages;
}

bool isLine(const ir::Module& from, const ir::Module& to,
            const Channels& channels) {
  for (const ir::Schedule& schedule : from.schedules)
    if (messagesOf(from, schedule.name, channels,
                   ir::ScheduleStep::Kind::send) !=
        messagesOf(to, schedule.name, channels,
                   ir::ScheduleStep::Kind::receive))
      return false;
  return true;
}

std::vector<Channels> linesOf(const ir::Module& from, const ir::Module& to,
                              const Channels& channels) {
  if (isLine(from, to, channels))
    return {channels};
  std::vector<Channels> lines;
  for (int channel : channels) {
    bool hasJoined = false;
    for (Channels& line : lines) {
      Channels longer = line;
      longer.insert(channel);
      if (!hasJoined && isLine(from, to, longer)) {
        line = std::move(longer);
        hasJoined = true;
      }
    }
    if (!hasJoined)
      lines.push_back({channel});
  }
  return lines;
}

} // namespace

void assignChannels(std::vector<ir::Module>& stages) {
  std::map<int, int> lineOf; // by channel
  int lines = 0;
  for (const ir::Module& from : stages)
    for (const ir::Module& to : stages) {
      const Channels channels = channelsOf(from, to.stage);
      if (channels.empty())
        continue;
      for (const Channels& line : linesOf(from, to, channels)) {
        for (int channel : line)
          lineOf[channel] = lines;
        ++lines;
      }
    }
  for (ir::Module& stage : stages)
    for (Transfer& transfer : stage.transfers)
      transfer.line = lineOf.at(transfer.channel);
}

} // namespace recipec::passes
