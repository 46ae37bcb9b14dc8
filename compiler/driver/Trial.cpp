// Compilations with other settings; see Trial.h.

#include "compiler/driver/Trial.h"

namespace recipec::driver {

std::optional<Compilation>
compileTrial(Session& session, const std::vector<std::string>& settings) {
  diag::Engine silent; // errors of a trial are not shown to the user
  sema::Changes changes;
  for (const std::string& text : settings)
    session.addOverride(changes.overrides, text, "a change that was tried");
  return compile(session, silent, changes, Verification::none);
}

} // namespace recipec::driver
