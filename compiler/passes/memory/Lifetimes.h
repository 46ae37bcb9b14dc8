// The lifetimes of a Program's values.
//
// Functions that run one after another on the same activations form a timeline:
// `forward` and `backward` share one when the schedule runs them one after the
// other; every other function has its own. Timelines never overlap, so they all
// use the same bytes.

#ifndef RECIPEC_PASSES_MEMORY_LIFETIMES_H
#define RECIPEC_PASSES_MEMORY_LIFETIMES_H

#include "compiler/ir/Ir.h"

#include <string>
#include <vector>

namespace recipec::passes {

/// Whether a value keeps its memory between functions: values that live from
/// step to step, values with slots, and values in frames.
bool isPersistent(const ir::Module& program, ir::ValueId value);

/// Values that share one buffer: a result written over its operand, or a view.
/// The buffer is alive from position `begin` to `end` of the timeline.
struct Life {
  struct Member {
    ir::ValueId value;
    int64_t offset = 0; // bytes into the buffer
  };
  std::vector<Member> members; // in the order of their definition
  int64_t bytes = 0;
  int begin = 0;
  int end = 0;
};

struct Timeline {
  std::vector<const ir::Op*> ops;
  std::vector<Life> lives; // by begin, then by the number of the op's result
};

std::vector<Timeline> timelines(const ir::Module& program);

} // namespace recipec::passes

#endif // RECIPEC_PASSES_MEMORY_LIFETIMES_H
