// See NcclProgress.h.

#include "runtime/comm/NcclProgress.h"

namespace reciperun::comm {

Status NcclProgress::start() {
  return host ? waits.start(*host) : Status::ok();
}

Watch::Wait NcclProgress::waitFor(const char* what,
                                  const NcclGroup& commGroup) const {
  return Watch::Wait(host, {what, op, commGroup.name});
}

Status NcclProgress::note(const char* what, const NcclGroup& commGroup) {
  return commGroup.ranks == 1
             ? Status::ok()
             : waits.note(commGroup.stream, purposeOf(what, commGroup));
}

device::HostWord NcclProgress::announce(const char* what,
                                        const NcclGroup& commGroup) {
  return waits.announce(commGroup.stream, purposeOf(what, commGroup));
}

std::string NcclProgress::purposeOf(const char* what,
                                    const NcclGroup& commGroup) const {
  const std::string purpose =
      op.empty() ? "" : " for op `" + std::string(op) + "`";
  return what + purpose + " by " + commGroup.name;
}

Status NcclProgress::beginsRecording(cudaStream_t stream) {
  return waits.beginRecording(stream);
}

Status NcclProgress::launched(cudaStream_t stream, int recording) {
  return waits.noteLaunch(stream, recording);
}

} // namespace reciperun::comm
