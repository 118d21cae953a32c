"""The JSON Schema of each document of a user's own robot, written by
`rmwbench.results.answer_schema`.

python -m rmwbench.robot.robot_schema NAME      prints it; `make site` has all of them
"""

from collections.abc import Mapping
from typing import Any

from rmwbench.results.answer_schema import main
from rmwbench.robot.check.check_document import RobotCheck

DOCUMENTS: Mapping[str, Any] = {"check": RobotCheck}

if __name__ == "__main__":
    main(DOCUMENTS)
