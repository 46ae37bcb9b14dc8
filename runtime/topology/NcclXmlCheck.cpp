// 1. The text: what NCCL's own reader of XML does not take.
// 2. Each element: its place, its attributes and their values.
// 3. The whole: bus ids and indices that occur twice, and NVLinks whose other
//    end is missing or sees another number of links.

#include "runtime/topology/NcclXml.h"
#include "runtime/topology/NcclXmlGrammar.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <tuple>

namespace reciperun::topology {
namespace {

constexpr size_t mostAttributes = 16; // MAX_ATTR_COUNT
constexpr size_t mostChildren = 128;  // MAX_SUBS before NCCL 2.30
constexpr size_t longestValue = 254;  // MAX_STR_LEN - 1

std::string inTicks(std::string_view text) {
  return "`" + std::string(text) + "`";
}

/// The NVLinks that NCCL looks for on a GPU.
int mostLinksOf(int computeCapability) {
  return computeCapability < 60   ? 0
         : computeCapability < 70 ? 4
         : computeCapability < 80 ? 6
         : computeCapability < 90 ? 12
                                  : 18;
}

struct ExtraText {
  const char* message;
  const char* help;
};

ExtraText textOf(XmlExtra::Kind kind) {
  switch (kind) {
  case XmlExtra::Kind::declaration:
    return {"NCCL's reader takes no declaration", "begin with `<system`"};
  case XmlExtra::Kind::text:
    return {"NCCL's reader takes no text between elements", "remove it"};
  case XmlExtra::Kind::tab:
    return {"NCCL's reader takes no tabs", "indent by spaces"};
  case XmlExtra::Kind::brokenTag:
    return {"NCCL's reader takes no line end or tab within a tag",
            "write the element in one line, a space before each attribute"};
  case XmlExtra::Kind::spacedEquals:
    return {"NCCL's reader takes no space around `=`",
            "write `name=\"value\"`"};
  case XmlExtra::Kind::reference:
    return {"NCCL's reader takes `&` for itself, not for the begin of a "
            "reference",
            "write the character that is meant"};
  }
  return {"", ""};
}

/// What to write instead of an attribute that NCCL does not read.
std::string adviceOn(const ElementRule& rule, const std::string& attribute) {
  const std::string_view name = rule.name;
  if (name == "gpu" && (attribute == "pci" || attribute == "busid"))
    return "the bus id stands in the element around the GPU: `<pci "
           "busid=\"0000:1b:00.0\" class=\"0x030200\">`";
  if (attribute == "numa" || attribute == "numaid" || attribute == "numa_node")
    return "the NUMA node stands in the element around all of its devices: "
           "`<cpu numaid=\"0\">`";
  std::string known;
  for (const AttributeRule& each : rule.attributes)
    known += (known.empty() ? "" : ", ") + inTicks(each.name);
  return known.empty() ? inTicks(name) + " has no attributes"
                       : "its attributes are " + known;
}

class NcclXmlChecker {
public:
  std::vector<Finding> check(const XmlFile& file) {
    if (!file.error.empty()) {
      error(file.errorPosition, "this is no XML: " + file.error);
      return std::move(findings);
    }
    for (const XmlExtra& each : file.extras)
      error(each.position, textOf(each.kind).message, textOf(each.kind).help);
    checkRoot(*file.root);
    std::ranges::stable_sort(findings, {}, [](const Finding& finding) {
      return std::tuple(finding.position.line, finding.position.column);
    });
    return std::move(findings);
  }

private:
  void add(bool isError, Position position, std::string message,
           std::string help) {
    findings.push_back(
        {isError, position, std::move(message), std::move(help)});
  }
  void error(Position position, std::string message, std::string help = {}) {
    add(true, position, std::move(message), std::move(help));
  }
  void warn(Position position, std::string message, std::string help = {}) {
    add(false, position, std::move(message), std::move(help));
  }

  void checkRoot(const XmlElement& root);
  void checkElement(const XmlElement& element, const ElementRule& rule);
  void checkAttributes(const XmlElement& element, const ElementRule& rule);
  void checkValue(const XmlElement& element, const XmlAttribute& attribute,
                  const AttributeRule& rule);
  void checkChild(const XmlElement& element, const ElementRule& rule,
                  const XmlElement& child);
  void checkPci(const XmlElement& pci);
  void checkUnique(const XmlElement& element, const char* attribute);
  void checkLinks(const Machine& machine);
  void checkLinkCount(const Machine& machine, const Gpu& gpu);
  void checkLink(const Machine& machine, const Gpu& gpu,
                 const XmlElement& link);
  void checkGpus(const XmlElement& element, const Machine& machine,
                 const std::string& busId);

  std::vector<Finding> findings;
  /// The line of the first element with a value of an attribute.
  std::map<std::tuple<std::string, std::string, std::string>, int> seen;
};

void NcclXmlChecker::checkRoot(const XmlElement& root) {
  if (root.name != "system") {
    const bool isGraph = root.name == "graphs";
    error(root.position,
          "the root is " + inTicks(root.name) + ", and NCCL reads `system`",
          isGraph ? "this is a file of graphs: `NCCL_GRAPH_FILE` reads it"
                  : "begin with `<system version=\"1\">`");
    return;
  }
  if (const XmlAttribute* version = root.find("version");
      version && std::atoi(version->value.c_str()) != 1)
    error(version->position,
          "NCCL refuses version " + inTicks(version->value) +
              " of topology files",
          "write `version=\"1\"`");
  checkElement(root, *findElementRule("system"));
  const Machine machine = machineOf(root);
  checkGpus(root, machine, "");
  checkLinks(machine);
}

void NcclXmlChecker::checkElement(const XmlElement& element,
                                  const ElementRule& rule) {
  checkAttributes(element, rule);
  if (element.name == "pci")
    checkPci(element);
  if (element.name == "cpu")
    checkUnique(element, "numaid");
  if (element.name == "gpu")
    checkUnique(element, "dev");
  if (element.name == "net")
    checkUnique(element, "name");
  if (element.children.size() > mostChildren)
    warn(element.position,
         inTicks(element.name) + " has " +
             std::to_string(element.children.size()) +
             " children, and NCCL before 2.30 refuses more than " +
             std::to_string(mostChildren));
  for (const XmlElement& child : element.children)
    checkChild(element, rule, child);
}

void NcclXmlChecker::checkChild(const XmlElement& element,
                                const ElementRule& rule,
                                const XmlElement& child) {
  const ElementRule* own = findElementRule(child.name);
  if (own && rule.takesChild(child.name)) {
    checkElement(child, *own);
    return;
  }
  std::string help;
  if (child.name == "gpu")
    help = "nest it: `<cpu numaid=\"0\"><pci busid=\"0000:1b:00.0\" "
           "class=\"0x030200\"><gpu dev=\"0\" sm=\"90\">`";
  else if (own)
    help = inTicks(child.name) + " stands in " + inTicks(parentOf(child.name));
  else if (child.name.starts_with("nvswitch"))
    help =
        "an NVSwitch is the target of an `nvlink` with `tclass=\"0x068000\"`";
  error(child.position,
        "NCCL ignores " + inTicks(child.name) + " in " + inTicks(element.name) +
            (child.children.empty() ? "" : ", with all that it holds"),
        help);
  if (own)
    checkElement(child, *own);
}

void NcclXmlChecker::checkAttributes(const XmlElement& element,
                                     const ElementRule& rule) {
  for (const AttributeRule& each : rule.attributes)
    if (each.isNeeded && !element.find(each.name))
      error(element.position,
            inTicks(element.name) + " lacks " + inTicks(each.name));
  if (element.attributes.size() > mostAttributes)
    error(element.position, inTicks(element.name) + " has " +
                                std::to_string(element.attributes.size()) +
                                " attributes, and NCCL reads the first " +
                                std::to_string(mostAttributes));
  for (const XmlAttribute& each : element.attributes) {
    if (const AttributeRule* known = rule.find(each.name))
      checkValue(element, each, *known);
    else
      warn(each.position,
           "NCCL reads no " + inTicks(each.name) + " of " +
               inTicks(element.name),
           adviceOn(rule, each.name));
  }
}

void NcclXmlChecker::checkValue(const XmlElement& element,
                                const XmlAttribute& attribute,
                                const AttributeRule& rule) {
  if (attribute.value.size() > longestValue)
    error(attribute.position, inTicks(attribute.name) + " has " +
                                  std::to_string(attribute.value.size()) +
                                  " characters, and NCCL refuses more than " +
                                  std::to_string(longestValue));
  const auto objection = objectionTo(rule.kind, attribute.value);
  if (!objection)
    return;
  const std::string message = inTicks(attribute.name) + " of " +
                              inTicks(element.name) + " is " +
                              inTicks(attribute.value);
  // NCCL takes a default for these; another value may mislead it altogether.
  const bool isMild = rule.kind == AttributeRule::Kind::linkSpeed;
  add(!isMild, attribute.position, message, *objection);
}

void NcclXmlChecker::checkPci(const XmlElement& pci) {
  checkUnique(pci, "busid");
  const auto has = [&](const char* name) {
    return std::ranges::find(pci.children, name, &XmlElement::name) !=
           pci.children.end();
  };
  const XmlAttribute* code = pci.find("class");
  if (!code)
    return;
  if (has("gpu") && !code->value.starts_with("0x03"))
    error(code->position, "a GPU's class is " + inTicks(code->value),
          "GPUs are of class `0x0302`, or `0x0300`");
  if (has("nic") && !code->value.starts_with("0x02"))
    warn(code->position, "a NIC's class is " + inTicks(code->value),
         "NICs are of class `0x0200` (Ethernet), or `0x0207` (InfiniBand)");
}

void NcclXmlChecker::checkUnique(const XmlElement& element,
                                 const char* attribute) {
  const XmlAttribute* found = element.find(attribute);
  if (!found)
    return;
  const auto [first, isNew] = seen.try_emplace(
      {element.name, attribute, found->value}, found->position.line);
  if (!isNew)
    error(found->position, inTicks(attribute) + " = " + inTicks(found->value) +
                               " stands in line " +
                               std::to_string(first->second) + ", too");
}

/// Checks the elements `gpu` below an element, whose nearest bus id is given.
void NcclXmlChecker::checkGpus(const XmlElement& element,
                               const Machine& machine,
                               const std::string& busId) {
  if (element.name != "gpu") {
    const std::string own = element.valueOf("busid");
    for (const XmlElement& child : element.children)
      checkGpus(child, machine, own.empty() ? busId : own);
    return;
  }
  const auto gpu = std::ranges::find(
      machine.gpus, busId, [](const Gpu& each) { return each.pci.busId; });
  if (gpu == machine.gpus.end())
    return; // NCCL ignores it
  if (!element.find("sm") && !element.children.empty())
    warn(element.position, "the GPU lacks `sm`",
         "NCCL asks the driver of the machine, and needs it for the rate of "
         "an NVLink: `sm=\"90\"` on Hopper");
  for (const XmlElement& link : element.children)
    if (link.name == "nvlink")
      checkLink(machine, *gpu, link);
}

void NcclXmlChecker::checkLink(const Machine& machine, const Gpu& gpu,
                               const XmlElement& link) {
  const std::string target = link.valueOf("target"),
                    code = link.valueOf("tclass");
  const bool isOfGpu = code.starts_with(gpuClass);
  const auto other = std::ranges::find(
      machine.gpus, target, [](const Gpu& each) { return each.pci.busId; });
  if (!link.find("tclass")) {
    warn(link.position, "the NVLink lacks `tclass`, the class of its target",
         "NCCL asks sysfs, and takes an unknown target for an NVSwitch: write "
         "`tclass=\"0x068000\"` of an NVSwitch, `0x030200` of a GPU");
    return;
  }
  if (!isOfGpu && code != switchClass && code != processorClass) {
    error(
        link.find("tclass")->position,
        "no NVLink leads to a device of class " + inTicks(code),
        "`0x068000` is an NVSwitch, `0x030200` a GPU, `0x068001` a processor");
    return;
  }
  if (!isOfGpu)
    return;
  if (other == machine.gpus.end()) {
    error(link.position,
          "no GPU of this file has the bus id " + inTicks(target),
          "NCCL leaves out the link");
    return;
  }
  const auto back =
      std::ranges::find(other->links, gpu.pci.busId, &nvml::LinkTarget::busId);
  const int count = std::atoi(link.valueOf("count").c_str());
  const int counted = back == other->links.end() ? 0 : back->count;
  if (count != counted)
    error(link.position, inTicks(gpu.pci.busId) + " has " +
                             std::to_string(count) + " NVLinks to " +
                             inTicks(target) + ", which has " +
                             std::to_string(counted) + " back");
}

void NcclXmlChecker::checkLinks(const Machine& machine) {
  for (const Gpu& gpu : machine.gpus)
    checkLinkCount(machine, gpu);
}

void NcclXmlChecker::checkLinkCount(const Machine& machine, const Gpu& gpu) {
  const Position position = {gpu.pci.line, 1};
  const int count = gpu.linkCount();
  const int most = mostLinksOf(gpu.computeCapability);
  if (gpu.computeCapability > 0 && count > most) {
    error(position,
          "GPU " + std::to_string(gpu.index) + " has " + std::to_string(count) +
              " NVLinks, and one of compute capability " +
              std::to_string(gpu.computeCapability) + " has at most " +
              std::to_string(most),
          "`count` is the number of links to one target, and the counts of all "
          "targets add up");
    return;
  }
  for (const Gpu& other : machine.gpus)
    if (other.computeCapability == gpu.computeCapability &&
        other.linkCount() > count) {
      warn(position, "GPU " + std::to_string(gpu.index) + " has " +
                         std::to_string(count) + " NVLinks, and GPU " +
                         std::to_string(other.index) + " has " +
                         std::to_string(other.linkCount()));
      return;
    }
}

} // namespace

std::vector<Finding> checkNcclXml(const XmlFile& file) {
  return NcclXmlChecker().check(file);
}

} // namespace reciperun::topology
