// Copies the section `launch` field by field. The schema gives the types.

#include "compiler/launch/Settings.h"

#include <cmath>

namespace recipec::launch {
namespace {

using recipe::Quantity;
using recipe::Record;
using recipe::Value;

std::string textOf(const Value& value) {
  const auto* text = std::get_if<std::string>(&value.data);
  return text ? *text : std::string();
}

std::string textOf(const Record& record, std::string_view field) {
  return textOf(*record.find(field));
}

/// Bytes or seconds, rounded up; 0 for `none` and `auto`.
int64_t amountOf(const Value& value) {
  const auto* quantity = std::get_if<Quantity>(&value.data);
  return quantity ? int64_t(std::ceil(quantity->amount)) : 0;
}

int64_t numberOf(const Value& value) {
  const auto* number = std::get_if<int64_t>(&value.data);
  return number ? *number : 0;
}

bool isTrue(const Value& value) {
  return std::get<bool>(value.data);
}

const recipe::List& listOf(const Value& value) {
  return std::get<recipe::List>(value.data);
}

const Record& recordOf(const Value& value) {
  return std::get<Record>(value.data);
}

std::vector<std::string> textsOf(const Value& list) {
  std::vector<std::string> texts;
  for (const Value& each : listOf(list))
    texts.push_back(textOf(each));
  return texts;
}

std::vector<Variable> variablesOf(const Value& map) {
  std::vector<Variable> variables;
  for (const auto& [name, value] : recordOf(map).fields) {
    Variable variable{.name = name, .text = textOf(value)};
    if (const auto* secret = std::get_if<Record>(&value.data))
      variable.secret = {textOf(*secret, "name"), textOf(*secret, "key")};
    variables.push_back(std::move(variable));
  }
  return variables;
}

std::vector<Volume> volumesOf(const Value& list) {
  std::vector<Volume> volumes;
  for (const Value& each : listOf(list)) {
    const Record& volume = recordOf(each);
    volumes.push_back({.path = textOf(volume, "path"),
                       .claim = textOf(volume, "claim"),
                       .host = textOf(volume, "host"),
                       .size = amountOf(*volume.find("size")),
                       .storageClass = textOf(volume, "storage_class"),
                       .readOnly = isTrue(*volume.find("read_only"))});
  }
  return volumes;
}

std::vector<Toleration> tolerationsOf(const Value& list) {
  std::vector<Toleration> tolerations;
  for (const Value& each : listOf(list)) {
    const Record& record = recordOf(each);
    tolerations.push_back({textOf(record, "key"), textOf(record, "value"),
                           textOf(record, "effect")});
  }
  return tolerations;
}

} // namespace

Settings settingsOf(const recipe::Recipe& recipe) {
  const auto at = [&](const char* field) -> const Value& {
    return recipe.at("launch." + std::string(field));
  };
  Settings all;
  all.name = textOf(at("name"));
  all.image = textOf(at("image"));
  all.program = textOf(at("program"));
  all.queue = textOf(at("queue"));
  all.account = textOf(at("account"));
  all.priority = textOf(at("priority"));
  all.seconds = amountOf(at("time"));
  all.restarts = numberOf(at("restarts"));
  all.grace = amountOf(at("grace"));
  all.cpus = numberOf(at("cpus"));
  all.memory = amountOf(at("host_memory"));
  all.sharedMemory = amountOf(at("shared_memory"));
  all.bind = textOf(at("bind"));
  all.exclusive = isTrue(at("exclusive"));
  all.usesMpirun = textOf(at("mpi")) == "mpirun";
  all.variables = variablesOf(at("env"));
  all.volumes = volumesOf(at("volumes"));
  all.folder = textOf(at("folder"));
  all.setup = textsOf(at("setup"));
  all.options = textsOf(at("options"));
  all.concurrent = numberOf(at("concurrent"));
  all.space = textOf(at("namespace"));
  all.serviceAccount = textOf(at("service_account"));
  all.pullSecrets = textsOf(at("pull_secrets"));
  all.gpuResource = textOf(at("gpu_resource"));
  for (const auto& [name, count] : recordOf(at("resources")).fields)
    all.resources.emplace_back(name, numberOf(count));
  for (const auto& [name, value] : recordOf(at("node_selector")).fields)
    all.nodeSelector.emplace_back(name, textOf(value));
  all.tolerations = tolerationsOf(at("tolerations"));
  all.sshSecret = textOf(at("ssh_secret"));
  all.trainer = textOf(at("trainer_version"));
  if (const auto* labels = std::get_if<Record>(&at("monitor").data)) {
    all.monitor.emplace();
    for (const auto& [name, value] : labels->fields)
      all.monitor->emplace_back(name, textOf(value));
  }
  all.replicas = numberOf(at("replicas"));
  all.maxReplicas = numberOf(at("max_replicas"));
  all.load = numberOf(at("load"));
  all.port = numberOf(at("port"));
  return all;
}

} // namespace recipec::launch
