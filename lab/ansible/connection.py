"""Base of Ansible's connection plugins for systems whose files are on this machine."""

from __future__ import annotations

import os
import shutil
import subprocess
from abc import abstractmethod
from collections.abc import Mapping
from pathlib import Path

from ansible.plugins.connection import ConnectionBase  # type: ignore[import-untyped]


class LocalSystem(ConnectionBase):  # type: ignore[misc]
    """Runs commands as the plugin specifies, and copies files below the system's root."""

    has_pipelining = True
    environment: Mapping[str, str] | None = None
    """Environment of the commands; None for this process's environment."""

    @abstractmethod
    def argv(self, command: str) -> list[str]:
        """Return the command line that runs a shell command in the system."""

    @abstractmethod
    def root(self) -> Path:
        """Return the folder that holds the system's files."""

    def _connect(self) -> LocalSystem:
        self._connected = True
        return self

    def exec_command(self, cmd: str, in_data: bytes | None = None, sudoable: bool = True) -> tuple[int, bytes, bytes]:
        super().exec_command(cmd, in_data=in_data, sudoable=sudoable)
        argv = self.argv(cmd)
        done = subprocess.run(argv, input=in_data or b"", capture_output=True, env=self.environment, check=False)
        return done.returncode, done.stdout, done.stderr

    def put_file(self, in_path: str, out_path: str) -> None:
        super().put_file(in_path, out_path)
        shutil.copyfile(in_path, self._inside(out_path))

    def fetch_file(self, in_path: str, out_path: str) -> None:
        super().fetch_file(in_path, out_path)
        shutil.copyfile(self._inside(in_path), out_path)

    def close(self) -> None:
        self._connected = False

    def _inside(self, path: str) -> Path:
        return self.root() / os.path.normpath(f"/{path}").lstrip("/")
