"""Who keeps the clock: from answers of programs that are not installed where the tests run, and
from the kernel's."""

from rmwbench.lab.machine.timekeeping import keeper, kernel, parse_chrony, parse_ptp, timekeeping

CHRONY = (
    "A29FC87B,162.159.200.123,4,1732215063.421,-0.000012345,-0.000009876,0.000021000,-12.345,-0.002,0.045,"
    "0.011234567,0.000512345,1034.2,Normal\n"
)
PMC = """sending: GET CURRENT_DATA_SET
	aabbcc.fffe.ddeeff-0 seq 0 RESPONSE MANAGEMENT CURRENT_DATA_SET
		stepsRemoved     1
		offsetFromMaster -37.0
		meanPathDelay    1402.0
	aabbcc.fffe.ddeeff-0 seq 1 RESPONSE MANAGEMENT PORT_DATA_SET
		portState               SLAVE
"""
NOBODY = {"kernel": None, "chrony": None, "ptp": None, "ptp_devices": None}


def test_chrony_tells_its_offset_and_its_own_bound():
    account = parse_chrony(CHRONY)
    assert (account["reference"], account["stratum"], account["leap"]) == (
        "162.159.200.123",
        4,
        "Normal",
    )
    assert (account["offset_ns"], account["rms_offset_ns"], account["frequency_ppm"]) == (
        -9_876,
        21_000,
        -12.345,
    )
    assert (account["root_delay_ns"], account["root_dispersion_ns"]) == (11_234_567, 512_345)
    text = keeper({**NOBODY, "chrony": account})
    assert "stratum 4" in text and "9.88 µs off" in text and "within 6.13 ms" in text
    assert parse_chrony("506 Cannot talk to daemon\n") is None and parse_chrony("") is None


def test_ptp_tells_its_offset_from_its_master():
    account = parse_ptp(PMC)
    assert account == {"offset_ns": -37.0, "path_delay_ns": 1402.0, "port_state": "SLAVE"}
    assert keeper({**NOBODY, "ptp": account}) == "PTP, -37 ns from its master (SLAVE)"
    assert parse_ptp("sending: GET CURRENT_DATA_SET\n") is None


def test_absent_is_said():
    text = keeper(NOBODY)
    assert "no PTP" in text and "no chrony" in text
    assert "PTP hardware without ptp4l: ptp0" in keeper({**NOBODY, "ptp_devices": {"ptp0": "igb"}})


def test_a_bound_has_its_unit_and_no_exponent():
    def bound(ns):
        return keeper({**NOBODY, "kernel": {"synchronised": True, "maximum_error_ns": ns}})

    assert bound(1_024_000_000).endswith("within 1.02 s")
    assert bound(999_600).endswith("within 1.00 ms")


def test_the_kernel_tells_without_privilege():
    account = kernel()
    assert abs(account["frequency_ppm"]) <= 500 and abs(account["tick_ppm"]) <= 100_000
    assert account["estimated_error_ns"] >= 0 and isinstance(account["synchronised"], bool)
    assert timekeeping().keys() == NOBODY.keys()
