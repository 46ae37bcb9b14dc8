// Where a cloud publishes that it is going to take a host away.
//
//   aws    EC2 User Guide, "Spot Instance interruption notices": 404 at
//          /latest/meta-data/spot/instance-action until there is a notice, two
//          minutes before; IMDSv2 wants a token.
//   gcp    Compute Engine, "Spot VMs" and "Query metadata server for
//          maintenance event notices": instance/preempted, 30 seconds before,
//          and instance/maintenance-event, an hour before for VMs with GPUs.
//   azure  "Scheduled Events for Linux VMs": a list of events for all VMs of a
//          scale set, at least 30 seconds before a Preempt.

#ifndef RECIPERUN_TRAIN_SPOT_NOTICESOURCE_H
#define RECIPERUN_TRAIN_SPOT_NOTICESOURCE_H

#include "runtime/base/Status.h"

#include <memory>
#include <optional>
#include <string>

namespace reciperun::train {

class NoticeSource {
public:
  virtual ~NoticeSource() = default;
  /// Asks for a notice: `terminate at 2026-01-31T12:00:00Z` in the words of the
  /// cloud. nullopt: there is none.
  virtual Expected<std::optional<std::string>> poll() = 0;
};

/// The source of `train.spot_notices`: `aws`, `gcp` or `azure`. Variables of
/// the clouds' own libraries replace its address:
/// `AWS_EC2_METADATA_SERVICE_ENDPOINT`, `GCE_METADATA_HOST` and
/// `AZURE_POD_IDENTITY_AUTHORITY_HOST`.
Expected<std::unique_ptr<NoticeSource>>
openNoticeSource(const std::string& cloud);

} // namespace reciperun::train

#endif // RECIPERUN_TRAIN_SPOT_NOTICESOURCE_H
