// The environment variables of NCCL, of its plugin for AWS EFA (aws-ofi-nccl),
// of libfabric, and of PyTorch's use of NCCL: what they are, and which are
// mistakes.

#ifndef RECIPEC_ENVIRONMENT_VARIABLES_H
#define RECIPEC_ENVIRONMENT_VARIABLES_H

#include "compiler/diag/Diagnostic.h"

#include <cstdint>
#include <span>
#include <string_view>

namespace recipec::environment {

/// The form of a variable's values.
enum class Values {
  any,
  flag,       // 0 or 1
  number,     // a whole number from `least` to `most`
  level,      // a distance between GPUs, or between a GPU and an adapter: `PIX`
  verbosity,  // of NCCL_DEBUG
  algorithms, // `ring,tree`, since 2.24 also `allreduce:tree;broadcast:ring`
  protocols   // the same of `LL`, `LL128`, `Simple`
};

/// A variable that a library reads. Versions are those of the library.
struct Known {
  std::string_view name;
  std::string_view since;   // first version; empty: 2.4 or older
  std::string_view usual;   // the default, as a user would write it
  std::string_view purpose; // a noun phrase
  Values values = Values::any;
  int64_t least = 0, most = INT64_MAX; // of numbers
};

/// Documented variables, in alphabetical order.
std::span<const Known> knownVariables();
/// nullptr if no library documents the variable.
const Known* findKnown(std::string_view name);
/// Whether NCCL or its plugins read the variable, documented or not.
bool isRead(std::string_view name);

/// Where a finding applies.
enum class Where {
  anywhere,
  efa,         // the pods have EFA adapters
  severalNodes // the job has more than one node
};

/// A mistake that one variable makes by itself.
struct Mistake {
  std::string_view name;
  diag::Kind kind;
  std::string_view reason; // continues "`NAME` ..."
  std::string_view remedy; // the help
  Where where = Where::anywhere;
  std::string_view value = {};    // it is one with this value alone; empty: any
  std::string_view evidence = {}; // where it was measured; may be empty
};

std::span<const Mistake> knownMistakes();
/// The mistake to set the variable at all, whatever its value and wherever;
/// nullptr if there is none.
const Mistake* findMistake(std::string_view name);

} // namespace recipec::environment

#endif // RECIPEC_ENVIRONMENT_VARIABLES_H
