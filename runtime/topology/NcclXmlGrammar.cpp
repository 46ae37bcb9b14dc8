// See NcclXmlGrammar.h. The rules are those of NCCL 2.28 to 2.30.

#include "runtime/topology/NcclXmlGrammar.h"

#include "runtime/nvml/Library.h"
#include "runtime/topology/NcclXml.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <iterator>

namespace reciperun::topology {
namespace {

using Kind = AttributeRule::Kind;

constexpr AttributeRule ofSystem[] = {{"version", Kind::number, true},
                                      {"name"}};
constexpr AttributeRule ofCpu[] = {
    {"numaid", Kind::number, true}, {"host_hash"}, {"affinity", Kind::mask},
    {"arch", Kind::architecture},   {"vendor"},    {"familyid", Kind::number},
    {"modelid", Kind::number}};
constexpr AttributeRule ofPci[] = {{"busid", Kind::busId, true},
                                   {"class", Kind::classCode},
                                   {"vendor"},
                                   {"device"},
                                   {"subsystem_vendor"},
                                   {"subsystem_device"},
                                   {"link_speed", Kind::linkSpeed},
                                   {"link_width", Kind::number}};
constexpr AttributeRule ofGpu[] = {{"dev", Kind::number},
                                   {"sm", Kind::number},
                                   {"rank", Kind::number},
                                   {"gdr", Kind::number},
                                   {"mlopart", Kind::number}};
constexpr AttributeRule ofNvlink[] = {{"target", Kind::target, true},
                                      {"count", Kind::number, true},
                                      {"tclass", Kind::classCode}};
constexpr AttributeRule ofC2c[] = {{"bw", Kind::number, true},
                                   {"count", Kind::number, true}};
constexpr AttributeRule ofNet[] = {{"name", Kind::text, true},
                                   {"dev", Kind::number},
                                   {"speed", Kind::number},
                                   {"port", Kind::number},
                                   {"latency"},
                                   {"guid"},
                                   {"maxconn", Kind::number},
                                   {"gdr", Kind::number},
                                   {"coll", Kind::number},
                                   {"net", Kind::number},
                                   {"gin", Kind::number},
                                   {"rma", Kind::number},
                                   {"rail", Kind::number},
                                   {"plane", Kind::number},
                                   {"keep", Kind::number}};
constexpr AttributeRule ofPcilink[] = {{"target", Kind::busId, true}};

constexpr std::string_view inSystem[] = {"cpu"};
constexpr std::string_view inCpu[] = {"pci", "nic"};
constexpr std::string_view inPci[] = {"pci", "gpu", "nic", "pcilink"};
constexpr std::string_view inGpu[] = {"nvlink", "c2c"};
constexpr std::string_view inNic[] = {"net"};

constexpr ElementRule elementRules[] = {{"system", ofSystem, inSystem},
                                        {"cpu", ofCpu, inCpu},
                                        {"pci", ofPci, inPci},
                                        {"gpu", ofGpu, inGpu},
                                        {"nvlink", ofNvlink, {}},
                                        {"c2c", ofC2c, {}},
                                        {"nic", {}, inNic},
                                        {"net", ofNet, {}},
                                        {"pcilink", ofPcilink, {}}};

constexpr std::string_view linkSpeeds[] = {
    "2.5 GT/s",       "5 GT/s",         "8 GT/s",        "16 GT/s",
    "32 GT/s",        "2.5 GT/s PCIe",  "5.0 GT/s PCIe", "8.0 GT/s PCIe",
    "16.0 GT/s PCIe", "32.0 GT/s PCIe", "64.0 GT/s PCIe"};

constexpr std::string_view architectures[] = {"x86_64", "arm64", "ppc64"};

bool isOneOf(std::span<const std::string_view> values,
             const std::string& value) {
  return std::ranges::find(values, value) != values.end();
}

bool isHexadecimal(std::string_view text) {
  return !text.empty() &&
         text.find_first_not_of("0123456789abcdefABCDEF") == text.npos;
}

bool isNumber(const std::string& value) {
  int64_t number = 0;
  const auto [end, error] =
      std::from_chars(value.data(), value.data() + value.size(), number);
  return error == std::errc() && end == value.data() + value.size();
}

/// As sysfs writes bus ids, which NCCL compares as texts.
bool isBusId(const std::string& value) {
  return nvml::busIdOf(value) == value;
}

bool isMask(std::string value) {
  std::erase(value, ',');
  return isHexadecimal(value);
}

} // namespace

bool ElementRule::takesChild(std::string_view child) const {
  return std::ranges::find(children, child) != children.end();
}

const AttributeRule* ElementRule::find(std::string_view attribute) const {
  const auto found =
      std::ranges::find(attributes, attribute, &AttributeRule::name);
  return found == attributes.end() ? nullptr : &*found;
}

const ElementRule* findElementRule(std::string_view name) {
  const auto found = std::ranges::find(elementRules, name, &ElementRule::name);
  return found == std::end(elementRules) ? nullptr : &*found;
}

std::string_view parentOf(std::string_view name) {
  for (const ElementRule& rule : elementRules)
    if (rule.takesChild(name))
      return name == "nic" ? "pci" : rule.name;
  return {};
}

std::optional<std::string> objectionTo(Kind kind, const std::string& value) {
  const auto unless = [](bool isRight, const char* text) {
    return isRight ? std::nullopt : std::optional<std::string>(text);
  };
  switch (kind) {
  case Kind::text:
    return std::nullopt;
  case Kind::number:
    return unless(isNumber(value), "it is a whole number");
  case Kind::busId:
    return unless(isBusId(value),
                  "a bus id is written as in sysfs: `0000:1b:00.0`, small "
                  "letters");
  case Kind::target:
    return unless(isBusId(value) || value == hiddenTarget,
                  "the target is the bus id of a GPU or NVSwitch as in sysfs, "
                  "`0000:1b:00.0`, no index");
  case Kind::classCode:
    return unless(value.starts_with("0x") && isHexadecimal(value.substr(2)),
                  "a class of PCI is written `0x030200`");
  case Kind::linkSpeed:
    return unless(value.empty() || isOneOf(linkSpeeds, value),
                  "NCCL knows speeds as sysfs writes them, `32.0 GT/s PCIe`, "
                  "and takes others for `8.0 GT/s PCIe`");
  case Kind::mask:
    return unless(isMask(value), "the cores are a mask in hexadecimal words: "
                                 "`ffff0000,0000ffff`");
  case Kind::architecture:
    return unless(isOneOf(architectures, value),
                  "NCCL knows `x86_64`, `arm64` and `ppc64`");
  }
  return std::nullopt;
}

} // namespace reciperun::topology
