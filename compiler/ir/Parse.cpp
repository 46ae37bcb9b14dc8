// Parses a module's text by recursive descent, with one word of lookahead.
//
// Values are created at their declaration (inputs, state, gradients,
// parameters) or first definition (results of ops). Names that may be used
// before their declaration (`lora`) are resolved at the end.

#include "compiler/ir/Parse.h"

#include "compiler/ir/TextReader.h"
#include "runtime/ops/OpTable.h"

#include <unordered_map>

namespace recipec::ir {

namespace {

class Parser : TextReader {
public:
  explicit Parser(std::string_view text) : TextReader(text) {}

  std::optional<Module> run(std::string& error) {
    header();
    while (ok() && !atEnd())
      item();
    resolveBindings();
    resolveLora();
    if (!ok()) {
      error = problem();
      return std::nullopt;
    }
    return std::move(module);
  }

private:
  // ---- references and types

  AxisId axis() {
    std::string found = word();
    AxisId id = findAxis(module, found);
    if (id == AxisId::none)
      fail("an axis of the mesh instead of `" + found + "`");
    return id;
  }

  DimId dim() {
    std::string found = name();
    auto it = dims.find(found);
    if (it != dims.end())
      return it->second;
    fail("a dimension instead of `" + found + "`");
    return DimId::none;
  }

  bool atReference() { return peek() == '%' || peek() == '@'; }

  /// Reads `%name`, `@name` or `_`; returns an empty name for `_`.
  std::string referenceName() {
    if (takeWord("_"))
      return "";
    if (!take('%'))
      expect('@');
    return name();
  }

  ValueId reference() {
    std::string found = referenceName();
    if (found.empty() || !ok())
      return ValueId::none;
    auto it = values.find(found);
    if (it != values.end())
      return it->second;
    fail("a value defined before instead of `" + found + "`");
    return ValueId::none;
  }

  ValueId make(std::string name, ValueKind kind) {
    ValueId id = addValue(module, {name, kind, {}, {}, {}, {}});
    if (!values.emplace(std::move(name), id).second)
      fail("a name that no other value has");
    return id;
  }

  void type(ValueId id) {
    Value& value = module[id];
    std::string typeName = word();
    std::optional<DType> found = findDType(typeName);
    if (!found) {
      fail("an element type instead of `" + typeName + "`");
      return;
    }
    value.type = *found;
    value.dims.clear();
    value.sharding = {};
    expect('[');
    while (ok() && !take(']')) {
      value.dims.push_back(dim());
      AxisSet split;
      while (take('/'))
        split = split | AxisSet(axis());
      if (module.isProgram)
        value.sharding.dims.push_back(split);
      if (peek() != ']')
        expect(',');
    }
    while (take('+'))
      value.sharding.partial = value.sharding.partial | AxisSet(axis());
  }

  // ---- declarations

  void header() {
    if (takeWord("program"))
      module.isProgram = true;
    else
      expectWord("graph");
    module.name = name();
    std::string typeName = word();
    if (std::optional<DType> found = findDType(typeName))
      module.compute = *found;
    else
      fail("an element type");
  }

  void item() {
    std::string keyword = word();
    if (keyword == "axis")
      axisItem();
    else if (keyword == "stage")
      stageItem();
    else if (keyword == "degree")
      degreeItem();
    else if (keyword == "dim")
      dimItem();
    else if (keyword == "input")
      declaration(ValueKind::input);
    else if (keyword == "state")
      declaration(ValueKind::state);
    else if (keyword == "gradient")
      declaration(ValueKind::gradient);
    else if (keyword == "received")
      declaration(ValueKind::received);
    else if (keyword == "value")
      declaration(ValueKind::parameter);
    else if (keyword == "param")
      param();
    else if (keyword == "bind")
      binding();
    else if (keyword == "region")
      region();
    else if (keyword == "function")
      function();
    else if (keyword == "transfer")
      transfer();
    else if (keyword == "schedule")
      schedule();
    else if (keyword == "memory")
      module.arenaBytes = places(module.placements);
    else if (keyword == "host")
      module.hostBytes = places(module.hostPlacements);
    else if (keyword == "frame")
      frame();
    else
      fail("a declaration instead of `" + keyword + "`");
  }

  void axisItem() {
    Axis axis;
    axis.name = word();
    expect('=');
    axis.size = int(integer());
    module.axes.push_back(std::move(axis));
  }

  void stageItem() {
    module.stage = int(integer());
    expectWord("of");
    module.stages = int(integer());
  }

  void degreeItem() {
    std::string degree = name();
    expect('=');
    module.degrees[degree].axes = findGroup(module, name());
  }

  void dimItem() {
    Dim dim;
    dim.name = name();
    expect('=');
    dim.size = integer();
    dims.emplace(dim.name, DimId(module.dims.size()));
    module.dims.push_back(std::move(dim));
  }

  void declaration(ValueKind kind) {
    ValueId value = make(referenceName(), kind);
    expect(':');
    type(value);
  }

  void param() {
    Param param;
    param.value = make(referenceName(), ValueKind::parameter);
    param.name = peek() == '"' ? quoted() : module[param.value].name;
    paramNames.emplace(module[param.value].name, ParamId(module.params.size()));
    expect(':');
    type(param.value);
    expectWord("init");
    param.init.kind = word();
    param.init.scale = number<double>();
    param.trainable = !takeWord("frozen");
    param.decay = !takeWord("no_decay");
    param.adapter = takeWord("adapter");
    param.balances = takeWord("balances");
    if (takeWord("gradient"))
      param.gradient = reference();
    if (takeWord("quantized")) {
      WeightQuantization quantization;
      quantization.format = word();
      quantization.scales = word();
      quantization.scale = reference();
      if (takeWord("input"))
        quantization.inScale = reference();
      param.quantization = std::move(quantization);
    }
    if (takeWord("lora"))
      loraOf(param);
    expectWord("hf");
    param.hfName = quoted();
    expect('[');
    while (ok() && !take(']')) {
      param.hfShape.push_back(integer());
      if (peek() != ']')
        expect(',');
    }
    if (takeWord("from")) {
      param.hfFirst = integer();
      expectWord("of");
      param.hfRows = integer();
    }
    module.params.push_back(std::move(param));
  }

  void loraOf(Param& param) {
    Lora lora;
    lora.param = ParamId(module.params.size());
    lora.a = referenceName();
    expect(',');
    lora.b = referenceName();
    param.loraScale = number<double>();
    loras.push_back(std::move(lora));
  }

  void resolveLora() {
    for (const Lora& lora : loras) {
      if (!ok())
        return;
      auto a = paramNames.find(lora.a);
      auto b = paramNames.find(lora.b);
      if (a == paramNames.end() || b == paramNames.end()) {
        fail("parameters of the names that `lora` gives");
        return;
      }
      module[lora.param].loraA = a->second;
      module[lora.param].loraB = b->second;
    }
  }

  void binding() {
    std::string role = name();
    expect('=');
    // A binding may name an op's result, which the text defines later.
    bindings.emplace_back(std::move(role), referenceName());
  }

  void region() {
    Region region;
    region.name = name();
    expectWord("elements");
    region.elements = integer();
    if (takeWord("shard"))
      region.shard = findGroup(module, name());
    auto part = [this](std::string_view key) {
      return takeWord(key) ? reference() : ValueId::none;
    };
    region.param = part("param");
    region.gradient = part("gradient");
    region.master = part("master");
    region.momentM = part("m");
    region.momentV = part("v");
    region.paramPart = part("param_part");
    region.gradientPart = part("gradient_part");
    region.narrowPart = part("narrow_part");
    region.narrow = part("narrow");
    expect('{');
    while (ok() && !take('}')) {
      auto member = paramNames.find(referenceName());
      if (member == paramNames.end())
        fail("a parameter");
      else
        region.params.push_back(member->second);
      expectWord("at");
      region.starts.push_back(integer());
      if (region.narrow != ValueId::none)
        region.narrowParams.push_back(part("narrow"));
    }
    module.regions.push_back(std::move(region));
  }

  // ---- functions

  void function() {
    Function function;
    function.name = name();
    if (takeWord("chunk"))
      function.chunk = int(integer());
    layer = -1;
    expect('{');
    while (ok() && !take('}')) {
      if (takeWord("layer"))
        layer = takeWord("none") ? -1 : int(integer());
      else
        function.ops.push_back(op());
    }
    module.functions.push_back(std::move(function));
  }

  Op op() {
    Op op{};
    op.layer = layer;
    std::vector<std::string> results;
    do
      results.push_back(referenceName());
    while (take(','));
    expect('=');
    std::string kindName = word();
    std::optional<OpKind> kind = ops::findOp(kindName);
    if (!kind) {
      fail("an op instead of `" + kindName + "`");
      return op;
    }
    op.kind = *kind;
    op.name = peek() == '"' ? quoted() : results[0];
    operands(op);
    if (takeWord("over"))
      while (findAxis(module, peekWord()) != AxisId::none)
        op.group = op.group | AxisSet(axis());
    if (take('{'))
      attributes(op);
    define(op, results);
    return op;
  }

  void operands(Op& op) {
    // An op without attributes and types is followed directly by the next op's
    // results. The op's operand count separates the two.
    bool isPresent = atReference() || peekWord() == "_";
    if (ops::infoOf(op.kind).operands.empty() || !isPresent)
      return;
    do
      op.operands.push_back(reference());
    while (op.operands.size() < ops::infoOf(op.kind).operands.size() &&
           take(','));
  }

  void attributes(Op& op) {
    while (ok() && !take('}')) {
      std::string key = name();
      expect('=');
      op.attributes[key] = attribute();
      if (peek() != '}')
        expect(',');
    }
  }

  Attribute attribute() {
    if (peek() == '"')
      return quoted();
    if (takeWord("true"))
      return true;
    if (takeWord("false"))
      return false;
    if (take('[')) {
      std::vector<std::string> list;
      while (ok() && !take(']')) {
        list.push_back(quoted());
        if (peek() != ']')
          expect(',');
      }
      return list;
    }
    if (numberText().find_first_of(".en") == std::string_view::npos)
      return integer();
    return number<double>();
  }

  void define(Op& op, const std::vector<std::string>& results) {
    bool typed = false;
    for (const std::string& result : results) {
      if (result.empty()) {
        op.results.push_back(ValueId::none);
        continue;
      }
      auto existing = values.find(result);
      ValueId id = existing != values.end()
                       ? existing->second
                       : make(result, ValueKind::temporary);
      op.results.push_back(id);
      ValueKind kind = module[id].kind;
      if (kind != ValueKind::temporary && kind != ValueKind::saved)
        continue;
      if (typed)
        expect(',');
      else
        expect(':');
      typed = true;
      module[id].kind =
          takeWord("saved") ? ValueKind::saved : ValueKind::temporary;
      module[id].onHost = takeWord("host");
      type(id);
    }
  }

  void resolveBindings() {
    for (auto& [role, value] : bindings)
      if (auto it = values.find(value); it != values.end())
        module.bindings[role] = it->second;
      else
        fail("a value of the name `" + value + "` that is bound");
  }

  // ---- order and memory

  void transfer() {
    Transfer transfer;
    bool isSend = takeWord("send");
    if (!isSend)
      expectWord("receive");
    transfer.kind = isSend ? Transfer::Kind::send : Transfer::Kind::receive;
    transfer.value = reference();
    expectWord(isSend ? "to" : "from");
    transfer.peer = int(integer());
    expectWord("channel");
    transfer.channel = int(integer());
    expectWord("link");
    transfer.link = int(integer());
    expectWord("of");
    transfer.function = name();
    module.transfers.push_back(std::move(transfer));
  }

  ScheduleStep::Kind stepKind() {
    for (ScheduleStep::Kind kind :
         {ScheduleStep::Kind::load, ScheduleStep::Kind::send,
          ScheduleStep::Kind::receive, ScheduleStep::Kind::wait})
      if (takeWord(ops::nameOf(kind)))
        return kind;
    expectWord("run");
    return ScheduleStep::Kind::run;
  }

  void schedule() {
    Schedule schedule;
    schedule.name = name();
    expect('{');
    while (ok() && !take('}')) {
      ScheduleStep step;
      step.kind = stepKind();
      if (step.kind == ScheduleStep::Kind::run)
        step.function = name();
      else if (step.kind != ScheduleStep::Kind::load)
        step.transfer = int(integer());
      expectWord("batch");
      step.microBatch = int(integer());
      schedule.steps.push_back(std::move(step));
    }
    module.schedules.push_back(std::move(schedule));
  }

  void frame() {
    Frame frame;
    expectWord("of");
    frame.chunk = int(integer());
    frame.onHost = takeWord("host");
    expect('{');
    while (ok() && !take('}'))
      frame.offsets.push_back(integer());
    module.frames.push_back(std::move(frame));
  }

  /// Reads the placements of an arena and returns its size in bytes.
  int64_t places(std::vector<Placement>& placements) {
    int64_t bytes = integer();
    expect('{');
    while (ok() && !take('}')) {
      Placement place;
      place.value = reference();
      expectWord("at");
      place.offset = integer();
      expectWord("bytes");
      place.bytes = integer();
      if (takeWord("slots")) {
        place.slots = int(integer());
        expectWord("stride");
        place.slotStride = integer();
      }
      if (takeWord("frame"))
        place.frame = int(integer());
      expectWord("in");
      place.category = name();
      placements.push_back(std::move(place));
    }
    return bytes;
  }

  struct Lora {
    ParamId param;
    std::string a, b;
  };

  Module module;
  std::unordered_map<std::string, DimId> dims;
  std::unordered_map<std::string, ValueId> values;
  std::unordered_map<std::string, ParamId> paramNames;
  std::vector<Lora> loras;
  std::vector<std::pair<std::string, std::string>> bindings;
  int layer = -1;
};

} // namespace

std::optional<Module> parse(std::string_view text, std::string& error) {
  return Parser(text).run(error);
}

} // namespace recipec::ir
