// Template: parses once, renders many times.

#include "runtime/jinja/Template.h"

#include "runtime/jinja/Parser.h"
#include "runtime/jinja/Renderer.h"

#include <nlohmann/json.hpp>

namespace reciperun::jinja {

Expected<Template> Template::parse(std::string_view source) {
  Expected<ast::Body> body = jinja::parse(source);
  RECIPERUN_TRY(body);
  Template result;
  result.body = std::make_shared<const ast::Body>(*std::move(body));
  return result;
}

Expected<std::string> Template::render(const nlohmann::ordered_json& variables,
                                       std::time_t now,
                                       const RenderLimits& limits) const {
  const Value values = fromJson(variables);
  if (!values.dict())
    return Status::error("the variables of a template are an object");
  return Renderer(limits, now).render(*body, *values.dict());
}

} // namespace reciperun::jinja
