// Chat templates of Hugging Face models: Jinja with the options, filters and
// functions that transformers' `apply_chat_template` gives them.
//
// The language follows Jinja 3.1 (https://jinja.palletsprojects.com/templates)
// without templates that read others. Templates come with downloaded models and
// are untrusted: they reach nothing but their variables, and nesting, steps and
// bytes are limited.

#ifndef RECIPERUN_JINJA_TEMPLATE_H
#define RECIPERUN_JINJA_TEMPLATE_H

#include "runtime/base/Status.h"

#include <nlohmann/json_fwd.hpp>

#include <cstddef>
#include <cstdint>
#include <ctime>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace reciperun::jinja {

namespace ast {
struct Statement;
}

struct RenderLimits {
  /// Evaluated expressions and statements. Operations that read long strings,
  /// lists or dictionaries take more: one for every `readsPerStep` bytes.
  int64_t steps = 4'000'000;
  static constexpr size_t readsPerStep = 64;
  /// Of the strings, lists and dictionaries that are made, and of the output.
  size_t bytes = size_t(64) << 20;
};

class Template {
public:
  /// Fails with the line of the template and what is wrong there.
  static Expected<Template> parse(std::string_view source);

  /// Renders with the members of an object as variables. `now` is the time that
  /// `strftime_now` prints, in UTC. Fails with the line where the template
  /// raised an exception, uses an undefined value or exceeds a limit.
  Expected<std::string> render(const nlohmann::ordered_json& variables,
                               std::time_t now,
                               const RenderLimits& limits = {}) const;

private:
  Template() = default;

  std::shared_ptr<const std::vector<ast::Statement>> body;
};

} // namespace reciperun::jinja

#endif // RECIPERUN_JINJA_TEMPLATE_H
