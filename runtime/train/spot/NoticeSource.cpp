// See NoticeSource.h.

#include "runtime/train/spot/NoticeSource.h"

#include "runtime/base/ParseJson.h"
#include "runtime/train/spot/MetadataService.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <string_view>
#include <utility>

namespace reciperun::train {
namespace {

using Notice = Expected<std::optional<std::string>>;

constexpr int ok = 200, unauthorized = 401, notFound = 404;
/// Azure may take two minutes for the first answer, as it starts to schedule
/// events for a VM when it is asked.
constexpr int usualLimit = 5, firstLimitOfAzure = 120;

/// `EVENT at TIME`; without a time where the cloud tells none.
std::string noticeText(const std::string& event, const std::string& time) {
  return time.empty() ? event : event + " at " + time;
}

std::string textAt(const nlohmann::json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>()
                                                     : std::string();
}

class AwsNotices : public NoticeSource {
public:
  explicit AwsNotices(MetadataService service) : service(std::move(service)) {}

  Notice poll() override {
    if (token.empty())
      RECIPERUN_TRY(renewToken());
    Expected<storage::HttpAnswer> answer = service.ask(action());
    RECIPERUN_TRY(answer);
    if (answer->status == unauthorized) { // the token has expired
      RECIPERUN_TRY(renewToken());
      answer = service.ask(action());
      RECIPERUN_TRY(answer);
    }
    if (answer->status == notFound)
      return std::optional<std::string>();
    if (answer->status != ok)
      return service.refused(action(), *answer);
    Expected<nlohmann::json> json = parseJson(answer->body, {.noun = "answer"});
    RECIPERUN_TRY(json);
    return std::optional(
        noticeText(textAt(*json, "action"), textAt(*json, "time")));
  }

private:
  MetadataRequest action() const {
    return {.path = "/latest/meta-data/spot/instance-action",
            .headers = {{"X-aws-ec2-metadata-token", token}}};
  }
  Status renewToken() {
    Expected<std::string> made = service.read(
        {.method = "PUT",
         .path = "/latest/api/token",
         .headers = {{"X-aws-ec2-metadata-token-ttl-seconds", "21600"}}});
    RECIPERUN_TRY(made);
    token = *std::move(made);
    return Status::ok();
  }

  MetadataService service;
  std::string token;
};

class GcpNotices : public NoticeSource {
public:
  explicit GcpNotices(MetadataService service) : service(std::move(service)) {}

  Notice poll() override {
    Expected<std::string> preempted = read("preempted");
    RECIPERUN_TRY(preempted);
    if (*preempted == "TRUE")
      return std::optional<std::string>("preempted");
    Expected<std::string> event = read("maintenance-event");
    RECIPERUN_TRY(event);
    // Of a live migration, which the VM survives, the event is another one.
    if (*event == "TERMINATE_ON_HOST_MAINTENANCE")
      return std::optional(*event);
    return std::optional<std::string>();
  }

private:
  Expected<std::string> read(const char* key) const {
    return service.read(
        {.path = std::string("/computeMetadata/v1/instance/") + key,
         .headers = {{"Metadata-Flavor", "Google"}}});
  }

  MetadataService service;
};

class AzureNotices : public NoticeSource {
public:
  AzureNotices(MetadataService first, MetadataService service)
      : first(std::move(first)), service(std::move(service)) {}

  Notice poll() override {
    if (name.empty()) {
      Expected<std::string> read =
          service.read({.path = "/metadata/instance/compute/name"
                                "?api-version=2021-02-01&format=text",
                        .headers = {{"Metadata", "true"}}});
      RECIPERUN_TRY(read);
      name = *std::move(read);
    }
    Expected<std::string> text = (hasAnswered ? service : first)
                                     .read({.path = "/metadata/scheduledevents"
                                                    "?api-version=2020-07-01",
                                            .headers = {{"Metadata", "true"}}});
    RECIPERUN_TRY(text);
    hasAnswered = true;
    Expected<nlohmann::json> json = parseJson(*text, {.noun = "answer"});
    RECIPERUN_TRY(json);
    const auto events = json->find("Events");
    if (events != json->end() && events->is_array())
      for (const nlohmann::json& event : *events)
        if (event.is_object() && endsThisVm(event))
          return std::optional(noticeText(textAt(event, "EventType"),
                                          textAt(event, "NotBefore")));
    return std::optional<std::string>();
  }

private:
  /// A `Freeze` is a pause of some seconds, which the VM survives.
  bool endsThisVm(const nlohmann::json& event) const {
    constexpr std::array<std::string_view, 4> ends = {"Preempt", "Terminate",
                                                      "Reboot", "Redeploy"};
    const auto vms = event.find("Resources");
    return std::find(ends.begin(), ends.end(), textAt(event, "EventType")) !=
               ends.end() &&
           vms != event.end() && vms->is_array() &&
           std::find(vms->begin(), vms->end(), name) != vms->end();
  }

  MetadataService first,
      service;      // with the limits of the first answer and later
  std::string name; // of this VM
  bool hasAnswered = false;
};

/// The address of a metadata service, which a variable of the environment
/// replaces.
struct Address {
  const char* usual;
  const char* variable;
  const char* scheme = ""; // that the variable's value lacks
};

Expected<MetadataService> openService(const Address& address, int limit) {
  const char* const set = std::getenv(address.variable);
  if (!set || !*set)
    return MetadataService::at(address.usual, limit);
  std::string given = std::string(address.scheme) + set;
  while (given.ends_with('/'))
    given.pop_back();
  Expected<MetadataService> made = MetadataService::at(given, limit);
  if (!made)
    return made.status().withContext(std::string("`") + address.variable + "`");
  return made;
}

template <class Source, class... Limits>
Expected<std::unique_ptr<NoticeSource>> make(const Address& address,
                                             Limits... limits) {
  for (const int limit : {limits...})
    RECIPERUN_TRY(openService(address, limit).status());
  return std::unique_ptr<NoticeSource>(
      new Source(*openService(address, limits)...));
}

} // namespace

Expected<std::unique_ptr<NoticeSource>>
openNoticeSource(const std::string& cloud) {
  if (cloud == "aws")
    return make<AwsNotices>({.usual = "http://169.254.169.254",
                             .variable = "AWS_EC2_METADATA_SERVICE_ENDPOINT"},
                            usualLimit);
  if (cloud == "gcp")
    return make<GcpNotices>({.usual = "http://metadata.google.internal",
                             .variable = "GCE_METADATA_HOST",
                             .scheme = "http://"},
                            usualLimit);
  if (cloud == "azure")
    return make<AzureNotices>({.usual = "http://169.254.169.254",
                               .variable = "AZURE_POD_IDENTITY_AUTHORITY_HOST"},
                              firstLimitOfAzure, usualLimit);
  return Status::error("`" + cloud + "` is no cloud with notices");
}

} // namespace reciperun::train
