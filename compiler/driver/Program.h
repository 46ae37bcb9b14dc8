// The edge of the program: what happens around the command line's work.

#ifndef RECIPEC_DRIVER_PROGRAM_H
#define RECIPEC_DRIVER_PROGRAM_H

namespace recipec::driver {

/// Runs the command line of `main`; gives the exit code. A standard output that
/// cannot be written is an error, but for a pipe whose reader has left; memory
/// that is not there, and any exception that none has caught, ends in a
/// message.
int runProgram(int argc, char** argv);

} // namespace recipec::driver

#endif // RECIPEC_DRIVER_PROGRAM_H
