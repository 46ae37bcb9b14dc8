# The shell tests: a `RUN:` line in a recipe or a `.test` file, FileCheck on what
# it prints. Names of erring inputs begin with `fail_`.
import os
import shutil
import subprocess

import lit.formats

config.name = "recipec"
config.test_format = lit.formats.ShTest(execute_external=True)
config.suffixes = [".recipe", ".test"]
config.excludes = ["Inputs", "transformers", "CMakeLists.txt"]
config.test_source_root = os.path.join(config.source_root, "test")
config.test_exec_root = os.path.join(config.build_root, "test", "shell")

tools = os.path.join(config.build_root, "bin")
path = [tools, config.llvm_tools, os.environ["PATH"]]
config.environment["PATH"] = os.pathsep.join(path)
for name in ("HOME", "ASAN_OPTIONS", "UBSAN_OPTIONS", "LSAN_OPTIONS"):
    if name in os.environ:
        config.environment[name] = os.environ[name]
config.environment.update((name, value) for name, value in os.environ.items()
                          if name.lower().startswith("npm_config_"))
# Ranks that wait let those of other tests have the core: Open MPI's ranks do so
# of themselves only where there are more of them in one run than cores.
config.environment["OMPI_MCA_mpi_yield_when_idle"] = "1"
try:  # renders chat templates as transformers does
    import jinja2  # noqa: F401
    config.available_features.add("jinja2")
except ImportError:
    pass
try:  # reads manifests
    import yaml  # noqa: F401
    config.available_features.add("pyyaml")
except ImportError:
    pass
# Debian's packages belong to its own Python, which need not be the first.
for python in ("python3", "/usr/bin/python3"):
    modules = "import grpc, google.protobuf"
    if subprocess.run([python, "-c", modules], capture_output=True).returncode:
        continue
    config.available_features.add("grpcio")
    config.substitutions.append(("%grpc_python", python))
    break
for python in ("python3", "/usr/bin/python3"):
    modules = "import jsonschema, yaml"
    if subprocess.run([python, "-c", modules], capture_output=True).returncode:
        continue
    config.available_features.add("jsonschema")
    config.substitutions.append(("%python", python))
    break
if shutil.which("jq"):
    config.available_features.add("jq")
if shutil.which("promtool") and shutil.which("prometheus"):
    config.available_features.add("prometheus")
daemons = os.pathsep.join([os.environ["PATH"], "/usr/sbin"])
if all(shutil.which(name, path=daemons)
       for name in ("munged", "slurmctld", "slurmd", "sbatch")):
    config.available_features.add("slurm")
if shutil.which("chromium"):
    config.available_features.add("chromium")
if shutil.which("node") and shutil.which("npm"):
    script = os.path.join(config.test_source_root, "runtime", "server",
                          "clients", "Inputs", "npm_packages.py")
    folder = os.path.join(config.build_root, "test", "npm")
    if subprocess.run(["python3", script, "--check", folder],
                      env=config.environment,
                      capture_output=True).returncode == 0:
        config.available_features.add("npm")
if config.sanitized:
    config.available_features.add("sanitized")

# As root and with more ranks than cores, Open MPI wants to be asked twice.
root = "--allow-run-as-root" if os.geteuid() == 0 else ""
mpirun = f"mpirun {root} --oversubscribe --bind-to none".replace("  ", " ")

golden = os.path.join(config.source_root, "tools", "golden")
if lit_config.params.get("update_goldens"):
    golden += " --update"

config.substitutions += [
    ("%build", config.build_root),
    ("%golden", golden),
    ("%recipec", os.path.join(tools, "recipec")),
    ("%reciperun", os.path.join(tools, "reciperun")),
    ("%programs", os.path.join(config.build_root, "test", "programs")),
    ("%mpirun", mpirun),
    ("%root", config.source_root),
]
