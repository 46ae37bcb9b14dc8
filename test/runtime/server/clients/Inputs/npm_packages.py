"""Installs the npm packages that npm/package-lock.json pins.

    npm_packages.py [--check] FOLDER

They get into FOLDER/node_modules and stay there for the next run. --check
installs nothing: it fails unless the packages are there or npm's registry
answers within 3 s.
"""

import filecmp
import pathlib
import shutil
import subprocess
import sys

PINNED = pathlib.Path(__file__).parent / "npm"
LOCK = "package-lock.json"


def npm(*arguments, timeout, folder=None):
    subprocess.run(["npm", *arguments, "--loglevel=error"], check=True,
                   cwd=folder, stdin=subprocess.DEVNULL,
                   stdout=subprocess.DEVNULL, timeout=timeout)


def installed(folder):
    # npm writes the second file when everything else is there.
    return ((folder / LOCK).exists() and
            (folder / "node_modules/.package-lock.json").exists() and
            filecmp.cmp(folder / LOCK, PINNED / LOCK, shallow=False))


def install(folder):
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for name in ("package.json", LOCK):
        shutil.copy(PINNED / name, folder)
    # Not --prefix: it would hide the machine's npmrc, and the certificates that
    # it names.
    npm("ci", "--ignore-scripts", "--prefer-offline", "--no-audit", "--no-fund",
        timeout=300, folder=folder)


def main():
    *options, folder = sys.argv[1:]
    folder = pathlib.Path(folder)
    if installed(folder):
        return
    if options == ["--check"]:
        # npm itself starts slowly on a machine that is busy.
        npm("ping", "--fetch-timeout=3000", "--fetch-retries=0", timeout=15)
    else:
        install(folder)


main()
