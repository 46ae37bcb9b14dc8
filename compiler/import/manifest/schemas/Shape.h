// The shapes of objects: which fields there are, and of which type.

#ifndef RECIPEC_IMPORT_MANIFEST_SCHEMAS_SHAPE_H
#define RECIPEC_IMPORT_MANIFEST_SCHEMAS_SHAPE_H

#include "compiler/diag/Diagnostic.h"
#include "compiler/import/manifest/yaml/Node.h"

#include <deque>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace recipec::importer::manifest {

struct Shape;

struct ShapeField {
  std::string name;
  bool isRequired = false;
  const Shape* shape = nullptr;
};

struct Shape {
  enum class Form {
    any,
    text,
    label,    // a DNS-1123 label
    name,     // a DNS-1123 subdomain
    integer,  // may be negative
    count,    // at least 0
    positive, // at least 1
    number,
    truth,
    quantity,  // `64Gi`, `8`
    eitherOne, // a whole number or a text
    duration,  // of Prometheus: `30s`
    choice,    // one of `choices`
    list,      // of `element`
    map,       // of keys that the user chooses to `element`
    record     // of `fields`
  };
  Form form = Form::any;
  const Shape* element = nullptr;
  std::vector<std::string> choices = {};
  std::vector<ShapeField> fields = {};

  const ShapeField* find(std::string_view field) const;
};

/// The types of a text in this notation:
///
///   type Probe = {
///     httpGet {path string, port* int-or-string}, periodSeconds positive
///   }
///
/// A field has a name, `*` if it is required, and a type: a word such as
/// `string`, `int` or `bool`, the name of another type, a choice
/// `Always | Never` or `"OpenMPI"`, a list `[T]`, a map `map T`, or a record
/// `{...}`. A name may be used before its type.
class Shapes {
public:
  /// Adds the types of the text. It is one of ours, so a mistake in it is a
  /// bug.
  void add(std::string_view text);
  /// Asserts that all names have a type. Call it after the last `add`.
  void finish() const;
  /// nullptr if there is no such type.
  const Shape* find(std::string_view type) const;

private:
  class Parser;

  std::deque<Shape> all; // a deque, so that pointers stay valid
  std::map<std::string, Shape*, std::less<>> named;
  std::map<std::string, Shape*, std::less<>> words;
};

/// Reports fields that the shape lacks, values of another type, and required
/// fields that are missing. `kind` is that of the object, for messages.
void checkShape(const Node& node, const Shape& shape, const std::string& kind,
                diag::Engine& engine);

} // namespace recipec::importer::manifest

#endif // RECIPEC_IMPORT_MANIFEST_SCHEMAS_SHAPE_H
