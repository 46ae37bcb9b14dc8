// Writes a machine as JSON. See Draw.h.

#include "runtime/topology/Draw.h"
#include "runtime/topology/Remarks.h"

#include <nlohmann/json.hpp>

namespace reciperun::topology {
namespace {

using Json = nlohmann::ordered_json;

/// Null for an unknown number.
Json known(int64_t number) {
  return number < 0 ? Json() : Json(number);
}
Json known(const std::string& text) {
  return text.empty() ? Json() : Json(text);
}

Json toJson(const PciDevice& device) {
  return {{"bus_id", known(device.busId)},
          {"numa_node", device.numaNode},
          {"switches", device.switches},
          {"class", known(device.classCode)},
          {"vendor", known(device.vendor)},
          {"device", known(device.device)},
          {"link_speed", known(device.linkSpeed)},
          {"link_width", known(device.linkWidth)},
          {"link_width_now", known(device.widthNow)}};
}

Json toJson(const NumaNode& node) {
  return {{"index", node.index},
          {"cores", node.cores},
          {"core_count", node.coreCount},
          {"bytes", node.bytes > 0 ? Json(node.bytes) : Json()}};
}

Json toJson(const Gpu& gpu) {
  Json links = Json::array();
  for (const nvml::LinkTarget& each : gpu.links)
    links.push_back({{"target", known(each.busId)}, {"count", each.count}});
  return {{"index", known(gpu.index)},
          {"name", known(gpu.name)},
          {"uuid", known(gpu.uuid)},
          {"compute_capability",
           gpu.computeCapability > 0 ? Json(gpu.computeCapability) : Json()},
          {"nvlinks", std::move(links)},
          {"pci", toJson(gpu.pci)}};
}

Json toJson(const Nic& nic) {
  return {
      {"name", nic.name},          {"interface", known(nic.interface)},
      {"rdma", nic.isRdma},        {"link_layer", known(nic.linkLayer)},
      {"state", known(nic.state)}, {"port", nic.port},
      {"guid", known(nic.guid)},   {"megabits_per_second", known(nic.megabits)},
      {"pci", toJson(nic.pci)}};
}

template <class Each> Json listOf(const std::vector<Each>& all) {
  Json list = Json::array();
  for (const Each& each : all)
    list.push_back(toJson(each));
  return list;
}

Json objectOf(const Machine& machine) {
  const Processor& processor = machine.processor;
  return {{"host", known(machine.host)},
          {"driver", known(machine.driver)},
          {"cpu",
           {{"architecture", known(processor.architecture)},
            {"vendor", known(processor.vendor)},
            {"family", known(processor.family)},
            {"model", known(processor.model)}}},
          {"numa_nodes", listOf(machine.nodes)},
          {"switches", listOf(machine.switches)},
          {"gpus", listOf(machine.gpus)},
          {"nics", listOf(machine.nics)},
          {"paths", pathsOf(machine)},
          {"remarks", remarksOn(machine)}};
}

} // namespace

std::string toJson(const Machine& machine) {
  return objectOf(machine).dump(2) + "\n";
}

std::string toJson(const Machine& machine,
                   const std::vector<Finding>& findings) {
  Json object = objectOf(machine);
  Json& list = object["findings"] = Json::array();
  for (const Finding& each : findings)
    list.push_back({{"severity", each.isError ? "error" : "warning"},
                    {"line", each.position.line},
                    {"column", each.position.column},
                    {"message", each.message},
                    {"help", known(each.help)}});
  return object.dump(2) + "\n";
}

} // namespace reciperun::topology
