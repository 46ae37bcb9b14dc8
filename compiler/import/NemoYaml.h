// NeMo's YAML: configurations of NeMo 1 and 2, and the Kubernetes objects that
// carry them.

#ifndef RECIPEC_IMPORT_NEMOYAML_H
#define RECIPEC_IMPORT_NEMOYAML_H

#include "compiler/import/Rules.h"

namespace recipec::importer {

/// The rules for the keys of NeMo's YAML.
std::span<const Rule> nemoRules();

} // namespace recipec::importer

#endif // RECIPEC_IMPORT_NEMOYAML_H
