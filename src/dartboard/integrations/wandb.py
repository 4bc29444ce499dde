"""Searches and trainings in Weights & Biases: settings, curves, strengths, cells, results and files."""

import os
import secrets
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from PIL import Image

from dartboard.errors import OptionError
from dartboard.integrations.tracker import Drawing, EpochLog, RunFile, RunStart, Session, TrackerHook
from dartboard.integrations.wandb_files import last_step

if TYPE_CHECKING:
    import wandb

INVALID = "/\\#?%:"
"""Characters that W&B refuses in the name of a project."""
UPLOAD_SECONDS = 15.0
"""How long the end of a run waits until W&B has uploaded everything; `wandb sync` uploads the rest."""


class WandbHook(TrackerHook):
    """Records loops in Weights & Biases after every epoch; steps are complete epochs.

    The id of the W&B run is kept as wandb.json in the run directory: a loop that is resumed continues the
    same W&B run and repeats no step. W&B's own settings apply, such as the environment variables `WANDB_MODE`
    and `WANDB_DIR`. Its error reports are off unless `WANDB_ERROR_REPORTING` is set.

    Args:
        project: The project, or TEAM/PROJECT.
        run: The run that contains those of the loops, such as a protocol: it names their group.

    Raises:
        OptionError: If wandb is not installed, or the project cannot have this name.
    """

    title = "Weights & Biases"
    package = "wandb"

    def __init__(self, project: str, run: str | Path | None = None) -> None:
        super().__init__(run)
        self.check_place(project)
        *team, self.project = project.split("/")
        self.team = team[0] if team else None

    @classmethod
    def check_place(cls, place: str) -> None:
        super().check_place(place)
        *team, project = place.split("/")
        if len(team) > 1 or not project or any(letter in project for letter in INVALID):
            raise OptionError(
                f"is no name of a project: write PROJECT or TEAM/PROJECT, without {INVALID[1:]}"
            )

    @classmethod
    def of_command(cls, place: str, run: Path) -> "WandbHook":
        return cls(place, run)

    def open_session(self, start: RunStart) -> Session:
        os.environ.setdefault("WANDB_ERROR_REPORTING", "false")
        import wandb

        is_online = wandb.setup().settings.mode == "online"
        if is_online and not wandb.login(prompt=False):
            raise OptionError("there is no API key; run wandb login, or set WANDB_MODE=offline")
        file = RunFile.read(start.path, self.package)
        if file.id is None:
            file.write(id=secrets.token_hex(4))
        elif not is_online:
            # What W&B had not yet written is lost with a killed process: its files know, this one does not.
            step = last_step(Path(wandb.setup().settings.wandb_dir), file.id)
            file.epochs = file.epochs if step is None else step
        run = wandb.init(
            project=self.project,
            entity=self.team,
            id=file.id,
            resume="allow" if is_online else None,  # offline, W&B joins runs of one id in `wandb sync`
            name=start.name,
            group=start.group,
            job_type=start.kind,
            reinit="create_new",
            # What is printed belongs to the commands, and a search to its user.
            settings=wandb.Settings(
                console="off", silent=True, save_code=False, finish_timeout=UPLOAD_SECONDS
            ),
        )
        return WandbSession(run, file, start, is_online=is_online)


class WandbSession(Session):
    """A run of W&B, new or continued."""

    def __init__(self, run: "wandb.Run", file: RunFile, start: RunStart, *, is_online: bool) -> None:
        self._run, self._file, self._kind = run, file, start.kind
        self._drawings: Mapping[str, Drawing] = {}
        self.epochs = max(run.step - 1, 0) if is_online else file.epochs
        run.config.update(dict(start.settings), allow_val_change=True)
        run.define_metric("*", step_metric="epoch")
        if start.drawing is not None and not self.epochs:
            self.log_epoch(EpochLog(0, {}, drawings={"cell": start.drawing}))

    def log_epoch(self, epoch: EpochLog) -> None:
        import wandb

        media: dict[str, Any] = {name: wandb.Image(drawing) for name, drawing in epoch.drawings.items()}
        media |= {name: wandb.Histogram(values) for name, values in epoch.histograms.items()}
        values = {"epoch": epoch.step, **epoch.scalars, **epoch.texts, **media}
        self._run.log(values, step=epoch.step, commit=True)  # at once, not with the next step
        self._file.write(epochs=epoch.step)

    def log_result(self, result: EpochLog) -> None:
        import wandb

        self._drawings = result.drawings
        for name, value in {**result.scalars, **result.texts}.items():
            self._run.summary[f"result/{name}"] = value
        for name, drawing in result.drawings.items():
            self._run.summary[name] = wandb.Image(drawing)

    def log_files(self, files: tuple[Path, ...]) -> None:
        import wandb

        artifact = wandb.Artifact(f"{self._kind}-{self._run.id}", type=self._kind)
        for path in files:
            artifact.add_file(str(path))
        for name, drawing in self._drawings.items():
            with artifact.new_file(f"{name}.png", "wb") as file:
                Image.fromarray(drawing).save(file, "png")
        self._run.log_artifact(artifact)

    def close(self, *, finished: bool) -> None:
        self._run.finish(exit_code=0 if finished else 1)
