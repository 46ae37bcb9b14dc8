// Writes a module as text; the form is described in Print.h.
//
// Order: header, mesh, dimensions, declared values by kind, parameters,
// bindings, regions, functions, transfers, schedules, memory. Every list keeps
// the module's order, so that the text does not depend on value numbers.

#include "compiler/ir/Print.h"
#include "runtime/ops/OpTable.h"

#include "llvm/ADT/StringExtras.h"

#include <cctype>
#include <charconv>

namespace recipec::ir {

namespace {

bool isPlainCharacter(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.';
}

class Printer {
public:
  explicit Printer(const Module& module) : module(module) {}

  std::string run() {
    header();
    declarations();
    params();
    bindings();
    for (const Region& region : module.regions)
      this->region(region);
    for (const Function& function : module.functions)
      this->function(function);
    for (const Transfer& transfer : module.transfers)
      this->transfer(transfer);
    for (const Schedule& schedule : module.schedules)
      this->schedule(schedule);
    memory();
    return std::move(out);
  }

  std::string opLine(const Op& op) {
    this->op(op);
    return std::move(out);
  }

  std::string typeText(ValueId value) {
    type(value);
    return std::move(out);
  }

private:
  // ---- words

  void quoted(std::string_view text) {
    out += '"';
    for (char c : text) {
      if (c == '"' || c == '\\') {
        out += '\\';
        out += c;
      } else if (static_cast<unsigned char>(c) < 0x20) {
        out += "\\x" + llvm::utohexstr(static_cast<unsigned char>(c),
                                       /*LowerCase=*/true, /*Width=*/2);
      } else {
        out += c;
      }
    }
    out += '"';
  }

  void name(std::string_view text) {
    bool plain = !text.empty();
    for (char c : text)
      plain = plain && isPlainCharacter(c);
    if (plain)
      out += text;
    else
      quoted(text);
  }

  void number(int64_t value) { out += std::to_string(value); }

  /// Writes the shortest text that parses to the same number, with a `.0` when
  /// it would read as an integer.
  void number(double value) {
    char text[64];
    auto [end, error] = std::to_chars(text, text + sizeof text, value);
    std::string_view written(text, size_t(end - text));
    out += written;
    if (written.find_first_of(".en") == written.npos)
      out += ".0";
  }

  void reference(ValueId value) {
    if (value == ValueId::none) {
      out += '_';
      return;
    }
    out += module[value].kind == ValueKind::parameter ? '@' : '%';
    name(module[value].name);
  }

  void references(const std::vector<ValueId>& values) {
    for (size_t i = 0; i < values.size(); ++i) {
      if (i > 0)
        out += ", ";
      reference(values[i]);
    }
  }

  void axes(AxisSet set, char before) {
    for (size_t i = 0; i < module.axes.size(); ++i) {
      if (!set.contains(AxisId(i)))
        continue;
      out += before;
      name(module.axes[i].name);
    }
  }

  void type(ValueId id) {
    const Value& value = module[id];
    out += dtypeName(value.type);
    out += '[';
    for (size_t i = 0; i < value.dims.size(); ++i) {
      if (i > 0)
        out += ", ";
      name(module[value.dims[i]].name);
      if (i < value.sharding.dims.size())
        axes(value.sharding.dims[i], '/');
    }
    out += ']';
    if (!value.sharding.partial.empty()) {
      out += ' ';
      axes(value.sharding.partial, '+');
    }
  }

  // ---- declarations

  void header() {
    out += module.isProgram ? "program " : "graph ";
    name(module.name);
    out += ' ';
    out += dtypeName(module.compute);
    out += '\n';
    if (module.stages > 1) {
      out += "stage ";
      number(int64_t(module.stage));
      out += " of ";
      number(int64_t(module.stages));
      out += '\n';
    }
    for (const Axis& axis : module.axes) {
      out += "axis ";
      name(axis.name);
      out += " = ";
      number(int64_t(axis.size));
      out += '\n';
    }
    for (const auto& [degree, where] : module.degrees) {
      std::string axes = groupName(module, where.axes);
      if (axes.empty() || axes == degree)
        continue; // the default
      out += "degree ";
      name(degree);
      out += " = ";
      name(axes);
      out += '\n';
    }
    for (const Dim& dim : module.dims) {
      out += "dim ";
      name(dim.name);
      out += " = ";
      number(dim.size);
      out += '\n';
    }
  }

  void declarations() {
    std::vector<bool> isParam(module.values.size());
    for (const Param& param : module.params)
      if (param.value != ValueId::none)
        isParam[size_t(param.value)] = true;
    for (ValueKind kind :
         {ValueKind::input, ValueKind::state, ValueKind::gradient,
          ValueKind::parameter, ValueKind::received})
      for (size_t i = 0; i < module.values.size(); ++i)
        if (module.values[i].kind == kind && !isParam[i])
          declaration(ValueId(i));
  }

  void declaration(ValueId value) {
    out += module[value].kind == ValueKind::parameter
               ? "value"
               : valueKindName(module[value].kind);
    out += ' ';
    reference(value);
    out += " : ";
    type(value);
    out += '\n';
  }

  void params() {
    for (const Param& param : module.params) {
      out += "param ";
      reference(param.value);
      if (param.name != module[param.value].name) {
        out += ' ';
        quoted(param.name);
      }
      out += " : ";
      type(param.value);
      out += " init ";
      out += param.init.kind;
      out += ' ';
      number(param.init.scale);
      paramFlags(param);
      out += "\n    hf ";
      quoted(param.hfName);
      shape(param.hfShape);
      hfRows(param);
      out += '\n';
    }
  }

  void hfRows(const Param& param) {
    if (param.hfRows == 0)
      return;
    out += " from ";
    number(param.hfFirst);
    out += " of ";
    number(param.hfRows);
  }

  void paramFlags(const Param& param) {
    if (!param.trainable)
      out += " frozen";
    if (!param.decay)
      out += " no_decay";
    if (param.adapter)
      out += " adapter";
    if (param.balances)
      out += " balances";
    if (param.gradient != ValueId::none) {
      out += " gradient ";
      reference(param.gradient);
    }
    if (param.quantization) {
      out += " quantized " + param.quantization->format + ' ' +
             param.quantization->scales + ' ';
      reference(param.quantization->scale);
      if (param.quantization->inScale != ValueId::none) {
        out += " input ";
        reference(param.quantization->inScale);
      }
    }
    if (param.loraA == ParamId::none)
      return;
    out += " lora ";
    reference(module[param.loraA].value);
    out += ", ";
    reference(module[param.loraB].value);
    out += ' ';
    number(param.loraScale);
  }

  void shape(const std::vector<int64_t>& sizes) {
    out += " [";
    for (size_t i = 0; i < sizes.size(); ++i) {
      if (i > 0)
        out += ", ";
      number(sizes[i]);
    }
    out += ']';
  }

  void bindings() {
    for (const auto& [role, value] : module.bindings) {
      out += "bind ";
      name(role);
      out += " = ";
      reference(value);
      out += '\n';
    }
  }

  void part(const char* key, ValueId value) {
    if (value == ValueId::none)
      return;
    out += ' ';
    out += key;
    out += ' ';
    reference(value);
  }

  void region(const Region& region) {
    out += "region ";
    name(region.name);
    out += " elements ";
    number(region.elements);
    if (!region.shard.empty()) {
      out += " shard ";
      name(groupName(module, region.shard));
    }
    part("param", region.param);
    part("gradient", region.gradient);
    part("master", region.master);
    part("m", region.momentM);
    part("v", region.momentV);
    part("param_part", region.paramPart);
    part("gradient_part", region.gradientPart);
    part("narrow_part", region.narrowPart);
    part("narrow", region.narrow);
    out += " {\n";
    for (size_t i = 0; i < region.params.size(); ++i) {
      out += "  ";
      reference(module[region.params[i]].value);
      out += " at ";
      number(region.starts[i]);
      if (region.narrow != ValueId::none)
        part("narrow", region.narrowParams[i]);
      out += '\n';
    }
    out += "}\n";
  }

  // ---- functions

  void function(const Function& function) {
    out += "function ";
    name(function.name);
    if (function.chunk > 0) {
      out += " chunk ";
      number(int64_t(function.chunk));
    }
    out += " {\n";
    int layer = -1;
    for (const Op& op : function.ops) {
      if (op.layer != layer) {
        layer = op.layer;
        out += layer < 0 ? " layer none" : " layer " + std::to_string(layer);
        out += '\n';
      }
      out += "  ";
      this->op(op);
      out += '\n';
    }
    out += "}\n";
  }

  void op(const Op& op) {
    references(op.results);
    out += " = ";
    out += ops::opName(op.kind);
    if (op.name != impliedName(op)) {
      out += ' ';
      quoted(op.name);
    }
    if (!op.operands.empty())
      out += ' ';
    references(op.operands);
    if (!op.group.empty()) {
      out += " over";
      axes(op.group, ' ');
    }
    attributes(op);
    results(op);
  }

  /// The name of an op that has no name in the text: its first result's.
  std::string_view impliedName(const Op& op) {
    if (op.results.empty() || op.results[0] == ValueId::none)
      return "";
    return module[op.results[0]].name;
  }

  void attributes(const Op& op) {
    if (op.attributes.empty())
      return;
    out += " {";
    bool first = true;
    for (const auto& [key, value] : op.attributes) {
      if (!first)
        out += ", ";
      first = false;
      name(key);
      out += " = ";
      std::visit([this](const auto& held) { attribute(held); }, value);
    }
    out += '}';
  }

  void attribute(bool value) { out += value ? "true" : "false"; }
  void attribute(int64_t value) { number(value); }
  void attribute(double value) { number(value); }
  void attribute(const std::string& value) { quoted(value); }
  void attribute(const std::vector<std::string>& values) {
    out += '[';
    for (size_t i = 0; i < values.size(); ++i) {
      if (i > 0)
        out += ", ";
      quoted(values[i]);
    }
    out += ']';
  }

  /// Writes the types of the results, except of declared values.
  void results(const Op& op) {
    bool first = true;
    for (ValueId result : op.results) {
      if (result == ValueId::none || isDeclared(result))
        continue;
      out += first ? " : " : ", ";
      first = false;
      if (module[result].kind == ValueKind::saved)
        out += "saved ";
      if (module[result].onHost)
        out += "host ";
      type(result);
    }
  }

  bool isDeclared(ValueId value) const {
    ValueKind kind = module[value].kind;
    return kind != ValueKind::saved && kind != ValueKind::temporary;
  }

  // ---- order and memory

  void transfer(const Transfer& transfer) {
    bool isSend = transfer.kind == Transfer::Kind::send;
    out += isSend ? "transfer send " : "transfer receive ";
    reference(transfer.value);
    out += isSend ? " to " : " from ";
    number(int64_t(transfer.peer));
    out += " channel ";
    number(int64_t(transfer.channel));
    out += " link ";
    number(int64_t(transfer.link));
    out += " of ";
    name(transfer.function);
    out += '\n';
  }

  void schedule(const Schedule& schedule) {
    out += "schedule ";
    name(schedule.name);
    out += " {\n";
    for (const ScheduleStep& step : schedule.steps) {
      out += "  ";
      out += ops::nameOf(step.kind);
      out += ' ';
      if (step.kind == ScheduleStep::Kind::run) {
        name(step.function);
        out += ' ';
      } else if (step.kind != ScheduleStep::Kind::load) {
        number(int64_t(step.transfer));
        out += ' ';
      }
      out += "batch ";
      number(int64_t(step.microBatch));
      out += '\n';
    }
    out += "}\n";
  }

  void memory() {
    if (module.placements.empty())
      return;
    places("memory", module.arenaBytes, module.placements);
    if (module.hostBytes > 0)
      places("host", module.hostBytes, module.hostPlacements);
    for (const Frame& frame : module.frames) {
      out += "frame of ";
      number(int64_t(frame.chunk));
      out += frame.onHost ? " host {" : " {";
      for (int64_t offset : frame.offsets) {
        out += ' ';
        number(offset);
      }
      out += " }\n";
    }
  }

  void places(std::string_view arena, int64_t bytes,
              const std::vector<Placement>& placements) {
    out += arena;
    out += ' ';
    number(bytes);
    out += " {\n";
    for (const Placement& place : placements) {
      out += "  ";
      reference(place.value);
      out += " at ";
      number(place.offset);
      out += " bytes ";
      number(place.bytes);
      if (place.slotStride != 0) {
        out += " slots ";
        number(int64_t(place.slots));
        out += " stride ";
        number(place.slotStride);
      }
      if (place.frame >= 0) {
        out += " frame ";
        number(int64_t(place.frame));
      }
      out += " in ";
      name(place.category);
      out += '\n';
    }
    out += "}\n";
  }

  const Module& module;
  std::string out;
};

} // namespace

std::string print(const Module& module) {
  return Printer(module).run();
}

std::string print(const Module& module, const Op& op) {
  return Printer(module).opLine(op);
}

std::string printType(const Module& module, ValueId value) {
  return Printer(module).typeText(value);
}

} // namespace recipec::ir
