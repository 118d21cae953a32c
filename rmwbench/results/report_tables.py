"""What a report reads of the small tables: those that measuring takes, and those that only a report
shows."""

from rmwbench.bundle import Bundle
from rmwbench.bundle.evidence import SmallTables as Evidence
from rmwbench.bundle.evidence import grouped


class ReportTables(Evidence):
    """The tables that are a few rows per trial, read once for the whole bundle and grouped by
    trial."""

    def __init__(self, bundle: Bundle):
        super().__init__(bundle)
        self.attestations = grouped(bundle.rows("attestations"))
        self.probes = grouped(bundle.rows("probes"))
