// See Compiled.h.

#include "test/compiler/driver/Compiled.h"

#include "compiler/diag/Render.h"
#include "test/SourceRoot.h"

#include <gtest/gtest.h>

namespace recipec::driver {

std::optional<Compiled> compileInput(const std::string& target,
                                     const std::vector<std::string>& sets) {
  auto session = std::make_unique<Session>(
      RECIPEC_SOURCE_ROOT "/test/compiler/driver/Inputs/" + target);
  std::optional<Compilation> result;
  if (session->open(sets) && session->selectOne())
    result = compile(*session, session->engine);
  EXPECT_TRUE(result) << diag::render(session->engine, session->sources);
  if (!result)
    return std::nullopt;
  return Compiled{std::move(session), std::move(*result)};
}

} // namespace recipec::driver
