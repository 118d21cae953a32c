"""What the sources draw, by the names of their pictures: read in the reports, the appendix and the
notebooks.

The texts beside the checkout have the names of what they link; the appendix and the notebooks are
not there, so their names are listed here.
"""

GALACTIC_APPENDIX = [
    "BuildFarmRMWCPUConsumptionFULL.png",
    "BuildFarmRMWMemoryConsumptionFULL.png",
    "PerfTestVsMsgSizeFULL.png",
    *(
        f"rmw_{rmw}_{message}@30_reliable_volatile_keep_last@10_{bandwidth}bw_{loss}loss_0delay/{kind}.svg"
        for rmw in ("cyclonedds_cpp_sync", "fastrtps_cpp_async", "fastrtps_cpp_sync")
        for message in ("Array1k", "PointCloud512k")
        for bandwidth in (54, 300, 1000)
        for loss in (0, 10, 20, 30, 40)
        for kind in ("average_sent_received", "average_latency", "resource")
    ),
]
GALACTIC_NOTEBOOKS = [
    *(f"PoorPerformersBW{bandwidth}.png" for bandwidth in (54, 300, 1000)),
    *(f"ResourceBW{bandwidth}-Array1k.png" for bandwidth in (54, 300, 1000)),
    *(f"ResourceBW{bandwidth}-512k.png" for bandwidth in (54, 300, 1000)),
]
GALACTIC_CELLS = ["BuildFarmPlots.11", "BuildFarmPlots.14"]
"""Cells that draw and keep no file: their ids in figures.yaml."""
HUMBLE_CELLS = [
    "build farm 2021",  # cell 17
    *(f"BuildFarmPlots 2021, cell {n}" for n in (4, 5, 6, 7, 11, 14, 18)),
    "PlotGithubStats 2021",
    "SurveyPlots 2021",
]
"""Of the notebooks of 2021, whose pictures have the names of those of 2020."""
GALACTIC_REPORT = [
    "BuildFarmRMWCPUConsumption.png",
    "BuildFarmRMWMemoryConsumption.png",
    "PerfTestVsMsgSize.png",
    "PullRequestsAndIssues.png",
    "IssueAndPRTurnAround.png",
    "SurveyCohorts.png",
    "SurveySkillReport.png",
    "SurveyResponses.png",
    "SurveyDrillDown1.png",
    "SurveyDrillDown2.png",
    *(f"{rmw}-{rate}.png" for rmw in "fc" for rate in (80, 100, 120)),
]
PIPELINE = [f"Figure {n}" for n in range(1, 8)]
"""Captions of the paper."""
RCLCPP = ["hundred", "ten", "one"]
"""The note's three sections of plots and its table."""
