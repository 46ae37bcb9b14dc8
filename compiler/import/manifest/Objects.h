// The objects of manifests, and the pods that they create.

#ifndef RECIPEC_IMPORT_MANIFEST_OBJECTS_H
#define RECIPEC_IMPORT_MANIFEST_OBJECTS_H

#include "compiler/diag/Diagnostic.h"
#include "compiler/import/manifest/schemas/Schemas.h"
#include "compiler/import/manifest/yaml/Node.h"

#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace recipec::importer::manifest {

struct Object {
  Node root;
  std::string version, kind;        // `apps/v1`, `Deployment`
  std::string name, space;          // `space` is the namespace; may be empty
  const KnownKind* known = nullptr; // nullptr: its fields are not checked

  bool is(std::string_view other) const { return known && kind == other; }
  Node spec() const { return root["spec"]; }
  /// "PyTorchJob `llama`"
  std::string title() const { return kind + " `" + name + "`"; }
};

/// Pods that an object creates from one template.
struct Pod {
  const Object* owner = nullptr;
  std::string role; // `Worker`, the name of a job of a JobSet; may be empty
  Node spec;        // a PodSpec
  Node labels;      // of the template
  int64_t count = 1;
  Node restart; // the restartPolicy of a replica of Kubeflow; else the pod's

  std::vector<Node> containers() const { return spec["containers"].elements(); }
  /// The sum over the containers of a resource's limit, or else its request.
  int64_t gpus() const;
  /// Whether a container asks for a resource whose name begins so.
  bool asksFor(std::string_view resource) const;
};

/// The objects of all files.
struct Manifest {
  std::deque<Object> objects; // a deque, so that pointers stay valid
  std::vector<Pod> pods;

  const Object* find(std::string_view kind, std::string_view name) const;
};

/// Adds the objects of a file, also those within a `List`. Reports documents
/// that are no objects.
void addObjects(const ast::File& file, const SourceMap& sources,
                Manifest& manifest, diag::Engine& engine);

/// Finds the pods of all objects.
void addPods(Manifest& manifest);

/// Whether a resource is a GPU: `nvidia.com/gpu`.
bool isGpu(std::string_view resource);

/// The limit of a resource of a container, or else its request.
Node resourceOf(const Node& container, std::string_view resource);

} // namespace recipec::importer::manifest

#endif // RECIPEC_IMPORT_MANIFEST_OBJECTS_H
