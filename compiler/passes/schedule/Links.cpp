// 1. List the channels from one stage to another.
// 2. A channel joins the first link between the stages on which, in every
//    schedule, messages are still sent in the order in which they are received.
//    If there is none, it gets a new link.
//
// That messages of a link are sequential causes no additional deadlock:
// messages are sent in the order in which the receiver waits for them, and a
// stage that waits for a message has already received all earlier ones.

#include "compiler/passes/schedule/Links.h"

#include <map>
#include <set>
#include <string>
#include <utility>

namespace recipec::passes {
namespace {

using ir::Transfer;

/// A message, by its channel and micro-batch.
using Message = std::pair<int, int>;
using Channels = std::set<int>;

Channels channelsOf(const ir::Module& from, int to) {
  Channels channels;
  for (const Transfer& transfer : from.transfers)
    if (transfer.kind == Transfer::Kind::send && transfer.peer == to)
      channels.insert(transfer.channel);
  return channels;
}

/// The messages in the order in which one side starts to send or receive them.
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

std::vector<Channels> linksOf(const ir::Module& from, const ir::Module& to,
                              const Channels& channels) {
  if (isLine(from, to, channels))
    return {channels};
  std::vector<Channels> links;
  for (int channel : channels) {
    bool hasJoined = false;
    for (Channels& link : links) {
      Channels longer = link;
      longer.insert(channel);
      if (!hasJoined && isLine(from, to, longer)) {
        link = std::move(longer);
        hasJoined = true;
      }
    }
    if (!hasJoined)
      links.push_back({channel});
  }
  return links;
}

} // namespace

void assignLinks(std::vector<ir::Module>& stages) {
  std::map<int, int> linkOf; // by channel
  int links = 0;
  for (const ir::Module& from : stages)
    for (const ir::Module& to : stages) {
      const Channels channels = channelsOf(from, to.stage);
      if (channels.empty())
        continue;
      for (const Channels& link : linksOf(from, to, channels)) {
        for (int channel : link)
          linkOf[channel] = links;
        ++links;
      }
    }
  for (ir::Module& stage : stages)
    for (Transfer& transfer : stage.transfers)
      transfer.link = linkOf.at(transfer.channel);
}

} // namespace recipec::passes
