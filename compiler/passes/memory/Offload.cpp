// For each chunk:
// 1. Choose the values that `forward` saves in one of the chunk's first layers
//    and that `backward` reads and does not write.
// 2. In `forward`, start to copy a value to the host after the last op that
//    writes it. The copy ends where the layer after the next begins, so it has
//    a layer's time; until then the value keeps its device memory.
// 3. In `backward`, start to copy it back where the layer before its first
//    reader begins, and end before that reader. All ops read the copy.

#include "compiler/passes/memory/Offload.h"

#include "compiler/passes/ValueNames.h"
#include "runtime/ops/OpKind.h"

#include <algorithm>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

namespace recipec::passes {
namespace {

using ir::Function;
using ir::Op;
using ir::OpKind;
using ir::ValueId;
using ir::ValueKind;

/// The run of each op: a run is a sequence of ops of one layer. Ops without a
/// layer form a run before the first layer and one after the last; in between
/// they belong to the layer before them.
std::vector<int> runsOf(const Function& function) {
  size_t end = function.ops.size(); // one past the last op with a layer
  while (end > 0 && function.ops[end - 1].layer < 0)
    --end;
  std::vector<int> runs;
  int layer = -1, run = 0;
  for (size_t i = 0; i < function.ops.size(); ++i) {
    const Op& op = function.ops[i];
    bool isNew = i == end || (op.layer >= 0 && op.layer != layer);
    if (isNew) {
      run += i > 0;
      layer = op.layer;
    }
    runs.push_back(run);
  }
  return runs;
}

class Offloading {
public:
  Offloading(ir::Module& program, int64_t most)
      : program(program), most(most), names(program) {
    for (const ir::Transfer& transfer : program.transfers)
      isSent.insert(transfer.value);
  }

  void run() {
    constexpr std::string_view stem = "forward";
    for (Function& function : program.functions) {
      if (!function.name.starts_with(stem))
        continue;
      Function* backward = ir::findFunction(
          program, "backward" + function.name.substr(stem.size()));
      if (backward)
        run(function, *backward);
    }
  }

private:
  /// A value that is offloaded and copied back.
  struct Moved {
    ValueId value, host, back;
    size_t written; // the op of `forward` that writes it last
    size_t read;    // the op of `backward` that reads it first
  };

  void run(Function& forward, Function& backward) {
    choose(forward, backward);
    writeForward(forward);
    writeBackward(backward);
    moved.clear();
  }

  // ---- 1: the choice of values

  std::set<int> firstLayers(const Function& forward) const {
    std::set<int> layers;
    for (const Op& op : forward.ops)
      if (op.layer >= 0 && int64_t(layers.size()) < most)
        layers.insert(op.layer);
    return layers;
  }

  void choose(const Function& forward, const Function& backward) {
    std::set<int> layers = firstLayers(forward);
    std::unordered_map<ValueId, size_t> writers, readers;
    for (size_t i = 0; i < forward.ops.size(); ++i)
      for (ValueId result : forward.ops[i].results)
        writers[result] = i;
    std::set<ValueId> isWritten;
    for (size_t i = 0; i < backward.ops.size(); ++i) {
      for (ValueId operand : backward.ops[i].operands)
        readers.emplace(operand, i);
      isWritten.insert(backward.ops[i].results.begin(),
                       backward.ops[i].results.end());
    }
    for (size_t i = 0; i < forward.ops.size(); ++i)
      for (ValueId value : forward.ops[i].results) {
        bool isChosen = value != ValueId::none && writers[value] == i &&
                        program[value].kind == ValueKind::saved &&
                        layers.count(forward.ops[i].layer) &&
                        readers.count(value) && !isSent.count(value) &&
                        !isWritten.count(value);
        if (isChosen)
          add(value, i, readers[value]);
      }
  }

  void add(ValueId value, size_t written, size_t read) {
    auto copy = [&](const char* prefix, ValueKind kind, bool onHost) {
      ir::Value made = program[value];
      made.name = names.make(prefix + made.name);
      made.kind = kind;
      made.onHost = onHost;
      return ir::addValue(program, std::move(made));
    };
    program[value].kind = ValueKind::temporary;
    ValueId host = copy("host.", ValueKind::saved, true);
    ValueId back = copy("back.", ValueKind::temporary, false);
    moved.push_back({value, host, back, written, read});
  }

  // ---- 2, 3: the copies

  void writeForward(Function& function) {
    std::vector<int> runs = runsOf(function);
    std::vector<Op> ops = std::exchange(function.ops, {});
    size_t begun = 0, ended = 0; // of `moved`, in the order of the writes
    for (size_t i = 0; i < ops.size(); ++i) {
      for (; ended < begun && runs[moved[ended].written] + 1 < runs[i]; ++ended)
        end(function, moved[ended].value, moved[ended].host);
      function.ops.push_back(std::move(ops[i]));
      for (; begun < moved.size() && moved[begun].written == i; ++begun)
        begin(function, moved[begun].value, moved[begun].host);
    }
    for (; ended < begun; ++ended)
      end(function, moved[ended].value, moved[ended].host);
  }

  void writeBackward(Function& function) {
    std::stable_sort(
        moved.begin(), moved.end(),
        [](const Moved& a, const Moved& b) { return a.read < b.read; });
    std::unordered_map<ValueId, ValueId> backOf;
    for (const Moved& each : moved)
      backOf.emplace(each.value, each.back);
    std::vector<int> runs = runsOf(function);
    std::vector<Op> ops = std::exchange(function.ops, {});
    size_t begun = 0, ended = 0;
    for (size_t i = 0; i < ops.size(); ++i) {
      for (; begun < moved.size() && runs[moved[begun].read] <= runs[i] + 1;
           ++begun)
        begin(function, moved[begun].host, moved[begun].back);
      for (; ended < begun && moved[ended].read == i; ++ended)
        end(function, moved[ended].host, moved[ended].back);
      for (ValueId& operand : ops[i].operands)
        if (auto found = backOf.find(operand); found != backOf.end())
          operand = found->second;
      function.ops.push_back(std::move(ops[i]));
    }
  }

  void begin(Function& function, ValueId from, ValueId to) {
    add(function, OpKind::CopyBegin, from, to);
  }
  void end(Function& function, ValueId from, ValueId to) {
    add(function, OpKind::CopyEnd, from, to);
  }
  void add(Function& function, OpKind kind, ValueId from, ValueId to) {
    Op op{};
    op.kind = kind;
    op.layer = function.ops.empty() ? -1 : function.ops.back().layer;
    op.name = program[to].name;
    op.range = program[to].range;
    op.operands = {from};
    op.results = {to};
    function.ops.push_back(std::move(op));
  }

  ir::Module& program;
  int64_t most; // layers per chunk
  ValueNames names;
  std::set<ValueId> isSent;
  std::vector<Moved> moved; // of the current chunk
};

} // namespace

void offload(ir::Module& program, const recipe::Recipe& recipe) {
  int64_t layers = recipe.integer("memory.offload_layers");
  if (layers > 0)
    Offloading(program, layers).run();
}

} // namespace recipec::passes
