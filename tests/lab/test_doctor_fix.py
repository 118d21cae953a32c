"""`rmwbench doctor --fix` and `--undo`: what is shown is what is done, and what was before comes
back."""

import json
import os
import resource
import shlex
import shutil
import subprocess
import sys

import pytest

from rmwbench.cli.machine import doctor as verb
from rmwbench.errors import UserError
from rmwbench.lab.machine import fixes
from rmwbench.lab.machine.checkup import checks
from rmwbench.lab.machine.finding import FixChange
from tests.lab.test_doctor_checks import GOOD, changed
from tests.support.program import run_program

RMEM = "proc/sys/net/core/rmem_max"
GOVERNOR = "sys/devices/system/cpu/cpu{}/cpufreq/scaling_governor"
HUGE = "sys/kernel/mm/transparent_hugepage/enabled"


@pytest.fixture
def kernel(tmp_path, monkeypatch):
    """Files like the kernel's: a small buffer, two processors that save power, huge pages."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    root = tmp_path / "root"
    for name, text in {
        RMEM: "212992\n",
        "proc/sys/net/core/wmem_max": "212992\n",
        "proc/sys/net/ipv4/ipfrag_high_thresh": "4194304\n",
        "proc/sys/net/ipv4/ipfrag_time": "30\n",
        GOVERNOR.format(0): "powersave\n",
        GOVERNOR.format(11): "schedutil\n",
        HUGE: "[always] madvise never\n",
        fixes.BOOT_ID: "first\n",
    }.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return fixes.MachineSettings(root, os.getpid())


def steps(kernel, *facts, only=()):
    findings = [one for path, value in facts for one in checks(changed(path, value))]
    return fixes.steps_of(fixes.fixable(findings, only), kernel)


SMALL = ("sysctls/net.core.rmem_max", "212992")
SLOW = ("hardware/governor", "powersave")
FRAGMENTS = ("sysctls/net.ipv4.ipfrag_high_thresh", "4194304")
HUGE_PAGES = ("kernel/transparent_hugepages", "always")


def value(kernel, name):
    return (kernel.root / name).read_text().strip()


def test_every_command_of_a_fix_is_the_one_that_the_doctor_shows():
    """Two writings of one thing must not differ."""
    for path, bad in (SMALL, FRAGMENTS, HUGE_PAGES, ("sysctls/net.core.netdev_max_backlog", "300")):
        (finding,) = [one for one in checks(changed(path, bad)) if one.changes]
        for change in finding.changes:
            told = fixes.command_of(fixes.FixStep("file", change.target, None, change.value))
            *_, last = told.split("sysctl -w ")
            assert last in finding.fix
    assert not [one for one in checks(GOOD) if one.changes]


def test_what_more_than_benchmarks_would_feel_is_left_to_the_user():
    for path, bad in (
        ("hardware/smt_active", True),
        ("kernel/clocksource", "hpet"),
        ("network/bridge_nf_call_iptables", "1"),
        ("sysctls/net.ipv4.tcp_congestion_control", "bbr"),
    ):
        assert not [one for one in checks(changed(path, bad)) if one.changes]


def test_values_are_set_in_every_place_and_set_back_to_what_each_was(kernel):
    wanted = steps(kernel, SMALL, SLOW, FRAGMENTS, HUGE_PAGES)
    assert [fixes.command_of(step) for step in wanted][:2] == [
        "sysctl -w net.core.rmem_max=33554432",
        f"echo performance > /{GOVERNOR.format(0)}",
    ]
    assert not [one for one in fixes.apply(wanted[:-1], kernel) if one.problem]
    assert value(kernel, RMEM) == "33554432"
    assert {value(kernel, GOVERNOR.format(n)) for n in (0, 11)} == {"performance"}
    assert value(kernel, "proc/sys/net/ipv4/ipfrag_time") == "1"
    assert value(kernel, "proc/sys/net/core/wmem_max") == "212992"  # nobody asked

    assert [one.step.target for one in fixes.undo(kernel) if not one.problem][-1] == f"/{RMEM}"
    assert value(kernel, RMEM) == "212992"
    assert value(kernel, GOVERNOR.format(0)) == "powersave"
    assert value(kernel, GOVERNOR.format(11)) == "schedutil"
    assert not fixes.state_file().exists() and fixes.undo(kernel) == []


def test_after_a_second_fix_the_oldest_value_comes_back(kernel):
    fixes.apply(steps(kernel, SMALL), kernel)
    (kernel.root / RMEM).write_text("16777216\n")
    fixes.apply(steps(kernel, SMALL), kernel)
    fixes.undo(kernel)
    assert value(kernel, RMEM) == "212992"


def test_what_somebody_else_changed_since_is_left_as_it_is(kernel):
    fixes.apply(steps(kernel, SMALL), kernel)
    (kernel.root / RMEM).write_text("50000000\n")
    (outcome,) = fixes.undo(kernel)
    assert "it was changed since, to 50000000" in outcome.problem
    assert value(kernel, RMEM) == "50000000" and not fixes.state_file().exists()


def test_what_was_not_set_is_said_and_not_kept(kernel):
    (kernel.root / RMEM).unlink()
    (kernel.root / RMEM).mkdir()
    step = fixes.FixStep("file", f"/{RMEM}", None, "33554432")
    (outcome,) = fixes.apply([step], kernel)
    assert outcome.problem == "Is a directory" and not fixes.state_file().exists()


def test_a_state_file_that_cannot_be_read_is_an_error(kernel):
    fixes.state_file().parent.mkdir(parents=True)
    fixes.state_file().write_text("{}")
    with pytest.raises(UserError, match="are not known"):
        fixes.saved_steps(kernel)


def test_a_limit_is_set_in_the_shell_that_called_and_in_no_other(kernel):
    shell = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    try:
        mine = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.prlimit(shell.pid, resource.RLIMIT_NOFILE, (64, 1000))
        kernel.shell = shell.pid
        (step,) = kernel.steps(FixChange("limit", "nofile", "500:1000"))
        assert fixes.command_of(step) == f"prlimit --pid {shell.pid} --nofile=500:1000"
        assert kernel.may(step) and not fixes.apply([step], kernel)[0].problem
        assert resource.prlimit(shell.pid, resource.RLIMIT_NOFILE) == (500, 1000)
        assert resource.getrlimit(resource.RLIMIT_NOFILE) == mine
        assert not fixes.undo(kernel)[0].problem
        assert resource.prlimit(shell.pid, resource.RLIMIT_NOFILE) == (64, 1000)
        fixes.apply([step], kernel)
    finally:
        shell.kill()
        shell.communicate()
    assert fixes.undo(kernel) == [] and not fixes.state_file().exists()


def test_the_shell_is_behind_sudo_and_its_like(tmp_path):
    shutil.copy("/bin/sh", tmp_path / "sudo")
    script = "from rmwbench.lab.machine import fixes; print(fixes.MachineSettings().shell)"
    command = shlex.join([sys.executable, "-c", script])
    words = [tmp_path / "sudo", "-c", f"{command}; true"]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    assert int(done.stdout) == os.getpid()


class Terminal:
    def __init__(self, is_one):
        self.is_one = is_one

    def isatty(self):
        return self.is_one


@pytest.fixture
def called(kernel, monkeypatch):
    """The verb on that kernel: (exit code, stdout, stderr) by what is answered."""
    monkeypatch.setattr(fixes, "MachineSettings", lambda: kernel)

    def call(what="fix", *, answer=None, yes=False, as_json=False, facts=(SMALL,)):
        monkeypatch.setattr(verb.sys, "stdin", Terminal(answer is not None))
        monkeypatch.setattr(verb.sys.stderr, "isatty", lambda: answer is not None, raising=False)
        monkeypatch.setattr(verb.typer, "confirm", lambda *_, **__: answer)
        if what == "undo":
            return verb.undo_fixes(yes=yes, as_json=as_json)
        findings = [one for path, bad in facts for one in checks(changed(path, bad))]
        return verb.fix_findings(findings, (), yes=yes, as_json=as_json)

    return call


def test_it_asks_once_and_no_is_no(called, kernel, capsys):
    assert called(answer=False) == 1
    assert value(kernel, RMEM) == "212992"
    told = capsys.readouterr()
    assert "sysctl -w net.core.rmem_max=33554432" in told.err and told.out == ""
    assert called(answer=True) == 0
    told = capsys.readouterr()
    assert f"/{RMEM}: done" in told.out and "/etc/sysctl.d/60-rmwbench-rmem_max.conf" in told.err
    assert value(kernel, RMEM) == "33554432"
    assert called("undo", answer=True) == 0
    assert value(kernel, RMEM) == "212992"


def test_without_a_terminal_nothing_is_changed_unless_it_is_said(called, kernel):
    with pytest.raises(UserError, match="no terminal to ask on"):
        called()
    assert value(kernel, RMEM) == "212992"
    assert called(yes=True) == 0
    assert value(kernel, RMEM) == "33554432"


def test_who_may_not_change_it_is_told_what_to_type(called, kernel, monkeypatch, capsys):
    monkeypatch.setattr(kernel, "may", lambda step: False)
    assert called(answer=True, facts=(SMALL, SLOW)) == 1
    told = capsys.readouterr().err
    assert "  sudo sysctl -w net.core.rmem_max=33554432" in told
    assert f"  echo performance | sudo tee /{GOVERNOR.format(11)}" in told
    assert value(kernel, RMEM) == "212992" and not fixes.state_file().exists()


def test_the_document_says_what_was_changed(called, capsys):
    assert called(yes=True, as_json=True) == 0
    document = json.loads(capsys.readouterr().out)
    assert document == {
        "schema": "rmwbench/doctor-fix",
        "version": 1,
        "changes": [
            {
                "kind": "file",
                "target": f"/{RMEM}",
                "before": "212992",
                "value": "33554432",
                "problem": None,
                "command": "sysctl -w net.core.rmem_max=33554432",
            }
        ],
    }


def test_the_document_of_an_undo_has_the_command_that_sets_it_back(called, capsys):
    called(yes=True)
    capsys.readouterr()
    assert called("undo", yes=True, as_json=True) == 0
    (change,) = json.loads(capsys.readouterr().out)["changes"]
    assert change["command"] == "sysctl -w net.core.rmem_max=212992"


def test_the_doctor_asks_for_as_much_locked_memory_as_a_loan_of_quick_takes():
    """`zenoh loan` with the camera: else the doctor is content where that arm is not supported."""
    pool_bytes = 18 * 6_220_800
    (finding,) = checks(changed("limits/memlock_bytes", pool_bytes - 1))[:1]
    assert finding.check == "process limits" and "locked memory" in finding.found
    assert [one.target for one in finding.changes] == ["memlock"]


@pytest.mark.skipif(
    os.geteuid() != 0 or not os.access("/proc/sys/net/ipv4/ipfrag_time", os.W_OK),
    reason="needs root, and a /proc/sys that may be written",
)
def test_the_kernel_itself_takes_and_gives_back_a_value(tmp_path):
    """In a network namespace of its own, so that nothing outside notices."""
    words = (
        "from rmwbench.lab.machine import fixes\n"
        "from rmwbench.lab.machine.finding import FixChange\n"
        "kernel = fixes.MachineSettings()\n"
        "steps = kernel.steps(FixChange('file', '/proc/sys/net/ipv4/ipfrag_time', '7'))\n"
        "print(steps[0].before, [one.problem for one in fixes.apply(steps, kernel)])\n"
        "print(kernel.now(steps[0]), [one.problem for one in fixes.undo(kernel)])\n"
        "print(kernel.now(steps[0]))\n"
    )
    environment = {**os.environ, "XDG_STATE_HOME": str(tmp_path)}
    done = run_program("unshare", "--net", sys.executable, "-c", words, env=environment)
    if "unshare" in done.stderr:
        pytest.skip(done.stderr.strip())
    assert done.stdout.split("\n")[:3] == ["30 ['']", "7 ['']", "30"], done.stderr
