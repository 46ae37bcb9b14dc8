// Manifests as text.

#ifndef RECIPEC_LAUNCH_KUBERNETES_YAML_H
#define RECIPEC_LAUNCH_KUBERNETES_YAML_H

#include <nlohmann/json.hpp>

#include <string>
#include <vector>

namespace recipec::launch {

/// An object of Kubernetes, with its fields in the order in which they are
/// written.
using Json = nlohmann::ordered_json;

/// The objects as documents of one YAML file. Texts of several lines are
/// literal blocks; a text that YAML 1.1 or 1.2 would read as another type is
/// quoted.
std::string yamlOf(const std::vector<Json>& objects);

} // namespace recipec::launch

#endif // RECIPEC_LAUNCH_KUBERNETES_YAML_H
