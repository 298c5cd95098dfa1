"""All checks of this machine's GPUs, in one report."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass

from contract.documents.node import GpuPromise
from gpu import health, inventory, nvidia_driver, nvidia_toolkit, nvml_abi, trial, xid
from gpu.findings import Code, GpuFinding, LookError
from gpu.inventory import Gpu
from gpu.nvidia_driver import Driver
from gpu.nvidia_toolkit import Specification
from gpu.nvml import LIBRARY, Nvml, NvmlError, NvmlMissingError

HEALTHY = 0
FINDINGS = 1
CANNOT_LOOK = 3


@dataclass(frozen=True, kw_only=True)
class PreflightReport:
    """Result of the checks."""

    promised: int = 0
    driver: str = ""
    """Version of the driver that answers; empty if no driver answers."""
    cuda: str = ""
    """Newest CUDA version that the driver supports."""
    gpus: tuple[Gpu, ...] = ()
    findings: tuple[GpuFinding, ...] = ()
    unseen: tuple[str, ...] = ()
    """Checks that could not be made, with the reasons."""

    @property
    def exit_code(self) -> int:
        """Exit code for the result. A machine without findings is healthy only if every check could be made."""
        if self.findings:
            return FINDINGS
        return CANNOT_LOOK if self.unseen else HEALTHY


@dataclass(frozen=True, kw_only=True)
class Sources:
    """Sources that the checks read."""

    library: str = LIBRARY
    driver: Callable[[], Driver] = nvidia_driver.read
    toolkit: Callable[[], Iterable[Specification]] = nvidia_toolkit.read
    kernel_log: Callable[[], Iterable[str]] = xid.kernel_log


class _Look:
    """One run of all checks."""

    def __init__(self, promise: GpuPromise, sources: Sources) -> None:
        self.promise, self.sources = promise, sources
        self.findings: list[GpuFinding] = []
        self.unseen: list[str] = []
        self.gpus: list[Gpu] = []
        self.driver = self.cuda = ""

    def all(self) -> PreflightReport:
        nvml = self._load()
        self._kernel(nvml)
        if nvml is not None:
            self._ask(nvml)
        self._errors()
        if self.promise.check and self.gpus:
            self.findings += trial.run(self.promise.check)
        return PreflightReport(
            promised=self.promise.gpus,
            driver=self.driver,
            cuda=self.cuda,
            gpus=tuple(self.gpus),
            findings=tuple(self.findings),
            unseen=tuple(self.unseen),
        )

    def _load(self) -> Nvml | None:
        try:
            return Nvml(self.sources.library)
        except NvmlMissingError as error:
            message = f"{error}: install the driver's user-space libraries, of the kernel module's version"
            self.findings.append(GpuFinding(code=Code.NVML_MISSING, message=message))
            return None

    def _kernel(self, nvml: Nvml | None) -> None:
        try:
            library = nvml.library_version() if nvml is not None else ""
        except NvmlError:
            library = ""
        try:
            driver_state = self.sources.driver()
            self.findings += nvidia_driver.findings(driver_state, library=library)
            self.findings += nvidia_toolkit.findings(self.sources.toolkit(), loaded=driver_state.loaded)
        except LookError as error:
            self.unseen.append(str(error))

    def _ask(self, nvml: Nvml) -> None:
        try:
            with nvml:
                self.driver = nvml.driver_version()
                # Only for the report: an unknown version is no problem.
                with suppress(NvmlError):
                    self.cuda = nvml.cuda_version()
                self.gpus, refused = inventory.read(nvml)
        except NvmlError as error:
            self._refused(error)
            return
        promise = self.promise
        self.findings += refused
        self.findings += health.number(self.gpus, promise.gpus)
        self.findings += health.model(self.gpus, promise.model)
        for gpu in self.gpus:
            self.findings += health.memory(gpu)
        self.findings += health.links(self.gpus, promise.nvlinks)

    def _refused(self, error: NvmlError) -> None:
        """Add the finding that NVML does not open, unless a finding about the kernel's side already explains that."""
        if error.code == nvml_abi.LIB_RM_VERSION_MISMATCH:
            message = f"{error}: library and kernel module are of different versions: reboot"
            refusal = GpuFinding(code=Code.DRIVER_MISMATCH, message=message)
        elif error.code == nvml_abi.DRIVER_NOT_LOADED:
            message = f"{error}: the driver does not answer: is /dev/nvidiactl there (nvidia-modprobe)?"
            refusal = GpuFinding(code=Code.DRIVER_NOT_LOADED, message=message)
        else:
            refusal = GpuFinding(code=Code.NVML_FAILED, message=f"{error}: see the kernel log (NVRM)")
        explained = {Code.DRIVER_NOT_FOR_KERNEL, Code.NOUVEAU_LOADED, refusal.code}
        known = {finding.code for finding in self.findings}
        if refusal.code is Code.NVML_FAILED or not known & explained:
            self.findings.append(refusal)

    def _errors(self) -> None:
        try:
            log = xid.parse(self.sources.kernel_log())
        except LookError as error:
            self.unseen.append(str(error))
            return
        self.findings += xid.findings(log, {gpu.pci: gpu.uuid for gpu in self.gpus})


def look(promise: GpuPromise, sources: Sources | None = None) -> PreflightReport:
    """Make all checks. Problems of the machine become findings, not exceptions. A machine without promised GPUs needs
    no driver. It is healthy unless it has GPUs, and nothing else is checked."""
    sources = sources or Sources()
    if promise.gpus:
        return _Look(promise, sources).all()
    try:
        with Nvml(sources.library) as nvml:
            gpus, _ = inventory.read(nvml)
    except (NvmlMissingError, NvmlError):
        return PreflightReport()
    return PreflightReport(gpus=tuple(gpus), findings=tuple(health.number(gpus, 0)))
