// `recipec explain KIND`: the long text of a diagnostic.

#include "compiler/driver/Driver.h"

#include "compiler/diag/Diagnostic.h"

#include <ostream>

namespace recipec::driver {

int runExplain(const Invocation& invocation) {
  const std::string& name = invocation.inputs[0];
  if (auto kind = diag::findKind(name)) {
    invocation.out << diag::kindName(*kind) << "\n\n"
                   << diag::explanation(*kind) << '\n';
    return exitSuccess;
  }
  invocation.err << "error: there is no kind of diagnostic `" << name << "`\n";
  if (auto meant = diag::didYouMean(name, diag::kindNames()))
    invocation.err << "help: did you mean `" << *meant << "`?\n";
  else
    invocation.err << "help: a message prints its kind in brackets, as in "
                      "`[UnknownKey]`\n";
  return exitDiagnostics;
}

} // namespace recipec::driver
