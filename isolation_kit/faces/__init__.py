"""What the pytest plugin and the command line share: from options to a project, its work, and its report."""

from isolation_kit.faces.finish import Clock, Finished, finish, outcomes_of, write_report
from isolation_kit.faces.options import Options
from isolation_kit.faces.output import Output, shown, write_file
from isolation_kit.faces.progress import PATIENCE, Progress
from isolation_kit.faces.project import REPLAY, Project, only, open_project, project_of
from isolation_kit.faces.settings import begin, reopen
from isolation_kit.faces.verdict import Judged, judge
from isolation_kit.faces.work import Done, Work

__all__ = [
    "PATIENCE",
    "REPLAY",
    "Clock",
    "Done",
    "Finished",
    "Judged",
    "Options",
    "Output",
    "Progress",
    "Project",
    "Work",
    "begin",
    "finish",
    "judge",
    "only",
    "open_project",
    "outcomes_of",
    "project_of",
    "reopen",
    "shown",
    "write_file",
    "write_report",
]
